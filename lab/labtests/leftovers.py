"""What reservations make in the cloud, compared before and after the stories."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from openstack.connection import Connection

Snapshot = dict[str, set[str]]

PLACEMENT_VERSION = "1.29"
SETTLING_SECONDS = 120


def snapshot(admin: Connection) -> Snapshot:
    """Return all objects of the kinds that a reservation service makes, by kind."""
    return {noun: set(read(admin)) for noun, read in READERS.items()}


def differences(before: Snapshot, after: Snapshot) -> list[str]:
    """Return a sentence for each object that appeared or disappeared."""
    found = []
    for noun in before:
        found += [f"{noun} left behind: {thing}" for thing in sorted(after[noun] - before[noun])]
        found += [f"{noun} lost: {thing}" for thing in sorted(before[noun] - after[noun])]
    return found


def after(admin: Connection, before: Snapshot) -> list[str]:
    """Return the differences that remain after operations in progress have had time to end."""
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


def _providers(admin: Connection) -> Iterable[str]:
    """Yield all providers but those that hosts keep for reservations to come: they may appear at any time.

    What is left in one of these is told by its inventories."""
    names = set(_placement("/resource_providers", "resource_providers")(admin))
    return names - {f"blazar_{name}" for name in names}


def _inventories(admin: Connection) -> Iterable[str]:
    """Yield the inventories of all providers, among them reserved amounts on providers that stay."""
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


def _networks(admin: Connection) -> Iterable[str]:
    return (f"{network.name} ({network.id})" for network in admin.network.networks())


def _images(admin: Connection) -> Iterable[str]:
    return (f"{image.name} ({image.id})" for image in admin.image.images())


def _port_quotas(admin: Connection) -> Iterable[str]:
    keystone: Any = admin.identity
    for project in keystone.projects():
        yield f"{project.name} ports={admin.network.get_quota(project.id).ports}"


def _volumes(admin: Connection) -> Iterable[str]:
    return (f"{volume.name} ({volume.id})" for volume in admin.block_storage.volumes(all_projects=True))


def _volume_quotas(admin: Connection) -> Iterable[str]:
    """Yield the limits of all volumes of each project; those of volume types are the stories' own affair."""
    keystone: Any = admin.identity
    for project in keystone.projects():
        answer: Any = admin.block_storage.get(f"/os-quota-sets/{project.id}")
        limits = answer.json()["quota_set"]
        yield f"{project.name} volumes={limits['volumes']} gigabytes={limits['gigabytes']}"


READERS: dict[str, Callable[[Connection], Iterable[str]]] = {
    "aggregate": _aggregates,
    "flavor": _flavors,
    "server": _servers,
    "server group": _server_groups,
    "resource class": _placement("/resource_classes", "resource_classes"),
    "resource provider": _providers,
    "inventory": _inventories,
    "trust": _trusts,
    "floating IP": _floating_ips,
    "network": _networks,
    "image": _images,
    "port quota": _port_quotas,
    "volume": _volumes,
    "volume quota": _volume_quotas,
}
