"""Is a duty done in time by some manager, whatever the database does at any of its transactions?"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from blazar.domain.errors import BlazarError, CloudUnavailable
from blazar.engine.monitoring import BETWEEN

from .compared import Compared
from .test_drift_check import DAY, Manager
from .world import World


class Faults:
    """Fails at one step of the database: an odd one is before a transaction, an even one after its commit."""

    def __init__(self, world: World, at: int) -> None:
        self.taken = 0
        self._at = at
        world.database.step = self._step

    def _step(self) -> None:
        self.taken += 1
        if self.taken == self._at:
            raise CloudUnavailable(service="database", reason="away")

    @property
    def has_failed(self) -> bool:
        return self.taken >= self._at


def looks(world: World) -> int:
    return world.cloud.calls.count("hypervisors")


def rounds(manager: Any, world: World, seconds: float) -> None:
    """Let a manager go on for so long, as its thread does."""
    end = world.clock.now().timestamp() + seconds
    while world.clock.now().timestamp() < end:
        wait = 1.0
        with suppress(BlazarError):
            wait = manager.round()
        world.clock.pause(min(wait, end - world.clock.now().timestamp()))


@pytest.mark.parametrize("at", range(1, 9))
def test_monitoring_goes_on_at_every_manager_wherever_the_database_fails(at: int) -> None:
    """The other hears an announcement after the fault: it does not wait for the turn to expire."""
    world = World(hosts=2)
    other = world.beside()
    world.advance(1)
    faults = Faults(world, at)
    rounds(world.monitoring, world, 2)
    assert faults.has_failed
    world.clock.pause(BETWEEN.total_seconds())
    before = looks(world)
    other.monitoring.look_soon()
    other.monitoring.round()
    assert looks(world) == before + 1


@pytest.mark.parametrize("at", range(1, 9))
def test_monitoring_is_as_frequent_as_ever_wherever_the_database_fails(at: int) -> None:
    world = World(hosts=2)
    world.advance(1)
    before = looks(world)
    faults = Faults(world, at)
    rounds(world.monitoring, world, 150)
    assert faults.has_failed
    assert 3 <= looks(world) - before <= 4


def test_an_announcement_that_meets_a_fault_is_not_lost() -> None:
    world = World(hosts=2)
    world.look()
    before = looks(world)
    world.clock.pause(BETWEEN.total_seconds())
    world.monitoring.look_soon()
    Faults(world, at=1)
    rounds(world.monitoring, world, 2)
    assert looks(world) == before + 1


@pytest.mark.parametrize("at", range(1, 5))
def test_what_was_compared_is_not_compared_anew_where_it_could_not_be_told(
    at: int,
) -> None:
    world = Compared()
    one, two = Manager(world), Manager(world)
    Faults(world, at)
    rounds(one.check, world, 180)
    rounds(two.check, world, 600)
    assert (one.looks, two.looks) == (1, 0)
    world.advance_to(world.clock.now() + DAY)
    two.check.round()
    assert two.looks == 1
