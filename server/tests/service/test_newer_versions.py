"""A lease in a status that only a newer version knows, which runs beside this one during an upgrade: it is
shown, and nothing is done to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blazar.domain.errors import InvalidStatus
from blazar.domain.lease.lease import LeaseStatus, ReservationStatus
from blazar.service.commands import NOW

from .world import World


def of_a_newer_version(world, lease, part):
    def work(uow):
        old = uow.leases.get(lease.id)
        new = replace(old, status=LeaseStatus("PAUSED"))
        if part == "reservation":
            frozen = replace(old.reservations[0], status=ReservationStatus("frozen"))
            new = replace(old, reservations=(frozen,))
        return uow.leases.save(new, old, world.clock.now())

    return world.database.transact(work)


@pytest.mark.parametrize("part", ["lease", "reservation"])
def test_it_is_shown_and_left_alone(part):
    world = World(hosts=2)
    lease, other = world.create(end=60), world.create(end=60)
    world.run_due()
    known = of_a_newer_version(world, lease, part)
    for request in (
        lambda: world.update(lease, end=NOW),
        lambda: world.update(lease, name="mine"),
        lambda: world.delete(lease),
    ):
        with pytest.raises(InvalidStatus, match="a newer version"):
            request()
    world.advance(minutes=70)
    assert world.lease(lease) == known
    assert len(world.leases.list(None)) == 2
    assert world.lease(other).status is LeaseStatus.TERMINATED
    assert len(world.in_freepool()) == 1
