"""Is the work of one decision bounded, whatever a member asks for? Steps and calls are counted, never
time."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.planning.budget import DECISION, FIRST_FIT, LOOK, Budget, CutShort
from blazar.domain.planning.demand import Demand, Grouping, PlanRequest
from blazar.domain.planning.plan import Cause, Plan, Shortage
from blazar.domain.planning.planner import Allowance, plan, with_first_fit
from blazar.domain.requirement.language import parse
from blazar.domain.resource import Allocation, Inventory, Pool, Resource, Usage
from blazar.domain.time import Interval

START = datetime(2031, 3, 1, tzinfo=UTC)
DAY = Interval(START, START + timedelta(hours=24))
CALLS_OF_A_STEP = 25
"""At the most, on average: steps that stood for more would not bound the work."""
OVERSHOOT = 2_000
"""Steps of the one piece of work that exceeds a budget, at the most."""


@cache
def hosts(number: int = 1000) -> CalendarSnapshot:
    """Hosts of 16 VCPUs, on each of which four reservations follow each other."""
    calendar = Calendar()
    inventory = {"VCPU": Inventory(16, 16), "MEMORY_MB": Inventory(2**20, 2**20)}
    for n in range(1, number + 1):
        rows = []
        for at in range(4):
            start = START + timedelta(hours=5 * at + n % 5)
            interval = Interval(start, start + timedelta(hours=5))
            usage = Usage({"VCPU": 1 + n % 3})
            rows.append(Allocation(f"a{n}-{at}", f"r{n}-{at}", f"l{n}-{at}", str(n), interval, usage))
        calendar.put(Resource(str(n), Pool("host"), {"name": f"compute-{n}"}, inventory=inventory), rows)
    return calendar.snapshot()


def servers(name: str, number: int, cpus: int, grouping: Grouping = Grouping.ANY) -> Demand:
    usage = Usage({"VCPU": cpus, "MEMORY_MB": 1024})
    return Demand(name, number, number, usage=usage, grouping=grouping)


def whole(name: str, number: int, requirement: object = "") -> Demand:
    return Demand(name, number, number, requirement=parse(json.dumps(requirement) if requirement else ""))


def nine_reservations_anti_affine() -> list[Demand]:
    """Eight of 900 and one of 50 hosts, each server on a host of its own: 2 of 16 VCPUs are wanted nine
    times."""
    many = [servers(f"r{n}", 900, 2, Grouping.APART) for n in range(8)]
    return [*many, servers("last", 50, 2, Grouping.APART)]


def hosts_and_servers_that_do_not_fit_together() -> list[Demand]:
    few = [whole(f"h{n}", 5) for n in range(32)]
    return [*few, *(servers(f"s{n}", 500, 3 + n % 5) for n in range(32))]


def hosts_and_servers_of_which_none_is_free() -> list[Demand]:
    return [*(whole(f"h{n}", 25) for n in range(32)), *(servers(f"s{n}", 250, 3 + n % 5) for n in range(32))]


def sixty_four_choosy_reservations() -> list[Demand]:
    """Each names 120 hosts, no two the same ones, so that every host is a host class of its own."""
    return [
        whole(f"r{n}", 15, ["in", "$name", *(f"compute-{1 + (37 * n + 7 * k) % 1000}" for k in range(120))])
        for n in range(64)
    ]


def comparisons_of_texts() -> list[Demand]:
    return [
        whole(f"r{n}", 1000, ["or", *(["<", "$name", f"a{n}-{k}"] for k in range(120))]) for n in range(64)
    ]


def counted(work: Callable[[], object]) -> int:
    """Return how many functions are called, those of the interpreter included."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.slow
@pytest.mark.parametrize(
    "demands",
    [
        nine_reservations_anti_affine,
        hosts_and_servers_that_do_not_fit_together,
        hosts_and_servers_of_which_none_is_free,
        sixty_four_choosy_reservations,
        comparisons_of_texts,
    ],
)
def test_the_worst_request_costs_a_bounded_number_of_steps_and_a_step_is_little_work(
    demands: Callable[[], list[Demand]],
) -> None:
    request, allowance = PlanRequest(DAY, tuple(demands())), Allowance()

    def decide() -> None:
        outcome = plan(hosts(), request, allowance)
        if isinstance(outcome, Shortage):
            with_first_fit(hosts(), request, outcome, allowance)

    hosts()
    calls = counted(decide)
    parts = allowance.decision, allowance.explanation, allowance.first_fit
    for part, most in zip(parts, (DECISION, DECISION, FIRST_FIT), strict=True):
        assert part.spent <= most + OVERSHOOT
    assert calls <= CALLS_OF_A_STEP * sum(part.spent for part in parts)


