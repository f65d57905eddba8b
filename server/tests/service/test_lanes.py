"""Leases that cannot end, and the engine's own work, hold up no start."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from blazar.domain.errors import ClaimLost, CloudRefused, CloudUnavailable
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.engine import lanes
from blazar.engine.loop import EngineSettings, EventLoop
from blazar.service.metrics import NoMetrics
from blazar.service.ports import ClaimedEvent, Database

from .world import CLAIM, SetClock, World

STUCK = 120


class Recorder(NoMetrics):
    def __init__(self) -> None:
        self.runs: list[tuple[str, str, float]] = []

    def event_run(self, event_type: str, outcome: str, late: float, seconds: float) -> None:
        self.runs.append((event_type, outcome, late))

    def runs_of(self, event_type: str) -> int:
        return [run for run, _, _ in self.runs].count(event_type)

    def ends(self) -> int:
        return self.runs_of("end_lease")

    def reconciled(self) -> int:
        return self.runs_of("reconcile")


class Place:
    def __init__(self, hosts: int) -> None:
        self.world = World(hosts=hosts)
        self.clock: Any = SetClock()
        self.world.clock = self.clock
        self.world.restart()
        self.metrics = Recorder()
        self.loops: list[EventLoop] = []

    def loop(
        self,
        workers: int = 8,
        reconcile: float = 0,
        database: Database | None = None,
        longest_sleep: float = 1,
    ) -> EventLoop:
        settings = EngineSettings(
            workers, longest_sleep=timedelta(seconds=longest_sleep), reconcile=timedelta(seconds=reconcile)
        )
        made = EventLoop(
            database or self.world.database, self.world.events, self.clock, settings, self.metrics
        )
        self.loops.append(made)
        return made

    def started(self, number: int, end: int = 60) -> list[Lease]:
        leases = [self.world.create(name=str(n), end=end) for n in range(number)]
        self.world.run_due()
        return leases

    def late(self, host: str) -> Lease:
        """A lease that starts now, on a host on which no server is left."""
        only = f'["==", "$hypervisor_hostname", "{host}"]'
        return self.world.create(name="late", end=600, hypervisor_properties=only)

    def wait_for(self, leases: list[Lease], status: LeaseStatus, seconds: float) -> None:
        end = time.monotonic() + seconds
        for lease in leases:
            while self.world.lease(lease).status is not status:
                assert time.monotonic() < end, [str(self.world.lease(each).status) for each in leases]
                time.sleep(0.01)

    def wait_until(self, holds: Callable[..., bool], seconds: float) -> None:
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end
            time.sleep(0.01)


def undying(place: Place, number: int) -> list[Lease]:
    """Return leases that are to end now, on hosts whose servers cannot be deleted."""
    leases = place.started(number)
    for host in range(1, number + 1):
        place.world.cloud.boot(f"undying-{host}", f"host{host}")
        place.world.cloud.state.undying.add(f"undying-{host}")
    place.clock.ahead += timedelta(minutes=61)
    return leases


@contextmanager
def hanging_retries(place: Place) -> Iterator[threading.Event]:
    """Let each retry hang at its first call of the cloud. The event tells that one does."""
    is_hanging, go = threading.Event(), threading.Event()

    def hang(call: str) -> None:
        if threading.current_thread().name.startswith("retry"):
            is_hanging.set()
            go.wait(60)

    place.world.cloud.before = hang
    try:
        yield is_hanging
    finally:
        place.world.cloud.before = lambda call: None
        go.set()


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place(hosts=4)
    yield place
    stop(place)


@pytest.fixture
def crowded() -> Iterator[Place]:
    place = Place(hosts=STUCK + 1)
    yield place
    stop(place)


def stop(place: Place) -> None:
    place.world.cloud.before = lambda call: None
    for loop in place.loops:
        loop.stop()


@pytest.mark.slow
def test_leases_that_cannot_end_hold_up_no_start(crowded: Place) -> None:
    """A hundred retries are due, and each worker of theirs hangs in the cloud."""
    place = crowded
    stuck = undying(place, STUCK)
    loop = place.loop()
    loop.start()
    place.wait_for(stuck, LeaseStatus.TERMINATING, 60)
    for _ in range(2):
        done = place.metrics.ends()
        with hanging_retries(place) as is_hanging:
            place.clock.ahead += timedelta(minutes=1)
            loop.nudge()
            assert is_hanging.wait(20)
            lease = place.late(f"host{STUCK + 1}")
            loop.nudge()
            place.wait_for([lease], LeaseStatus.ACTIVE, 3)
        place.world.delete(lease)
        loop.nudge()
        place.wait_until(lambda done=done: place.metrics.ends() >= done + STUCK, 20)


def test_a_stuck_lane_leaves_the_workers_of_the_others_alone(place: Place) -> None:
    """There is one worker for each lane, and the one of the retries hangs in the cloud."""
    stuck = undying(place, 3)
    with hanging_retries(place) as is_hanging:
        loop = place.loop(workers=1)
        loop.start()
        place.wait_for(stuck, LeaseStatus.TERMINATING, 20)
        place.clock.ahead += timedelta(minutes=1)
        loop.nudge()
        assert is_hanging.wait(20)
        lease = place.late("host4")
        loop.nudge()
        place.wait_for([lease], LeaseStatus.ACTIVE, 3)


@pytest.mark.slow
def test_what_is_stuck_holds_up_no_end(crowded: Place) -> None:
    """A hundred leases have been tried often in vain. Another one, whose server goes a moment after its first
    look, ends before they are all tried once more."""
    place = crowded
    stuck = undying(place, STUCK)
    loop = place.loop()
    loop.start()
    place.wait_for(stuck, LeaseStatus.TERMINATING, 60)
    for done in range(2, lanes.STUCK.start + 1):
        place.clock.ahead += timedelta(minutes=1)
        loop.nudge()
        place.wait_until(lambda done=done: place.metrics.ends() >= done * STUCK, 60)
    lease = place.late(f"host{STUCK + 1}")
    loop.nudge()
    place.wait_for([lease], LeaseStatus.ACTIVE, 20)
    place.world.cloud.boot("mortal", f"host{STUCK + 1}")
    place.world.cloud.state.undying.add("mortal")
    tried, warned = place.metrics.ends(), place.metrics.runs_of("before_end_lease")
    place.world.update(lease, end=place.clock.now() + timedelta(minutes=1))
    loop.nudge()
    # A clock that is set forward while it is worked on would take its claim away.
    place.wait_until(lambda: place.metrics.runs_of("before_end_lease") > warned, 20)
    place.clock.ahead += timedelta(minutes=1)
    loop.nudge()
    place.wait_for([lease], LeaseStatus.TERMINATING, 20)
    place.world.cloud.state.undying.remove("mortal")
    place.clock.ahead += timedelta(seconds=2)
    loop.nudge()
    place.wait_for([lease], LeaseStatus.TERMINATED, 3)
    assert place.metrics.ends() - tried < STUCK // 2


@pytest.mark.slow
def test_a_worker_rests_after_an_attempt_in_vain_at_what_is_stuck(place: Place) -> None:
    stuck = undying(place, 4)
    loop = place.loop(workers=4)
    loop.start()
    place.wait_for(stuck, LeaseStatus.TERMINATING, 20)
    for done in range(2, lanes.STUCK.start + 1):
        place.clock.ahead += timedelta(minutes=1)
        loop.nudge()
        place.wait_until(lambda done=done: place.metrics.ends() >= done * len(stuck), 20)
    place.clock.ahead += timedelta(minutes=1)
    began = time.monotonic()
    loop.nudge()
    place.wait_until(lambda: place.metrics.ends() >= (lanes.STUCK.start + 1) * len(stuck), 20)
    assert time.monotonic() - began >= 3 * lanes.REST, "one worker, and four attempts"


def test_a_backlog_of_retries_hides_no_start_that_the_loop_is_told_of(place: Place) -> None:
    """The database is asked again although there is work left of the last time."""
    stuck = undying(place, 3)
    place.world.run_due()
    place.clock.ahead += timedelta(minutes=1)
    with hanging_retries(place) as is_hanging:
        loop = place.loop(workers=1, longest_sleep=3600)
        loop.start()
        assert is_hanging.wait(20)  # one is retried, and two wait
        lease = place.late("host4")
        loop.nudge()
        place.wait_for([lease], LeaseStatus.ACTIVE, 20)
    assert place.world.lease(stuck[0]).status is LeaseStatus.TERMINATING


@pytest.mark.slow
def test_what_cannot_end_is_looked_at_every_half_minute(place: Place) -> None:
    world = World()
    lease = world.create(end=60)
    world.run_due()
    world.cloud.boot("undying", "host1")
    world.cloud.state.hanging.add("undying")
    world.advance(minutes=60)
    world.cloud.calls.clear()
    world.advance(minutes=60)
    looks = world.cloud.calls.count("servers_on")
    assert 3600 / 30 <= looks < 3600 / 30 + 20
    assert set(world.cloud.calls) == {"servers_on"}
    assert world.lease(lease).status is LeaseStatus.TERMINATING
    world.cloud.state.servers.clear()
    world.advance(seconds=61)
    assert world.lease(lease).status is LeaseStatus.TERMINATED


def test_an_event_that_meets_a_defect_is_put_off_behind_the_others(place: Place) -> None:
    def defect(call: str) -> None:
        if call == "create_aggregate":
            raise ZeroDivisionError

    place.world.cloud.before = defect
    lease = place.world.create(end=600)
    place.loop().start()
    end = time.monotonic() + 10
    while not place.metrics.runs:
        assert time.monotonic() < end
        time.sleep(0.01)
    time.sleep(0.1)
    event = next(e for e in place.world.lease(lease).events if e.event_type == "start_lease")
    assert event.attempts == 2
    assert timedelta(seconds=20) < event.next_try - place.clock.now() < timedelta(seconds=31)
    with place.world.database.read() as uow:
        assert uow.events.claims() == []


def test_a_start_at_once_is_not_late(place: Place) -> None:
    """A lease that starts now has a start at the beginning of the minute; it was made later."""
    place.clock.ahead += timedelta(seconds=55 - place.clock.now().second)
    lease = place.world.create(end=600)
    place.loop().start()
    place.wait_for([lease], LeaseStatus.ACTIVE, 10)
    time.sleep(0.05)
    ((event_type, outcome, late),) = place.metrics.runs
    assert (event_type, outcome) == ("start_lease", "ok")
    assert late < 10


# ------------------------------------------------------------------------------- comparing leases with the
# cloud


def drift(world: World, lease: Lease) -> None:
    """The host leaves the reservation's aggregate without us."""
    state = world.cloud.state
    (aggregate,) = (a for a in state.aggregates.values() if a.name == lease.reservations[0].id)
    state.aggregates[aggregate.id] = replace(aggregate, hosts=())


