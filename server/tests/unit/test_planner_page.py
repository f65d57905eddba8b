"""Is the worked example of docs/contributor/planner.md true?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.planning.demand import Demand, PlanRequest
from blazar.domain.planning.plan import Plan, Shortage
from blazar.domain.planning.planner import Allowance, plan, with_first_fit
from blazar.domain.requirement.language import parse
from blazar.domain.resource import WHOLE, Allocation, Inventory, Pool, Resource, Usage
from blazar.domain.time import Interval

CLEANING = timedelta(minutes=30)
GPU = parse('["==", "$gpu", "yes"]')


def between(start: int, end: int) -> Interval:
    return Interval(*(datetime(2031, 3, 1, hour, tzinfo=UTC) for hour in (start, end)))


def calendar() -> Calendar:
    found = Calendar()
    occupied = {
        "2": [("A", between(8, 12), WHOLE)],
        "3": [("B", between(9, 11), Usage({"VCPU": 4})), ("C", between(11, 14), Usage({"VCPU": 2}))],
        "4": [("D", between(15, 18), WHOLE)],
    }
    for name, cpus in (("1", 8), ("2", 8), ("3", 8), ("4", 16)):
        rows = [Allocation(n, n, n, name, when, usage) for n, when, usage in occupied.get(name, [])]
        properties = {"gpu": "yes" if name == "1" else "no"}
        found.put(Resource(name, Pool("host"), properties, inventory={"VCPU": Inventory(cpus, cpus)}), rows)
    return found


def request(hosts: int) -> PlanRequest:
    demands = (
        Demand("any", hosts, hosts),
        Demand("gpu", 1, 1, requirement=GPU),
        Demand("servers", 2, 2, usage=Usage({"VCPU": 2})),
    )
    return PlanRequest(between(10, 13), demands, CLEANING)


def test_the_capacity_of_the_window() -> None:
    window = calendar().snapshot().window(between(10, 13), CLEANING)
    assert window.taken.tolist() == [False, True, False, False]
    assert window.occupied.tolist() == [False, True, True, False]
    assert window.total("VCPU").tolist() == [0, 0, 6, 0]
    assert window.peak("VCPU").tolist() == [0, 0, 4, 0]


def test_the_plan() -> None:
    outcome = plan(calendar().snapshot(), request(1), Allowance())
    assert isinstance(outcome, Plan)
    chosen = {(a.reservation_id, a.resource_id, a.slots) for a in outcome.assignments}
    assert chosen == {("any", "4", 1), ("gpu", "1", 1), ("servers", "3", 2)}


def test_the_shortage() -> None:
    allowance, snapshot = Allowance(), calendar().snapshot()
    outcome = plan(snapshot, request(2), allowance)
    assert isinstance(outcome, Shortage)
    assert with_first_fit(snapshot, request(2), outcome, allowance).reason == (
        "4 hosts match, with room for 2 of the 2 wanted; but not together with the other reservations of the "
        "lease; first possible start 2031-03-01 18:30."
    )
