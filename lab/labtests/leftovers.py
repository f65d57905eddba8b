"""What exists in the cloud that reservations could have made, and is it the same as before?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from openstack.connection import Connection

Snapshot = dict[str, set[str]]

PLACEMENT_VERSION = "1.29"
SETTLING_SECONDS = 120


def snapshot(admin: Connection) -> Snapshot:
    """Everything of the kinds that a reservation service makes, each thing with what tells it apart."""
    return {noun: set(read(admin)) for noun, read in READERS.items()}


def differences(before: Snapshot, after: Snapshot) -> list[str]:
    """One sentence for each thing that is there now and was not, or the other way round."""
    found = []
    for noun in before:
        found += [f"{noun} left behind: {thing}" for thing in sorted(after[noun] - before[noun])]
        found += [f"{noun} lost: {thing}" for thing in sorted(before[noun] - after[noun])]
    return found


def after(admin: Connection, before: Snapshot) -> list[str]:
    """The differences that are still there when all that goes on has had time to come to its end."""
    deadline = time.monotonic() + SETTLING_SECONDS
    while (found := differences(before, snapshot(admin))) and time.monotonic() < deadline:
        time.sleep(1)
    return found


def _aggregates(admin: Connection) -> Iterable[str]:
    for aggregate in admin.compute.aggregates():
        yield f"{aggregate.name} hosts={sorted(aggregate.hosts or [])} metadata={aggregate.metadata}"


def _flavors(admin: Connection) -> Iterable[str]:
    return (f"{flavor.name} ({flavor.id})" for flavor in admin.compute.flavors(is_public=None))


def _servers(admin: Connection) -> Iterable[str]:
    return (f"{s.name} ({s.id}) {s.status}" for s in admin.compute.servers(all_projects=True))


def _server_groups(admin: Connection) -> Iterable[str]:
    return (f"{group.name} ({group.id})" for group in admin.compute.server_groups(all_projects=True))


def _placement(path: str, key: str) -> Callable[[Connection], Iterable[str]]:
    def read(admin: Connection) -> Iterable[str]:
        answer: Any = admin.placement.get(path, microversion=PLACEMENT_VERSION)
        return (thing["name"] for thing in answer.json()[key])

    return read


def _inventories(admin: Connection) -> Iterable[str]:
    """Reserved amounts that stand on providers which themselves stay."""
    providers: Any = admin.placement.get("/resource_providers", microversion=PLACEMENT_VERSION)
    for provider in providers.json()["resource_providers"]:
        path = f"/resource_providers/{provider['uuid']}/inventories"
        answer: Any = admin.placement.get(path, microversion=PLACEMENT_VERSION)
        for resource_class, inventory in answer.json()["inventories"].items():
            yield f"{provider['name']} {resource_class}={inventory['total']}"


def _trusts(admin: Connection) -> Iterable[str]:
    answer: Any = admin.identity.get("/OS-TRUST/trusts")
    return (f"{trust['id']} of user {trust['trustor_user_id']}" for trust in answer.json()["trusts"])


def _floating_ips(admin: Connection) -> Iterable[str]:
    return (f"{address.floating_ip_address} ({address.id})" for address in admin.network.ips())


def _images(admin: Connection) -> Iterable[str]:
    return (f"{image.name} ({image.id})" for image in admin.image.images())


READERS: dict[str, Callable[[Connection], Iterable[str]]] = {
    "aggregate": _aggregates,
    "flavor": _flavors,
    "server": _servers,
    "server group": _server_groups,
    "resource class": _placement("/resource_classes", "resource_classes"),
    "resource provider": _placement("/resource_providers", "resource_providers"),
    "inventory": _inventories,
    "trust": _trusts,
    "floating IP": _floating_ips,
    "image": _images,
}
