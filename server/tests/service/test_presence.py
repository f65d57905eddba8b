"""Does a manager tell that it runs and how it is doing, and is it seen when it does not any more?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import pytest

from blazar.adapters.memory import MemoryDatabase
from blazar.domain.errors import CloudUnavailable
from blazar.engine.presence import INTERVAL, KEPT, Announcing, Load
from blazar.service.ports import Presence, UnitOfWork
from blazar.service.services import SILENT, Services, ServiceState

from .world import START, MovedClock

T = TypeVar("T")


class Site:
    """A database that may be away, and managers that are told what their load is."""

    def __init__(self) -> None:
        self.database = MemoryDatabase()
        self.clock = MovedClock()
        self.load = Load(0, 0, 0.0)
        self.services = Services(self.database, self.clock)

    def manager(self, host: str = "one") -> Announcing:
        return Announcing(self.database, self.clock, "blazar-manager", host, "19.0.0", lambda: self.load)

    def listed(self) -> Sequence[ServiceState]:
        return self.services.list()


@pytest.fixture
def site() -> Site:
    return Site()


def test_a_manager_tells_its_version_load_and_lateness(site: Site) -> None:
    one = site.manager()
    site.clock.pause(5)
    site.load = Load(events=3, plans=2, late_seconds=0.5)
    assert one.round() == INTERVAL
    ((presence, is_up),) = [(each.presence, each.is_up) for each in site.listed()]
    assert (presence.program, presence.host, presence.version) == ("blazar-manager", "one", "19.0.0")
    assert (presence.events, presence.plans, presence.late_seconds) == (3, 2, 0.5)
    assert (presence.started_at, presence.seen_at) == (START, site.clock.now())
    assert is_up


def test_lateness_is_remembered_for_a_minute(site: Site) -> None:
    one, late = site.manager(), []
    for seconds in (7.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0):
        site.load = Load(0, 0, seconds)
        site.clock.pause(one.round())
        late.append(site.listed()[0].presence.late_seconds)
    assert late == [7.0, 7.0, 7.0, 7.0, 3.0, 3.0, 0.0]


def test_a_manager_that_crashed_is_down_and_forgotten_after_a_day(site: Site) -> None:
    one, two = site.manager("one"), site.manager("two")
    one.round()
    two.round()
    site.clock.pause(SILENT.total_seconds() + 1)
    two.round()
    assert [(each.presence.host, each.is_up) for each in site.listed()] == [("one", False), ("two", True)]
    site.clock.pause(KEPT.total_seconds())
    two.round()
    assert [each.presence.host for each in site.listed()] == ["two"]


def test_a_manager_that_is_stopped_is_not_listed_any_more(site: Site) -> None:
    one = site.manager()
    one.start()
    one.stop()
    one.round()
    assert len(site.listed()) == 1
    one.stop()
    assert not site.listed()


def test_a_time_far_ahead_does_not_prove_that_a_manager_runs(site: Site) -> None:
    ahead = site.clock.now() + SILENT * 2
    site.database.transact(lambda u: u.presences.put(Presence("1", "blazar-manager", "one", ahead, ahead)))
    assert [each.is_up for each in site.listed()] == [False]


def test_a_database_that_is_away_does_not_keep_a_manager_from_its_end(site: Site) -> None:
    one = site.manager()
    one.round()

    class Away(MemoryDatabase):
        def transact(self, work: Callable[[UnitOfWork], T]) -> T:
            raise CloudUnavailable(service="database", reason="away")

    two = Announcing(Away(), site.clock, "blazar-manager", "two", "19.0.0", lambda: site.load)
    with pytest.raises(CloudUnavailable):
        two.round()  # the thread goes on trying
    two.stop()


def test_a_program_without_events_tells_that_it_runs(site: Site) -> None:
    one = Announcing(site.database, site.clock, "blazar-webhooks", "one", "19.0.0")
    assert one.round() == INTERVAL
    ((presence, is_up),) = [(each.presence, each.is_up) for each in site.listed()]
    assert (presence.program, presence.version, is_up) == ("blazar-webhooks", "19.0.0", True)
    assert (presence.events, presence.plans, presence.late_seconds) == (None, None, None)
