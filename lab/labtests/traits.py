"""A trait on the hosts of a worker: flavors that require it fit on no other worker's hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from openstack.connection import Connection

from labtests import workers
from labtests.waiting import until

PREFIX = "CUSTOM_STORY_"
TRAIT = f"{PREFIX}{workers.WORKER.upper()}"
REQUIRED = {f"trait:{TRAIT}": "required"}
"""The extra spec of a flavor for this worker's hosts."""
VERSION = "1.29"
CONFLICT = 409
PATIENCE = 20


def add(admin: Connection, hosts: Iterable[str]) -> None:
    """Give the trait to the providers of these hosts, instead of any that an interrupted run left."""
    placement: Any = admin.placement
    placement.put(f"/traits/{TRAIT}", microversion=VERSION).raise_for_status()
    _change(placement, hosts, lambda traits: _others(traits) | {TRAIT})


def remove(admin: Connection, hosts: Iterable[str]) -> None:
    """Take the trait from these hosts; delete it unless other hosts have it from an interrupted run."""
    placement: Any = admin.placement
    _change(placement, hosts, _others)
    placement.delete(f"/traits/{TRAIT}", microversion=VERSION)


def _others(traits: set[str]) -> set[str]:
    return {trait for trait in traits if not trait.startswith(PREFIX)}


def _change(placement: Any, hosts: Iterable[str], change: Callable[[set[str]], set[str]]) -> None:
    for host in hosts:
        found = placement.get("/resource_providers", params={"name": host}, microversion=VERSION).json()
        (provider,) = found["resource_providers"]
        path = f"/resource_providers/{provider['uuid']}/traits"

        def changed(path: str = path) -> bool:
            # nova-compute updates its provider as well: a conflict of generations means to read it again
            body = placement.get(path, microversion=VERSION).json()
            body["traits"] = sorted(change(set(body["traits"])))
            answer = placement.put(path, json=body, microversion=VERSION)
            if answer.status_code != CONFLICT:
                answer.raise_for_status()
            return bool(answer.ok)

        until(f"the traits of {host} changed", PATIENCE, changed)
