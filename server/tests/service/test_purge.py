"""Does a manager remove what was over long ago, at its own pace, and keep everything else?"""

from __future__ import annotations

from datetime import timedelta

import pytest

from blazar.domain.lease.lease import LeaseStatus
from blazar.engine.purge import LOOK, PACE, Purge

from .world import World

DAY = timedelta(days=1)


@pytest.fixture
def world() -> World:
    return World()


def test_a_lease_that_ended_is_kept_for_the_retention(world: World) -> None:
    ended, active = world.create("ended", end=60), world.create("active", end=60 * 24 * 50)
    world.run_due()
    world.advance(minutes=61)
    assert world.lease(ended).status is LeaseStatus.TERMINATED
    purge = Purge(world.database, world.clock, 10 * DAY)
    assert purge.round() == LOOK
    world.clock.pause((10 * DAY).total_seconds() + 60)
    assert purge.round() == PACE
    assert [lease.id for lease in world.leases.list(None)] == [active.id]
    assert purge.round() == LOOK
