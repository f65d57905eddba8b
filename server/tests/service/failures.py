"""Hosts that fail and come back, and what is seen of it in leases."""

from __future__ import annotations

from blazar.domain.failure import FailureReason
from blazar.domain.lease.lease import Lease
from blazar.kinds.registered_hosts.pool import POOL

from .world import World

PATIENCE = 5
"""Minutes that a host must be down before an active reservation leaves it."""


def failed(world: World) -> dict[str, FailureReason]:
    with world.database.read() as uow:
        return {r.id: r.failure.reason for r in uow.resources.failed(POOL) if r.failure}


def flags(world: World, lease: Lease) -> tuple[bool, list[bool], list[bool]]:
    stored = world.lease(lease)
    reservations = stored.reservations
    return (
        stored.degraded,
        [r.missing_resources for r in reservations],
        [r.resources_changed for r in reservations],
    )


WHOLE = (False, [False], [False])


def fail(world: World, *host_ids: str, is_up: bool = False, is_enabled: bool = True) -> None:
    for host_id in host_ids:
        world.cloud.set_service(f"host{host_id}", is_up, is_enabled)


def repair(world: World, *host_ids: str) -> None:
    fail(world, *host_ids, is_up=True)


def only(ids: set[str]) -> str:
    (one,) = ids
    return one
