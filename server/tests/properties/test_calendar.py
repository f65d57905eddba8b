"""The calendar against a model that keeps lists: whatever is put, replaced and dropped, both tell the same,
and every snapshot goes on telling what was there when it was taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from effort import examples
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.requirement.language import parse
from blazar.domain.resource import WHOLE, Allocation, Inventory, Pool, Resource, Usage, database_order
from blazar.domain.time import Interval

from .worlds import HOUR, hours, load_at, span

IDS = ("10", "9", "2", "100", "b", "a", "x7")
Model = dict[str, tuple[Resource, list[Allocation]]]
MOST_SNAPSHOTS = 3
CLASSES = ("VCPU", "DISK_GB")
LEASES = ("l1", "l2")
TRAITS = ("GPU", "SSD", "NIC")


@st.composite
def hosts(draw: st.DrawFn) -> Resource:
    return Resource(
        id=draw(st.sampled_from(IDS)),
        pool=Pool("host"),
        properties=draw(
            st.dictionaries(st.sampled_from(("zone", "rack")), st.sampled_from(("1", "2", 2, None)))
        ),
        traits=frozenset(draw(st.sets(st.sampled_from(TRAITS)))),
        inventory={
            name: Inventory(draw(st.integers(0, 9)), 9) for name in draw(st.sets(st.sampled_from(CLASSES)))
        },
        reservable=draw(st.booleans()),
        generation=draw(st.integers(0, 99)),
    )


@st.composite
def rows(draw: st.DrawFn) -> list[Allocation]:
    """Any allocations, also such as exceed the resource: the calendar holds what it is given."""
    found = []
    for number in range(draw(st.integers(0, 7))):
        start = draw(st.integers(0, 9))
        shared = st.dictionaries(st.sampled_from(CLASSES), st.integers(0, 4)).map(Usage)
        found.append(
            Allocation(
                id=f"a{number}",
                reservation_id=draw(st.sampled_from(("r1", "r2", "r3"))),
                lease_id=draw(st.sampled_from(LEASES)),
                resource_id="",
                interval=span(start, draw(st.integers(start + 1, 12))),
                usage=draw(st.one_of(st.just(WHOLE), shared)),
                slots=draw(st.integers(1, 3)),
            )
        )
    return found


def by_lease(allocations: Iterable[Allocation]) -> list[Allocation]:
    """The same, those of each lease together and in their order."""
    return sorted(allocations, key=lambda each: each.lease_id)


class CalendarAgainstModel(RuleBasedStateMachine):
    """Puts, drops and bulk loads, each followed by a comparison of everything the calendar tells."""

    def __init__(self) -> None:
        super().__init__()
        self.calendar = Calendar()
        self.model: Model = {}
        self.taken: list[tuple[CalendarSnapshot, Model]] = []
        self.asked: tuple[Interval, int, list[str]] = (span(0, 12), 0, [])

    @initialize(entries=st.lists(st.tuples(hosts(), rows()), unique_by=lambda entry: entry[0].id, max_size=5))
    def load(self, entries: list[tuple[Resource, list[Allocation]]]) -> None:
        self.calendar.bulk_load(entries)
        self.model = {resource.id: (resource, allocations) for resource, allocations in entries}

    @rule(resource=hosts(), allocations=rows())
    def put(self, resource: Resource, allocations: list[Allocation]) -> None:
        self.calendar.put(resource, allocations)
        self.model[resource.id] = (resource, allocations)

    @rule(
        resource_id=st.sampled_from(IDS),
        generation=st.integers(0, 99),
        lease_ids=st.sets(st.sampled_from(LEASES)),
        allocations=rows(),
    )
    def change(
        self, resource_id: str, generation: int, lease_ids: set[str], allocations: list[Allocation]
    ) -> None:
        self.calendar.change(resource_id, generation, lease_ids, allocations)
        if resource_id in self.model:
            resource, before = self.model[resource_id]
            stay = [each for each in before if each.lease_id not in lease_ids]
            self.model[resource_id] = (replace(resource, generation=generation), [*stay, *allocations])

    @rule(resource_id=st.sampled_from(IDS), lease_id=st.sampled_from(LEASES))
    def release(self, resource_id: str, lease_id: str) -> None:
        self.calendar.release(resource_id, lease_id)
        if resource_id in self.model:
            resource, before = self.model[resource_id]
            self.model[resource_id] = (resource, [each for each in before if each.lease_id != lease_id])

    @rule(resource_id=st.sampled_from(IDS))
    def drop(self, resource_id: str) -> None:
        self.calendar.drop(resource_id)
        self.model.pop(resource_id, None)

    @rule(
        start=st.integers(0, 11),
        length=st.integers(1, 6),
        margin=st.integers(0, 2),
        ignore=st.lists(st.sampled_from(("r1", "r2", "l1")), max_size=2),
    )
    def ask(self, start: int, length: int, margin: int, ignore: list[str]) -> None:
        self.asked = (span(start, start + length), margin, ignore)

    @rule()
    def take_a_snapshot(self) -> None:
        self.taken.append((self.calendar.snapshot(), dict(self.model)))

    @rule(number=st.integers(0, MOST_SNAPSHOTS))
    def let_a_snapshot_go(self, number: int) -> None:
        del self.taken[number : number + 1]
        del self.taken[MOST_SNAPSHOTS:]

    def moments(self) -> list[tuple[CalendarSnapshot, Model]]:
        return [*self.taken, (self.calendar.snapshot(), self.model)]

    @invariant()
    def tells_what_it_was_given(self) -> None:
        assert list(self.calendar) == sorted(self.model, key=database_order)
        assert len(self.calendar) == len(self.model)
        for name in IDS:
            resource, allocations = self.model.get(name, (None, []))
            assert self.calendar.generation_of(name) == (resource.generation if resource else None)
            found = list(self.calendar.allocations_of(name))
            assert by_lease(found) == by_lease(allocations)
            assert (name in self.calendar) == (resource is not None)
        for snapshot, model in self.moments():
            assert list(snapshot) == sorted(model, key=database_order)
            assert len(snapshot) == len(model)
            for name in IDS:
                resource, _ = model.get(name, (None, []))
                assert snapshot.generation_of(name) == (resource.generation if resource else None)
                assert (name in snapshot) == (resource is not None)

    @invariant()
    def knows_what_is_occupied(self) -> None:
        interval, margin, ignore = self.asked
        widened = interval.widened(margin * HOUR)
        for snapshot, model in self.moments():
            window = snapshot.window(interval, timedelta(hours=margin), ignore)
            for name, (_, allocations) in model.items():
                place = snapshot.index_of(name)
                here = [
                    row
                    for row in allocations
                    if row.interval.overlaps(widened) and not {row.reservation_id, row.lease_id} & set(ignore)
                ]
                assert snapshot.id_at(place) == name
                assert window.occupied[place] == bool(here)
                assert window.taken[place] == any(row.usage.whole for row in here)
                shared = [row for row in here if not row.usage.whole]
                loads = [load_at(shared, hour) or Counter() for hour in hours(widened)]
                for resource_class in CLASSES:
                    amounts = [(row.amounts or {}).get(resource_class, 0) for row in shared]
                    assert window.total(resource_class)[place] == sum(amounts)
                    assert window.peak(resource_class)[place] == max(load[resource_class] for load in loads)

    @invariant()
    def knows_what_resources_are_like(self) -> None:
        for snapshot, model in self.moments():
            facts = snapshot.columns
            for place in range(facts.size):
                resource = next((r for r, _ in model.values() if snapshot.index_of(r.id) == place), None)
                assert facts.all()[place] == (resource is not None)
                assert facts.reservable[place] == (resource is not None and resource.reservable)
                for name in CLASSES:
                    stored = resource.inventory.get(name) if resource else None
                    assert facts.capacity(name)[place] == (stored.capacity if stored else 0)
            for name in ("zone", "rack"):
                assert facts.knows(name) == any(r.properties.get(name) is not None for r, _ in model.values())


CalendarAgainstModel.TestCase.settings = settings(
    max_examples=examples(150), stateful_step_count=25, deadline=None
)
TestCalendarAgainstModel = CalendarAgainstModel.TestCase


class FactsAgainstModel(CalendarAgainstModel):
    """The same with questions about matching after each change, so that kept answers meet every kind of
    change."""

    @invariant()
    def matches_as_the_resources_do(self) -> None:
        requirement = parse('["or", ["==", "$zone", "2"], ["!=", "$rack", "1"]]')
        usage = Usage({"VCPU": 2, "DISK_GB": 1})
        required, forbidden = frozenset({"GPU"}), frozenset({"NIC", "NEVER_SEEN"})
        for snapshot, model in self.moments():
            mask = snapshot.columns.matching(requirement, required, forbidden, usage)
            none = snapshot.columns.matching(requirement, frozenset({"NEVER_SEEN"}), forbidden, usage)
            assert not none.any()
            for name, (resource, _) in model.items():
                capacity = [
                    resource.inventory.get(k, Inventory(0, 0)).capacity // n
                    for k, n in (usage.amounts or {}).items()
                ]
                assert mask[snapshot.index_of(name)] == (
                    requirement.matches(resource.properties)
                    and required <= resource.traits
                    and not forbidden & resource.traits
                    and min(capacity) > 0
                )


FactsAgainstModel.TestCase.settings = settings(
    max_examples=examples(100), stateful_step_count=20, deadline=None
)
TestFactsAgainstModel = FactsAgainstModel.TestCase
