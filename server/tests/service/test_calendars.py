"""Are the resident calendars kept up with the database, without a lock while something is planned?"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from blazar.adapters.memory import MemoryDatabase
from blazar.domain.errors import InvalidInput, NotEnoughResources, TooLate
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.planning.demand import Demand, PlanRequest
from blazar.domain.planning.plan import Cause, Plan, Shortage
from blazar.domain.planning.planner import plan, with_first_fit
from blazar.domain.resource import WHOLE, Allocation, Inventory, Pool, Registration, Usage
from blazar.domain.time import Interval
from blazar.service import calendars as calendars_module
from blazar.service.admission import PlanningSettings
from blazar.service.calendars import Calendars, Limits
from blazar.service.context import Caller
from blazar.service.short_requests import ShortRequests

from .world import DEMO, START, MovedClock, World, whole_hosts

DAY = Interval(START, START + timedelta(days=1))
CALLER = Caller("user", "project")


class ReadDatabase(MemoryDatabase):
    """Counts reads."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def read(self):
        self.reads += 1
        return super().read()


def with_hosts(number: int) -> ReadDatabase:
    database = ReadDatabase()
    inventory = {"VCPU": Inventory(8, 8)}
    for n in range(1, number + 1):
        registration = Registration(str(n), Pool("host"), f"host{n}", inventory=inventory)
        database.transact(lambda uow, new=registration: uow.resources.add(new, START))
    return database


def occupy(database: MemoryDatabase, host: str, touched: bool = True) -> None:
    """Give a host away, as another manager does; without ``touched`` its clock is far behind ours."""
    allocation = Allocation(f"a{host}", f"r{host}", f"l{host}", host, DAY)
    reservation = Reservation(f"r{host}", f"l{host}", "", "any", {}, allocations=(allocation,))
    when = START if touched else START - timedelta(days=1)

    def commit(uow):
        uow.resources.touch([host], when)
        uow.leases.add(Lease(f"l{host}", "", "", "", DAY, reservations=(reservation,)), when)

    database.transact(commit)


def free(database: MemoryDatabase, host: str, touched: bool = True) -> None:
    when = START if touched else START - timedelta(days=1)

    def commit(uow):
        uow.resources.touch([host], when)
        uow.leases.remove(uow.leases.get(f"l{host}"))

    database.transact(commit)


def hosts(number: int, usage: Usage = WHOLE, reservation: str = "r") -> Demand:
    return Demand(reservation, number, number, usage=usage)


def ask(calendars: Calendars, *demands: Demand, caller: Caller = CALLER) -> Plan | Shortage:
    return calendars.plan({Pool("host"): PlanRequest(DAY, demands)}, caller)


def many_hard() -> tuple[Demand, ...]:
    """Twice as much as there is, in sizes that can be combined in many ways: finding that out takes a
    while."""
    return tuple(hosts(3, Usage({"VCPU": 2 + n % 3}), f"r{n}") for n in range(8))


def test_a_change_of_another_manager_is_seen_by_the_next_plan() -> None:
    database = with_hosts(2)
    calendars = Calendars(database, MovedClock())
    assert isinstance(ask(calendars, hosts(2)), Plan)
    occupy(database, "1")
    assert isinstance(ask(calendars, hosts(2)), Shortage)
    free(database, "1")
    assert isinstance(ask(calendars, hosts(2)), Plan)


def test_before_a_shortage_is_told_everything_is_compared_and_planned_again_only_where_it_was_older() -> None:
    database, clock = with_hosts(1), MovedClock()
    calendars = Calendars(database, clock)
    occupy(database, "1")
    assert isinstance(ask(calendars, hosts(1)), Shortage)
    clock.move_to(START + timedelta(hours=1))
    assert isinstance(ask(calendars, hosts(1)), Shortage)
    free(database, "1", touched=False)
    assert isinstance(ask(calendars, hosts(1)), Plan)


def test_what_a_long_transaction_has_changed_is_seen_within_a_second() -> None:
    """Its moment lies before what each refresh looks for."""
    database, clock = with_hosts(1), MovedClock()
    calendars = Calendars(database, clock)

    def generation() -> int | None:
        return calendars.snapshot(Pool("host")).generation_of("1")

    calendars.load(Pool("host"))
    clock.move_to(START + timedelta(minutes=1))
    before = generation()
    assert before is not None
    for number, seconds in ((1, 2), (2, 14)):
        moment = clock.now() - timedelta(seconds=seconds)
        database.transact(lambda uow, when=moment: uow.resources.touch(["1"], when))
        clock.pause(1)
        assert generation() == before + number


def test_a_clock_that_is_set_back_does_not_keep_a_calendar_from_looking() -> None:
    database, clock = with_hosts(1), MovedClock(START + timedelta(hours=1))
    calendars = Calendars(database, clock)
    calendars.load(Pool("host"))
    clock._now = START
    first = calendars.snapshot(Pool("host")).generation_of("1")
    assert first is not None
    database.transact(lambda uow: uow.resources.touch(["1"], START - timedelta(seconds=10)))
    clock.pause(1)
    assert calendars.snapshot(Pool("host")).generation_of("1") == first + 1


@pytest.mark.parametrize(("older", "times"), [(False, 1), (True, 2)])
def test_a_shortage_is_planned_again_only_where_the_calendar_was_older(older, times, monkeypatch):
    planned = []
    monkeypatch.setattr(calendars_module, "plan", lambda *given: planned.append(given) or plan(*given))
    told = []
    monkeypatch.setattr(
        calendars_module, "with_first_fit", lambda *given: told.append(given) or with_first_fit(*given)
    )
    database, clock = with_hosts(4), MovedClock()
    calendars = Calendars(database, clock)
    calendars.load(Pool("host"))
    clock.move_to(START + timedelta(hours=1))
    calendars.load(Pool("host"))
    if older:
        occupy(database, "4", touched=False)
    assert isinstance(ask(calendars, hosts(5)), Shortage)
    assert (len(planned), len(told)) == (times, 1)


