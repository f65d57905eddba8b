"""The operator takes hosts away for some minutes, and gives them back, or not.

Half of the seeds have some of these, drawn by themselves: the others are the same without this module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING

from blazar.domain.errors import BlazarError, MaintenanceNotFound
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.maintenance import Purpose
from blazar.domain.resource import Allocation
from blazar.service.commands import NOW, CreateMaintenance

from . import lifetimes
from .draws import is_of_operator, some_replaced
from .site import ADMIN, HOSTS

if TYPE_CHECKING:
    from .people import Action, Operator
    from .site import Site

MAINTAIN = "take hosts away for maintenance"


def added(random: Random, actions: Sequence[Action]) -> list[Action]:
    """Return the actions with some in which the operator takes hosts away for a time."""
    return some_replaced(random, actions, MAINTAIN, (1, 2, 4), is_of_operator)


def maintain(operator: Operator, random: Random) -> None:
    minute = operator.world.now().replace(second=0, microsecond=0)
    start = random.choice((0, 0, 1, 2))
    command = CreateMaintenance(
        tuple(random.sample(HOSTS, random.choice((1, 1, 2)))),
        minute + timedelta(minutes=start) if start else NOW,
        minute + timedelta(minutes=max(start, 1) + random.choice((1, 2, 5))),
        "maintenance",
        None,
        random.random() < 0.4,
    )
    what = f"take {' '.join(command.resources)} away{' by force' if command.force else ''}"
    operator.world.tell(what, "asked")
    try:
        if random.random() < 0.3:
            operator.maintenances.preview(command, ADMIN)
        decision = operator.maintenances.create(command, ADMIN)
    except BlazarError as failure:
        operator.world.tell(what, f"{type(failure).__name__}: {failure}")
        return
    taken = decision.maintenance
    effects = " ".join(f"{impact.lease_id[:4]} {impact.effect}" for impact in decision.impacts)
    operator.world.tell(what, f"{taken.id[:4] if taken else 'refused'}: {effects or 'no lease'}")
    if taken is not None and random.random() < 0.3:
        operator.world.scheduler.sleep(30 * random.random())
        give_back(operator, taken.id)


def give_all_back(operator: Operator) -> bool:
    """End what takes hosts away. Return whether all of it is over."""
    return all(
        give_back(operator, each.id)
        if each.purpose is Purpose.MAINTENANCE
        else lifetimes.unbind(operator, each.resource_ids[0])
        for each in list(operator.site.maintenances().values())
    )


def give_back(operator: Operator, maintenance_id: str) -> bool:
    """End a maintenance. Return whether it is over."""
    what = f"end maintenance {maintenance_id[:4]}"
    operator.world.tell(what, "asked")
    try:
        operator.maintenances.delete(maintenance_id, ADMIN)
    except MaintenanceNotFound:
        operator.world.tell(what, "it is over")
    except BlazarError as failure:
        operator.world.tell(what, f"{type(failure).__name__}: {failure}")
        return False
    else:
        operator.world.tell(what, "done")
    return True


def given_while_away(site: Site, before: Lease | None, after: Lease) -> Iterator[Allocation]:
    """Return what the lease gets by a commit on a host that is taken away then, and did not have there."""
    for maintenance in site.maintenances().values():
        for allocation in after.allocations:
            resource_id = allocation.resource_id
            if maintenance.closes(resource_id, allocation.interval):
                had = before.allocations if before else ()
                if not any(
                    a.resource_id == resource_id and maintenance.closes(resource_id, a.interval) for a in had
                ):
                    yield allocation
