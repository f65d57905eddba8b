"""Is everything compared from time to time, by one manager at a time, and repaired only where wanted?"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from blazar.adapters.metrics import PrometheusMetrics
from blazar.domain.errors import CloudUnavailable
from blazar.engine import cloud_duty
from blazar.engine.drift import DriftCheck
from blazar.service.metrics import NoMetrics

from .compared import Compared

DAY = timedelta(days=1)


class Seen(NoMetrics):
    """What the metrics are told."""

    def __init__(self) -> None:
        self.drift: list[tuple[dict[str, int], datetime | None]] = []

    def drift_seen(self, differences: Mapping[str, int], at: datetime | None) -> None:
        self.drift.append((dict(differences), at))


class Manager:
    """The check of one manager, and what its metrics are told."""

    def __init__(self, world: Compared, **more: Any) -> None:
        self.metrics = Seen()
        self.check = DriftCheck(
            world.database,
            world.reconciliation,
            world.clock,
            DAY,
            metrics=self.metrics,
            monotonic=lambda: world.clock.now().timestamp(),
            **more,
        )

    @property
    def looks(self) -> int:
        return sum(at is not None for _, at in self.metrics.drift)


@pytest.fixture
def world() -> Compared:
    return Compared()


def lose_provider(world: Compared, host: str = "host1") -> None:
    world.cloud.placement.remove_reservation_provider(host)


def test_one_manager_looks_in_each_interval(world: Compared) -> None:
    one, two = Manager(world), Manager(world)
    for manager in (one, two, one, two):
        assert 0 < manager.check.round() <= cloud_duty.LONGEST_WAIT
    assert (one.looks, two.looks) == (1, 0)
    world.advance(minutes=23 * 60)
    two.check.round()
    assert two.looks == 0
    world.advance(minutes=2 * 60)
    two.check.round()
    one.check.round()
    assert (one.looks, two.looks) == (1, 1)


def test_it_only_reports(world: Compared, caplog: pytest.LogCaptureFixture) -> None:
    lose_provider(world)
    lose_provider(world, "host2")
    before, manager = world.contents(), Manager(world)
    manager.check.round()
    assert manager.metrics.drift == [({"provider": 2}, world.clock.now())]
    assert world.contents() == before
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert told == [f"provider blazar_{host}: expected there, found missing" for host in ("host1", "host2")]


def test_it_repairs_where_the_operator_wants_it(world: Compared) -> None:
    lose_provider(world)
    lease = world.active("instances")
    world.forget(lease)
    manager = Manager(world, repairs=True)
    manager.check.round()
    (left, _), reservation_id = manager.metrics.drift[-1], lease.reservations[0].id
    assert "provider" not in left
    assert left["aggregate"] == 1
    assert reservation_id in world.cloud.state.flavors
    world.advance_to(world.clock.now() + DAY + timedelta(minutes=1))
    manager.check.round()
    assert manager.metrics.drift[-1][0] == {}
    assert reservation_id not in world.cloud.state.flavors


def test_what_failed_is_begun_anew_by_any_manager_after_a_rest(world: Compared) -> None:
    def fail(call: str) -> None:
        raise CloudUnavailable(service="Nova", reason="away")

    one, two = Manager(world), Manager(world)
    world.cloud.before = fail
    assert one.check.round() == DriftCheck.first_pause
    assert one.metrics.drift == []
    world.cloud.before = lambda _: None
    two.check.round()
    assert two.looks == 1


def test_what_meets_a_defect_waits_for_the_next_time(world: Compared) -> None:
    def fail(call: str) -> None:
        raise ZeroDivisionError

    one, two = Manager(world), Manager(world)
    world.cloud.before = fail
    with pytest.raises(ZeroDivisionError):
        one.check.round()
    world.cloud.before = lambda _: None
    two.check.round()
    assert two.looks == 0
    world.advance(minutes=24 * 60 + 1)
    two.check.round()
    assert two.looks == 1


def test_a_manager_that_has_lost_the_duty_stops(world: Compared) -> None:
    lose_provider(world)
    one, two = Manager(world, repairs=True), Manager(world)

    def sleep(call: str) -> None:
        world.cloud.before = lambda _: None
        world.clock.pause(cloud_duty.HELD.total_seconds() + 1)
        two.check.round()

    world.cloud.before = sleep
    one.check.round()
    assert (one.looks, two.looks) == (0, 1)
    assert "blazar_host1" not in world.cloud.state.providers


def test_the_duty_is_held_as_long_as_it_takes(world: Compared) -> None:
    one, two = Manager(world), Manager(world)

    def slow(call: str) -> None:
        world.clock.pause(60)
        two.check.round()

    world.cloud.before = slow
    one.check.round()
    assert (one.looks, two.looks) == (1, 0)


def test_requests_are_paced(world: Compared) -> None:
    world.cloud.calls.clear()
    began = world.clock.now()
    Manager(world).check.round()
    assert world.clock.now() - began >= DriftCheck.pace * len(world.cloud.calls) * timedelta(seconds=1)
    assert world.cloud.calls


def test_a_stop_cuts_it_off_and_it_is_not_done(world: Compared) -> None:
    one, two = Manager(world), Manager(world)
    world.cloud.before = lambda _: one.check.stop()
    one.check.round()
    world.cloud.before = lambda _: None
    two.check.round()
    assert (one.looks, two.looks) == (0, 1)


def test_what_is_shown_is_of_the_manager_that_looked_last(world: Compared) -> None:
    lose_provider(world)
    one, two = Manager(world), Manager(world)
    one.check.round()
    world.advance_to(world.clock.now() + DAY + timedelta(minutes=1))
    two.check.round()
    one.check.round()
    one.check.round()
    assert one.metrics.drift[1:] == [({}, None)]
    assert two.metrics.drift == [({"provider": 1}, world.clock.now())]


def test_a_sort_that_is_over_is_shown_as_none(world: Compared) -> None:
    metrics = PrometheusMetrics()

    def shown() -> list[str]:
        lines = metrics.exposition()[1].decode().splitlines()
        return [line for line in lines if line.startswith("blazar_differences{")]

    metrics.drift_seen({"flavor": 2, "tags": 1}, world.clock.now())
    assert shown() == ['blazar_differences{sort="flavor"} 2.0', 'blazar_differences{sort="tags"} 1.0']
    metrics.drift_seen({"tags": 3}, None)
    assert shown() == ['blazar_differences{sort="flavor"} 0.0', 'blazar_differences{sort="tags"} 3.0']
    compared = metrics.registry.get_sample_value("blazar_differences_compared_timestamp_seconds")
    assert compared == world.clock.now().timestamp()