def members(world: World, lease: Lease) -> int:
    return len(world.cloud.hosts_in(lease.reservations[0].id))


def rows(world: World, lease: Lease) -> int:
    return len([e for e in world.lease(lease).events if not e.event_type.is_public])


@pytest.mark.slow
def test_active_leases_are_compared_with_the_cloud_without_events(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("blazar.engine.loop.PACE", 0.01)
    monkeypatch.setattr("blazar.engine.loop.RECONCILE_LOOK", 0.05)
    leases = place.started(3, end=600)
    place.clock.ahead += timedelta(minutes=2)
    for lease in leases:
        drift(place.world, lease)
    before = [place.world.lease(lease) for lease in leases]
    both_started = threading.Event()
    place.world.cloud.before = lambda call: both_started.wait(
        20
    )  # what is compared before a start is compared again
    for _ in range(2):
        place.loop(reconcile=3600).start()
    both_started.set()
    end = time.monotonic() + 20
    while any(members(place.world, lease) == 0 for lease in leases):
        assert time.monotonic() < end
        time.sleep(0.01)
    time.sleep(0.5)
    assert place.metrics.reconciled() == 3, "managers share the work, and each lease is compared once"
    assert [place.world.lease(lease) for lease in leases] == before


def test_comparing_leases_holds_up_no_start(place: Place) -> None:
    hang, is_hanging, is_created = (threading.Event() for _ in range(3))

    def hangs(call: str) -> None:
        if not is_created.is_set():  # so it is a call of a comparison
            is_hanging.set()
            hang.wait(30)

    place.started(3, end=600)
    place.clock.ahead += timedelta(minutes=2)
    place.world.cloud.before = hangs
    loop = place.loop(workers=1, reconcile=3600)
    loop.start()
    assert is_hanging.wait(10)
    is_created.set()
    lease = place.world.create(name="new", end=600)
    loop.nudge()
    place.wait_for([lease], LeaseStatus.ACTIVE, 10)
    hang.set()


@pytest.mark.slow
def test_the_start_of_a_manager_costs_nothing_for_each_active_lease(place: Place) -> None:
    leases = place.started(3, end=600)
    place.clock.ahead += timedelta(minutes=2)
    writes: list[int] = []
    place.world.database.step = lambda: writes.append(1)
    place.loop(reconcile=0).start()
    time.sleep(0.3)
    assert not writes
    assert all(rows(place.world, lease) == 0 for lease in leases)


@pytest.mark.slow
def test_a_lease_for_which_the_cloud_fails_is_left_for_later(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("blazar.engine.loop.PACE", 0.01)
    monkeypatch.setattr("blazar.engine.loop.REST", 0.05)
    monkeypatch.setattr("blazar.engine.loop.RECONCILE_LOOK", 0.05)
    leases = place.started(3, end=600)
    place.clock.ahead += timedelta(minutes=2)
    for lease in leases:
        drift(place.world, lease)
    failing = []

    def fail(call: str) -> None:
        if call == "add_host" and len(failing) < 1:
            failing.append(call)
            raise CloudUnavailable(service="Nova", reason="503")

    place.world.cloud.before = fail
    place.loop(workers=1, reconcile=3600).start()
    end = time.monotonic() + 20
    while sum(members(place.world, lease) for lease in leases) < 2:
        assert time.monotonic() < end
        time.sleep(0.01)
    time.sleep(0.2)
    assert sorted(members(place.world, lease) for lease in leases) == [0, 1, 1]
    assert all(rows(place.world, lease) == 0 for lease in leases)
    with place.world.database.read() as uow:
        (left,) = uow.events.unreconciled(place.clock.now() - timedelta(seconds=60), place.clock.now(), 9)
    assert members(place.world, place.world.leases.get(left)) == 0


def test_what_a_comparison_cannot_repair_is_told_and_cleared_when_it_can() -> None:
    world = World()
    lease = world.create(end=600)
    world.run_due()
    drift(world, lease)

    def refuse(call: str) -> None:
        if call == "add_host":
            raise CloudRefused(service="Nova", reason="not this one")

    world.cloud.before = refuse
    assert world.reconcile_all() == 1
    bad = world.lease(lease)
    assert (bad.degraded, bad.reservations[0].missing_resources) == (True, True)
    assert "not this one" in str(bad.status_reason)
    world.cloud.before = lambda call: None
    world.clock.pause(1)
    assert world.reconcile_all() == 1
    good = world.lease(lease)
    assert (good.degraded, good.reservations[0].missing_resources, good.status_reason) == (False, False, None)
    assert members(world, lease) == 1


def test_what_a_comparison_begins_is_finished_as_an_event() -> None:
    world = World()
    lease = world.create(end=600)
    world.run_due()
    (aggregate,) = (a for a in world.cloud.state.aggregates.values() if a.name == lease.reservations[0].id)
    world.cloud.compute.add_host(aggregate.id, "host4")  # not ours to have
    world.cloud.boot("undying", "host4")
    world.cloud.state.undying.add("undying")
    world.reconcile_all()
    assert rows(world, lease) == 1
    world.clock.pause(1)
    world.reconcile_all()
    assert rows(world, lease) == 1
    world.cloud.state.undying.clear()
    world.advance(minutes=1)
    assert members(world, lease) == 1
    assert rows(world, lease) == 0


def test_a_comparison_whose_claim_is_lost_writes_nothing() -> None:
    world = World()
    lease = world.create(end=600)
    world.run_due()
    drift(world, lease)
    before = world.lease(lease)
    real = world.held_claim

    def lose(claimed: ClaimedEvent) -> Any:
        held = real(claimed)
        world.cloud.before = lambda call: world.clock.pause(CLAIM.total_seconds() + 1)
        return held

    world.held_claim = lose  # type: ignore[method-assign]
    with pytest.raises(ClaimLost):
        world.reconcile_all()
    world.cloud.before = lambda call: None
    assert world.lease(lease) == before
    with world.database.read() as uow:
        assert list(uow.events.unreconciled(world.clock.now(), world.clock.now(), 9)) == [lease.id]