@pytest.mark.slow
def test_nothing_is_locked_while_a_request_is_planned() -> None:
    """In the middle of a long plan the calendar is refreshed, changed, and planned on by another project."""
    database = with_hosts(4)
    others: list[type] = []

    def breathe(seconds: float) -> None:
        if not others:
            others.append(object)
            occupy(database, "1")
            neighbour = threading.Thread(
                target=lambda: others.append(
                    type(ask(calendars, hosts(3), caller=replace(CALLER, project_id="neighbour")))
                ),
                daemon=True,
            )
            neighbour.start()
            neighbour.join(20)

    calendars = Calendars(database, MovedClock(), requests=ShortRequests(sleep=breathe))
    assert isinstance(ask(calendars, *many_hard()), Shortage)
    assert others == [object, Plan]


def test_an_operator_bounds_the_time_of_a_plan() -> None:
    ticks = iter(range(10**6))
    calendars = Calendars(
        with_hosts(4), MovedClock(), Limits(seconds=2.0), processor_time=lambda: float(next(ticks))
    )
    outcome = ask(calendars, *many_hard())
    assert isinstance(outcome, Shortage)
    assert (outcome.cause, outcome.cut_short) == (Cause.COMBINATION, True)
    assert next(ticks) < 10


@pytest.mark.slow
def test_an_operator_bounds_the_steps_of_a_plan() -> None:
    outcome = ask(Calendars(with_hosts(4), MovedClock(), Limits(decision=1000)), *many_hard())
    assert isinstance(outcome, Shortage)
    assert outcome.reason.endswith("; the search was cut short.")


@pytest.mark.parametrize("limits", [Limits(), Limits(first_fit=1)], ids=["usual", "one step"])
def test_an_operator_bounds_the_search_for_a_later_start(limits: Limits) -> None:
    database = with_hosts(4)
    occupy(database, "1")
    outcome = ask(Calendars(database, MovedClock(), limits), hosts(4))
    assert isinstance(outcome, Shortage)
    is_cut_short = limits.first_fit == 1
    assert (outcome.cut_short, outcome.first_fit_cut_short) == (False, is_cut_short)
    assert outcome.first_fit == (None if is_cut_short else DAY.end)


def test_a_plan_stops_when_its_caller_has_gone() -> None:
    clock = MovedClock()
    calendars = Calendars(with_hosts(4), clock, requests=ShortRequests(sleep=clock.pause))
    waiting = replace(CALLER, deadline=START + timedelta(milliseconds=1))
    with pytest.raises(TooLate):
        ask(calendars, *many_hard(), caller=waiting)
    assert clock.now() < START + timedelta(milliseconds=2)


@pytest.mark.parametrize("raising", [NotEnoughResources, TooLate])
def test_nothing_is_stored_and_the_turn_is_given_back(raising: type[Exception]) -> None:
    world = World(hosts=2)
    late = replace(DEMO, deadline=START if raising is TooLate else None)
    with pytest.raises(raising):
        world.reserve(whole_hosts(min=3, max=3), caller=late)
    assert world.leases.list(None) == []
    world.reserve(whole_hosts(min=2, max=2))


def test_a_new_lease_has_no_more_reservations_than_the_operator_allows() -> None:
    world = World(hosts=4)
    three = world.reserve(*[whole_hosts()] * 3)
    world.selection = PlanningSettings(max_reservations=2)
    world.restart()
    world.reserve(whole_hosts(), start=120, end=180)
    with pytest.raises(InvalidInput, match="A lease may have at most 2 reservations"):
        world.reserve(*[whole_hosts()] * 3, start=240, end=300)
    longer = world.update(three, end=world.in_minutes(90))
    assert len(longer.reservations) == 3


class LongWaited:
    """A lock that is free at last after another thread did its work."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work

    def __enter__(self) -> None:
        self._work()

    def __exit__(self, *failure: object) -> None:
        pass


@pytest.mark.parametrize(
    ("theirs", "ours", "reads"),
    [(False, False, 1), (True, True, 1), (True, False, 1), (False, True, 2)],
    ids=["same", "same in full", "more than asked for", "less than asked for"],
)
def test_a_refresh_that_began_while_another_thread_waited_serves_that_thread_too(theirs, ours, reads):
    database = with_hosts(1)
    calendars = Calendars(database, MovedClock())
    calendars.load(Pool("host"))
    resident = calendars._of(Pool("host"))
    before = database.reads
    resident._lock = LongWaited(lambda: resident._refresh(in_full=theirs))
    resident.refreshed(in_full=ours)
    assert database.reads == before + reads
    resident._lock = LongWaited(lambda: None)
    resident.refreshed()
    assert database.reads == before + reads + 1


def test_a_host_that_is_registered_anew_is_not_taken_for_the_one_before() -> None:
    """Another manager's calendar still has the host's first life, and the host of the second one is
    promised."""
    world = World(hosts=1)
    world.hosts.set_capabilities("1", {"gpu": "A100"})
    behind = Calendars(world.database, world.clock)
    behind.load(Pool("host"))
    world.hosts.unregister("1")
    world.register("host1")
    lease = world.create(start=600, end=660)
    outcome = behind.plan({Pool("host"): PlanRequest(lease.interval, (Demand("another", 1, 1),))}, CALLER)
    assert isinstance(outcome, Shortage)