def test_equal_requests_take_equal_steps() -> None:
    request = PlanRequest(DAY, tuple(nine_reservations_anti_affine()))
    spent = []
    for _ in range(2):
        allowance = Allowance()
        plan(hosts(), request, allowance)
        spent.append(allowance.decision.spent)
    assert spent[0] == spent[1]


def test_the_usual_request_takes_few_steps() -> None:
    allowance = Allowance()
    request = PlanRequest(DAY, (whole("host", 0), servers("servers", 4, 1), servers("more", 4, 2)))
    assert isinstance(plan(hosts(), request, allowance), Plan)
    assert allowance.decision.spent < 200


def test_a_request_for_64_choosy_reservations_is_planned_where_it_fits() -> None:
    """One bit more than a signed integer of the machine has without its sign."""
    calendar = Calendar()
    for n in range(64):
        calendar.put(Resource(str(n), Pool("host"), {"name": f"n{n}"}), ())
    demands = tuple(
        whole(f"r{n}", 1, ["in", "$name", f"n{n}", *([f"n{n - 1}"] if n else [])])
        for n in reversed(range(64))
    )
    outcome = plan(calendar.snapshot(), PlanRequest(DAY, demands), Allowance())
    assert isinstance(outcome, Plan)
    assert [outcome.resources(f"r{n}") for n in range(64)] == [(str(n),) for n in range(64)]


# ------------------------------------------------------------------------------------------------- cut short


def allowance_of(decision: int, first_fit: int = FIRST_FIT) -> Allowance:
    return Allowance(decision=Budget(decision), first_fit=Budget(first_fit))


def combination(steps: int) -> Shortage:
    demands = (whole("hosts", 0, ""), *nine_reservations_anti_affine())
    outcome = plan(hosts(), PlanRequest(DAY, demands), allowance_of(steps))
    assert isinstance(outcome, Shortage)
    return outcome


def test_a_refusal_says_that_the_search_was_cut_short() -> None:
    shortage = combination(2_000)
    assert (shortage.cause, shortage.cut_short) == (Cause.COMBINATION, True)
    assert shortage.reason == (
        "1000 hosts match, 1000 of them are roomy enough; "
        "but not together with the other reservations of the lease; the search was cut short."
    )


def test_what_is_decided_is_told_without_a_word_about_the_search() -> None:
    """A demand that does not fit alone is refused for that, however little was searched."""
    demands = (*nine_reservations_anti_affine(), whole("too many", 1001))
    outcome = plan(hosts(), PlanRequest(DAY, demands), allowance_of(100))
    assert isinstance(outcome, Shortage)
    assert (outcome.reservation_id, outcome.cut_short) == ("too many", False)
    assert outcome.reason == "1000 hosts match, none of them are free."


def test_a_request_that_is_too_much_to_look_at_is_undecided() -> None:
    shortage = combination(3)
    assert shortage.cause is Cause.UNDECIDED
    assert shortage.reason == "the search was cut short before anything was found."


def test_the_first_possible_start_has_a_budget_of_its_own() -> None:
    request = PlanRequest(DAY, (whole("r", 1),))
    for steps, start, sentence in (
        (FIRST_FIT, START + timedelta(hours=20), "first possible start 2031-03-01 20:00."),
        (10, None, "the search for a later start was cut short."),
    ):
        allowance = allowance_of(DECISION, steps)
        outcome = plan(hosts(), request, allowance)
        assert isinstance(outcome, Shortage)
        shortage = with_first_fit(hosts(), request, outcome, allowance)
        assert (shortage.first_fit, shortage.first_fit_cut_short) == (start, start is None)
        assert shortage.reason == f"1000 hosts match, none of them are free; {sentence}"


# -------------------------------------------------------------------------------------------------- the
# budget


def test_a_part_spends_of_the_whole_and_ends_first() -> None:
    whole_budget = Budget(10)
    part = whole_budget.part(4)
    part.spend(4)
    with pytest.raises(CutShort):
        part.spend()
    whole_budget.spend(5)
    with pytest.raises(CutShort):
        whole_budget.part(4).spend()


def test_a_look_now_and_then_may_end_the_decision_for_good() -> None:
    looks = []

    def look() -> None:
        looks.append(budget.spent)
        if len(looks) == 3:
            raise CutShort

    budget = Budget(10 * LOOK, look)
    with pytest.raises(CutShort):
        for _ in range(10 * LOOK):
            budget.part(LOOK).spend()
    assert looks == [LOOK, 2 * LOOK, 3 * LOOK]
    with pytest.raises(CutShort):
        budget.spend()


def test_what_a_look_raises_comes_through_the_planner() -> None:
    class CallerGone(Exception):
        pass

    def look() -> None:
        raise CallerGone

    request = PlanRequest(DAY, tuple(nine_reservations_anti_affine()))
    with pytest.raises(CallerGone):
        plan(hosts(), request, Allowance(decision=Budget(look=look)))
