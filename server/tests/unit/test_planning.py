"""What does the planner choose where several choices would do, and what does it say when none does?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.planning import first_fit
from blazar.domain.planning.demand import Demand, Grouping, Order, PlanRequest
from blazar.domain.planning.plan import Cause, Plan, PlanOutline, Shortage
from blazar.domain.planning.planner import Allowance, plan, with_first_fit
from blazar.domain.requirement.language import parse
from blazar.domain.resource import WHOLE, Allocation, Inventory, Pool, PropertyValue, Resource, Usage
from blazar.domain.time import Interval

START = datetime(2031, 3, 1, tzinfo=UTC)
ONE_CPU = Usage({"VCPU": 1})


def span(start: float, end: float) -> Interval:
    return Interval(START + timedelta(hours=start), START + timedelta(hours=end))


def row(
    reservation: str,
    resource: str,
    interval: Interval,
    usage: Usage = WHOLE,
    slots: int = 1,
    bound: bool = False,
) -> Allocation:
    name = f"{reservation}-{resource}-{interval.start:%H}"
    return Allocation(name, reservation, f"lease of {reservation}", resource, interval, usage, slots, bound)


class Hosts:
    """A calendar, built line by line."""

    def __init__(self, count: int = 0, cpus: int = 8) -> None:
        self.calendar = Calendar()
        self._rows: list[Allocation] = []
        self._resources: dict[str, Resource] = {}
        for number in range(1, count + 1):
            self.host(str(number), cpus)

    def host(self, name: str, cpus: int = 8, reservable: bool = True, **properties: PropertyValue) -> Hosts:
        inventory = {"VCPU": Inventory(cpus, cpus), "MEMORY_MB": Inventory(2**45, 2**45)}
        self._resources[name] = Resource(
            name,
            Pool("host"),
            properties,
            inventory=inventory,
            reservable=reservable,
            generation=int(name) * 10,
        )
        return self._put(name)

    def with_rows(self, *rows: Allocation) -> Hosts:
        self._rows += rows
        for name in {row.resource_id for row in rows}:
            self._put(name)
        return self

    def _put(self, name: str) -> Hosts:
        self.calendar.put(self._resources[name], [row for row in self._rows if row.resource_id == name])
        return self

    def plan(
        self, *demands: Demand, interval: Interval | None = None, cleaning: int = 0, **more: object
    ) -> Plan:
        outcome = self.ask(*demands, interval=interval, cleaning=cleaning, **more)
        assert isinstance(outcome, Plan), outcome
        return outcome

    def refuse(self, *demands: Demand, interval: Interval | None = None, cleaning: int = 0) -> Shortage:
        outcome = self.ask(*demands, interval=interval, cleaning=cleaning)
        assert isinstance(outcome, Shortage), outcome
        return outcome

    def ask(
        self, *demands: Demand, interval: Interval | None = None, cleaning: int = 0, **more: object
    ) -> Plan | Shortage:
        minutes = timedelta(minutes=cleaning)
        return decide(self.calendar, PlanRequest(interval or span(0, 4), demands, minutes, **more))  # type: ignore[arg-type]


def decide(calendar: Calendar, request: PlanRequest) -> Plan | Shortage:
    snapshot, allowance = calendar.snapshot(), Allowance()
    outcome = plan(snapshot, request, allowance)
    if isinstance(outcome, Shortage):
        return with_first_fit(snapshot, request, outcome, allowance)
    return outcome


# ------------------------------------------------------------------------------------------------------ whole
# hosts


def test_all_free_hosts_are_taken_up_to_the_maximum_whatever_they_served_before() -> None:
    hosts = Hosts(4).with_rows(row("old", "1", span(-9, -8)), row("later", "2", span(50, 60)))
    assert hosts.plan(Demand("r", 1, 4)).resources("r") == ("1", "2", "3", "4")
    assert hosts.plan(Demand("r", 1, 3)).units("r") == 3


def test_database_order_is_by_number() -> None:
    hosts = Hosts(12)
    assert hosts.plan(Demand("r", 10, 10)).resources("r") == tuple(map(str, range(1, 11)))


def test_neighbours_in_time_do_not_collide_but_cleaning_keeps_them_apart() -> None:
    hosts = Hosts(1).with_rows(row("before", "1", span(-4, 0)), row("after", "1", span(4, 8)))
    assert hosts.plan(Demand("r", 1, 1)).resources("r") == ("1",)
    assert hosts.refuse(Demand("r", 1, 1), cleaning=1).free == 0


def test_cleaning_time_counts_for_kept_hosts_as_well() -> None:
    current = row("r", "1", span(0, 4))
    hosts = Hosts(2).with_rows(current, row("next", "1", span(6, 8)))
    demand = Demand("r", 1, 1, current=(current,))
    assert hosts.plan(demand, interval=span(0, 5), cleaning=60).resources("r") == ("1",)
    assert hosts.plan(demand, interval=span(0, 6), cleaning=60).resources("r") == ("2",)


def test_the_same_seed_draws_the_same_hosts() -> None:
    hosts = Hosts(40)
    draws = {hosts.plan(Demand("r", 5, 5), order=Order.RANDOM, seed=seed).resources("r") for seed in range(9)}
    assert len(draws) > 1
    again = hosts.plan(Demand("r", 5, 5), order=Order.RANDOM, seed=3)
    assert again == hosts.plan(Demand("r", 5, 5), order=Order.RANDOM, seed=3)


def test_required_resources_are_among_the_chosen() -> None:
    assert Hosts(5).plan(Demand("r", 2, 2, must_include=("4",))).resources("r") == ("1", "4")


def test_only_the_named_resources_are_considered() -> None:
    assert Hosts(5).plan(Demand("r", 1, 9, resources=frozenset({"3", "5", "77"}))).resources("r") == (
        "3",
        "5",
    )


# -------------------------------------------------------------------------------------------------- shared
# resources


def test_instances_fill_hosts_that_are_in_use_then_the_smallest() -> None:
    hosts = Hosts().host("1").host("2").host("3", cpus=4).with_rows(row("x", "2", span(0, 9), ONE_CPU, 6))
    made = hosts.plan(Demand("r", 7, 7, usage=ONE_CPU))
    assert {a.resource_id: a.slots for a in made.assignments} == {"2": 2, "3": 4, "1": 1}


def test_each_slot_of_an_allocation_counts() -> None:
    hosts = Hosts(1, cpus=4).with_rows(row("x", "1", span(0, 4), ONE_CPU, 4))
    assert hosts.refuse(Demand("r", 1, 1, usage=ONE_CPU)).free == 0


def test_a_host_that_lost_what_is_reserved_takes_nothing_from_the_others() -> None:
    hosts = Hosts(2, cpus=3).with_rows(row("x", "1", span(0, 4), ONE_CPU, 3)).host("1", cpus=1)
    assert hosts.refuse(Demand("r", 4, 4, usage=ONE_CPU)).free == 3


def test_use_is_counted_at_the_worst_instant_not_in_sum() -> None:
    rows = [row("x", "1", span(0, 2), ONE_CPU, 5), row("y", "1", span(2, 4), ONE_CPU, 6)]
    assert Hosts(1).with_rows(*rows).plan(Demand("r", 1, 9, usage=ONE_CPU)).units("r") == 2
    assert Hosts(1).with_rows(*reversed(rows)).plan(Demand("r", 1, 9, usage=ONE_CPU)).units("r") == 2


def test_a_whole_usage_and_a_shared_one_never_meet() -> None:
    shared = Hosts(1).with_rows(row("x", "1", span(1, 2), ONE_CPU))
    assert shared.refuse(Demand("r", 1, 1)).free == 0
    whole = Hosts(1).with_rows(row("x", "1", span(1, 2)))
    assert whole.refuse(Demand("r", 1, 1, usage=ONE_CPU)).free == 0


def test_huge_amounts_are_counted_not_enumerated() -> None:
    usage = Usage({"MEMORY_MB": 1})
    assert Hosts(2).plan(Demand("r", 2**31, 2**31, usage=usage)).units("r") == 2**31
    assert Hosts(2).plan(Demand("r", 1, 2**31, usage=Usage({"MEMORY_MB": 0}))).units("r") == 2**31


def test_affinity_takes_one_host_and_anti_affinity_as_many_as_units() -> None:
    hosts = Hosts().host("1", cpus=2).host("2", cpus=3).host("3", cpus=8)
    together = Demand("r", 3, 3, usage=ONE_CPU, grouping=Grouping.TOGETHER)
    assert hosts.plan(together).resources("r") == ("2",)
    apart = Demand("r", 3, 3, usage=ONE_CPU, grouping=Grouping.APART)
    assert hosts.plan(apart).resources("r") == ("1", "2", "3")
    assert hosts.refuse(Demand("r", 9, 9, usage=ONE_CPU, grouping=Grouping.TOGETHER)).free == 8
    assert hosts.refuse(Demand("r", 4, 4, usage=ONE_CPU, grouping=Grouping.APART)).free == 3


# ------------------------------------------------------------------------------------------------------------
# updates


def test_an_update_leaves_what_it_has_in_place_and_counts_it_once() -> None:
    current = row("r", "1", span(0, 4), ONE_CPU, 4)
    hosts = Hosts(2, cpus=4).with_rows(current)
    made = hosts.plan(Demand("r", 2, 2, usage=ONE_CPU, current=(current,)))
    (kept,) = made.kept
    assert (kept.old, kept.new.slots, kept.is_changed) == (current, 2, True)
    assert (made.added, made.released, dict(made.generations)) == ((), (), {"1": 10})


def test_nothing_changes_where_nothing_has_to() -> None:
    current = row("r", "2", span(0, 4))
    made = Hosts(3).with_rows(current).plan(Demand("r", 1, 1, current=(current,)))
    assert [kept.is_changed for kept in made.kept] == [False]
    assert dict(made.generations) == {}
    assert set(made.relied_on) == {a.resource_id for a in made.assignments} != set()


def test_surplus_is_taken_from_what_is_not_bound() -> None:
    bound, loose = row("r", "2", span(0, 4), bound=True), row("r", "1", span(0, 4))
    made = Hosts(2).with_rows(bound, loose).plan(Demand("r", 1, 1, current=(loose, bound)))
    assert (made.resources("r"), made.released) == (("2",), (loose,))


def test_rows_on_one_host_are_filled_bound_first_and_grow_in_one_that_is_not() -> None:
    rows = (
        row("r", "1", span(0, 4), ONE_CPU, 2),
        row("r", "1", span(1, 4), ONE_CPU, 3, bound=True),
    )
    hosts = Hosts(1).with_rows(*rows)
    fewer = hosts.plan(Demand("r", 3, 3, usage=ONE_CPU, current=rows))
    assert [(k.old.id, k.new.slots) for k in fewer.kept] == [(rows[1].id, 3)]
    assert fewer.released == (rows[0],)
    more = hosts.plan(Demand("r", 7, 7, usage=ONE_CPU, current=rows))
    assert [(k.old.id, k.new.slots) for k in more.kept] == [(rows[1].id, 3), (rows[0].id, 4)]
    assert more.added == ()
    assert {k.new.interval for k in more.kept} == {span(0, 4)}


def test_a_row_that_is_bound_never_grows() -> None:
    rows = (row("r", "1", span(0, 4), ONE_CPU, 3, bound=True),)
    more = Hosts(1).with_rows(*rows).plan(Demand("r", 7, 7, usage=ONE_CPU, current=rows))
    assert [(k.old.id, k.new.slots) for k in more.kept] == [(rows[0].id, 3)]
    assert [(a.resource_id, a.slots) for a in more.added] == [("1", 4)]
    assert more.units("r") == 7


def test_what_is_to_have_nothing_beside_another_one_is_released() -> None:
    has = row("r", "1", span(0, 1))
    hosts = Hosts(2).with_rows(has)
    nothing = Demand("r", 0, 0, grouping=Grouping.TOGETHER, current=(has,))
    found = hosts.plan(Demand("s", 1, 1), nothing, interval=span(0, 1))
    assert ([a.reservation_id for a in found.assignments], found.released) == (["s"], (has,))


def test_what_is_on_a_host_that_is_gone_is_released() -> None:
    current = row("r", "9", span(0, 4))
    made = Hosts(1).plan(Demand("r", 1, 1, current=(current,)))
    assert (made.resources("r"), made.released, dict(made.generations)) == (("1",), (current,), {"1": 10})


def test_an_active_reservation_stays_on_a_host_that_is_down_but_does_not_grow_there() -> None:
    current = row("r", "1", span(0, 4), ONE_CPU, 2, bound=True)
    hosts = Hosts().host("1", reservable=False).host("2").with_rows(current)
    active = Demand("r", 3, 3, usage=ONE_CPU, current=(current,), keep_current=True)
    assert {a.resource_id: a.slots for a in hosts.plan(active).assignments} == {"1": 2, "2": 1}
    pending = Demand("r", 3, 3, usage=ONE_CPU, current=(current,))
    assert hosts.plan(pending).resources("r") == ("2",)


def test_what_must_stay_on_two_hosts_is_never_put_together_beside_another_reservation() -> None:
    current = row("r", "1", span(0, 4), ONE_CPU, bound=True), row("r", "2", span(0, 4), ONE_CPU, bound=True)
    together = Demand(
        "r", 2, 2, usage=ONE_CPU, grouping=Grouping.TOGETHER, current=current, keep_current=True
    )
    Hosts(2).with_rows(*current).refuse(together, Demand("s", 1, 1, usage=ONE_CPU))


def test_other_reservations_of_the_lease_count_unless_they_are_planned_too() -> None:
    rows = row("a", "1", span(0, 4)), row("b", "2", span(0, 4))
    hosts = Hosts(2).with_rows(*rows)
    only_a = Demand("a", 2, 2, current=rows[:1])
    assert hosts.refuse(only_a).free == 1
    both = Demand("a", 1, 1, current=rows[:1]), Demand("b", 1, 1, current=rows[1:])
    assert [k.is_changed for k in hosts.plan(*both, interval=span(1, 5)).kept] == [True, True]


# ---------------------------------------------------------------------------------------------- several
# reservations


def test_a_choosy_demand_gets_its_host_though_it_is_asked_last() -> None:
    hosts = Hosts().host("1", gpu="yes").host("2").host("3")
    made = hosts.plan(Demand("any", 1, 2), Demand("gpu", 1, 1, requirement=parse('["==", "$gpu", "yes"]')))
    assert made.resources("gpu") == ("1",)
    assert made.resources("any") == ("2", "3")


def test_three_demands_move_aside_for_each_other() -> None:
    """The first gets the host that only the second can use, and has to give it up again."""
    hosts = Hosts().host("1", kind="ab").host("2", kind="ac").host("3", kind="c")
    wants = {
        "a": '["in", "$kind", "ab", "ac"]',
        "b": '["in", "$kind", "ab"]',
        "c": '["in", "$kind", "ac", "c"]',
    }
    made = hosts.plan(*(Demand(name, 1, 1, requirement=parse(text)) for name, text in wants.items()))
    assert [made.resources(name) for name in "abc"] == [("2",), ("1",), ("3",)]


def test_hosts_and_instances_of_one_lease_are_planned_together_or_not_at_all() -> None:
    hosts = Hosts(2)
    pair = Demand("host", 1, 2), Demand("instances", 8, 8, usage=ONE_CPU)
    made = hosts.plan(*pair)
    assert (made.resources("host"), made.resources("instances")) == (("1",), ("2",))
    shortage = hosts.refuse(Demand("host", 2, 2), Demand("instances", 1, 1, usage=ONE_CPU))
    assert shortage.cause is Cause.COMBINATION
    assert shortage.reason == (
        "2 hosts match, with room for 1 of the 1 wanted; but not together with the other "
        "reservations of the lease."
    )


def test_the_calendar_is_not_changed_by_planning() -> None:
    hosts = Hosts(1)
    assert hosts.plan(Demand("r", 1, 1)) == hosts.plan(Demand("r", 1, 1))


def test_a_request_without_demands_is_an_empty_plan() -> None:
    assert Hosts(1).plan().assignments == ()


# -----------------------------------------------------------------------------------------------------------
# shortages


def busy_hosts() -> Hosts:
    rows = [row(f"x{n}", str(n), span(-1, end)) for n, end in ((1, 10), (2, 12), (3, 20.5))]
    return Hosts(5).with_rows(*rows)


@pytest.mark.parametrize(
    ("demand", "reason"),
    [
        (Demand("r", 3, 3), "5 hosts match, 2 of them are free; first possible start 2031-03-01 10:00."),
        (Demand("r", 5, 9), "5 hosts match, 2 of them are free; first possible start 2031-03-01 20:30."),
        (Demand("r", 6, 9), "5 hosts match, 2 of them are free."),
        (Demand("r", 1, 1, resources=frozenset("1")), "1 host matches, none of them are free; "
         "first possible start 2031-03-01 10:00."),
        (Demand("r", 6, 9, plural="floating IPs"), "5 floating IPs match, 2 of them are free."),
        (Demand("r", 1, 1, requirement=parse('["==", "$gpu", "x"]')),
         "no host matches (none has the property gpu)."),
        (Demand("r", 1, 1, required_traits=frozenset({"GPU"})), "no host matches."),
        (Demand("r", 17, 17, usage=ONE_CPU), "5 hosts match, with room for 16 of the 17 wanted; "
         "first possible start 2031-03-01 10:00."),
        (Demand("r", 9, 9, usage=ONE_CPU, grouping=Grouping.TOGETHER),
         "5 hosts match, with room for 8 of the 9 wanted on one of them."),
        (Demand("r", 3, 3, usage=ONE_CPU, grouping=Grouping.APART),
         "5 hosts match, 2 of them are roomy enough; first possible start 2031-03-01 10:00."),
        (Demand("r", 1, 1, must_include=("2",)), "2 cannot be had; first possible start 2031-03-01 12:00."),
        (Demand("r", 1, 1, must_include=("2", "77")), "2, 77 cannot be had."),
        (Demand("r", 1, 1, must_include=("4", "5")), "more hosts are required than wanted."),
        (Demand("r", 1, 1, current=(row("r", "3", span(0, 1)),), keep_current=True),
         "the reservation is active, and of what it has, 3 cannot be kept."),
        (Demand("r", 1, 1, current=(row("r", "77", span(0, 1)),), keep_current=True),
         "the reservation is active, and of what it has, 77 cannot be kept."),
        (Demand("r", 1, 1, current=(row("r", "4", span(0, 1)), row("r", "5", span(0, 1))), keep_current=True),
         "the reservation is active, and it has more than that already."),
    ],
)  # fmt: skip
def test_a_shortage_says_why(demand: Demand, reason: str) -> None:
    assert busy_hosts().refuse(demand).reason == reason


def test_a_shortage_counts() -> None:
    shortage = busy_hosts().refuse(Demand("r", 3, 3, requirement=parse('["not", ["==", "$gpu", "x"]]')))
    assert (shortage.wanted, shortage.matched, shortage.free) == (3, 5, 2)
    assert shortage.unknown_properties == {"gpu"}
    assert shortage.first_fit == START + timedelta(hours=10)


def test_the_first_fit_keeps_its_cleaning_time_and_whole_minutes() -> None:
    hosts = Hosts(1).with_rows(row("x", "1", span(0, 2)), row("y", "1", span(7, 9)))
    assert hosts.refuse(Demand("r", 1, 1)).first_fit == START + timedelta(hours=2)
    assert hosts.refuse(Demand("r", 1, 1), cleaning=45).first_fit == START + timedelta(hours=9.75)
    request = PlanRequest(span(0, 4), (Demand("r", 1, 1),), timedelta(seconds=90))
    outcome = decide(hosts.calendar, request)
    assert isinstance(outcome, Shortage)
    assert outcome.first_fit == START + timedelta(hours=2, minutes=2)


@pytest.mark.parametrize("stage", [3599, 3600, 3601, 5400, 7229, 7230, 7231, 7290, 9000])
def test_the_stages_of_the_search_overlook_no_start(stage: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_fit, "STAGES", (stage,))
    late = Interval(START + timedelta(seconds=30), START + timedelta(hours=1))
    hosts = Hosts(1).with_rows(row("x", "1", span(0, 2)), row("y", "1", span(2, 3)))
    assert hosts.refuse(Demand("r", 1, 1), interval=late).first_fit == START + timedelta(hours=3)
    free = Hosts(1).with_rows(row("x", "1", span(0, 2)))
    assert free.refuse(Demand("r", 1, 1), interval=late).first_fit == START + timedelta(hours=2)


def test_a_first_fit_beyond_the_end_of_all_dates_is_none() -> None:
    last = datetime(9999, 12, 31, 12, tzinfo=UTC)
    hosts = Hosts(1).with_rows(row("x", "1", Interval(START, last)))
    assert hosts.refuse(Demand("r", 1, 1), interval=span(0, 24)).first_fit is None


def test_a_lease_of_several_reservations_fits_first_when_all_do() -> None:
    hosts = Hosts(2).with_rows(row("x", "1", span(0, 6)), row("y", "2", span(3, 12)))
    both = Demand("host", 1, 1), Demand("instances", 1, 1, usage=ONE_CPU)
    assert hosts.refuse(*both).first_fit == START + timedelta(hours=12)


# ------------------------------------------------------------------------------------------------------ the
# vocabulary


@pytest.mark.parametrize(("minimum", "maximum"), [(-1, 1), (2, 1)])
def test_a_demand_that_contradicts_itself_is_a_defect(minimum: int, maximum: int) -> None:
    with pytest.raises(ValueError, match="do not fit together"):
        Demand("r", minimum, maximum)


def test_a_demand_for_less_than_nothing_is_a_defect() -> None:
    with pytest.raises(ValueError, match="negative"):
        Demand("r", 1, 1, usage=Usage({"VCPU": 1, "DISK_GB": -1}))


def test_plans_of_several_pools_are_joined() -> None:
    one = Hosts(1).plan(Demand("a", 1, 1))
    two = Hosts().host("2").plan(Demand("b", 1, 1))
    joined = Plan.joined([one, two])
    assert joined.resources("a") + joined.resources("b") == ("1", "2")
    assert dict(joined.generations) == {"1": 10, "2": 20}
    with pytest.raises(ValueError, match="no plans"):
        Plan.joined([])


def test_outlines_of_several_pools_are_joined_without_writing_their_plans_down() -> None:
    one = Hosts(1).plan(Demand("a", 1, 1))
    two = Hosts().host("2").plan(Demand("b", 1, 1, usage=ONE_CPU))
    written: list[Plan] = []

    def noted(plan: Plan) -> PlanOutline:
        def write() -> Plan:
            written.append(plan)
            return plan

        outline = plan.outline
        return PlanOutline(outline.interval, {"a": outline.units("a")}, write)

    joined = PlanOutline.joined([noted(one), two.outline])
    assert (joined.interval, joined.units("b"), joined.units("c")) == (one.interval, 1, 0)
    assert not written
    assert joined.plan == Plan.joined([one, two])
    assert joined.plan is joined.plan
    assert written == [one]
    with pytest.raises(ValueError, match="no plans"):
        PlanOutline.joined([])
