"""Leases of all kinds on hosts, made, changed and deleted in random histories: nothing is ever given twice,
and nothing is refused that brute force can still place beside the allocations as they stand.

What a request needs is written down here a second time, apart from the kinds and the planner."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from effort import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st
from service.world import World as Service

from blazar.domain.errors import NotEnoughResources
from blazar.domain.lease.lease import Lease
from blazar.domain.planning.demand import Demand, Grouping, PlanRequest
from blazar.domain.requirement.language import parse
from blazar.domain.resource import WHOLE, Allocation, Inventory, Pool, Resource, Usage
from blazar.service.commands import ReservationChange, ReservationRequest
from blazar.service.ports import Flavor

from .worlds import HOUR, TRAITS, BruteForce, World, is_within_capacity, span

GROUPINGS = {True: Grouping.TOGETHER, False: Grouping.APART, None: Grouping.ANY}
SELDOM = (None, None, None, True, False)
KINDS = ("physical:host", "virtual:instance", "flavor:instance")
COUNTS = st.sampled_from((1, 1, 2, 3))
RANKED = '[">=", "$rank", "2"]'


@dataclass(frozen=True)
class Wish:
    """One reservation: as it is asked for, and what it needs."""

    request: ReservationRequest
    demand: Demand


@dataclass(frozen=True)
class Host:
    sizes: dict[str, int]
    traits: tuple[str, ...]
    rank: int

    def resource(self, number: int) -> Resource:
        inventory = {name: Inventory(n, n) for name, n in self.sizes.items()}
        return Resource(
            str(number), Pool("host"), {"rank": str(self.rank)}, frozenset(self.traits), inventory
        )


hosts = st.builds(
    Host,
    st.fixed_dictionaries(
        {
            "VCPU": st.sampled_from((3, 4, 6)),
            "MEMORY_MB": st.sampled_from((4, 6, 99)),
            "DISK_GB": st.sampled_from((2, 6, 99)),
            "PCPU": st.sampled_from((0, 4, 4)),
        }
    ),
    st.sampled_from((TRAITS, TRAITS[:1], TRAITS[1:], ())),
    st.integers(1, 3),
)


@st.composite
def flavors(draw: st.DrawFn, number: int) -> tuple[Flavor, Demand]:
    """A flavor, and what one server of it needs."""
    vcpus, ram = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    disk, ephemeral, swap = (
        draw(st.integers(0, 1)),
        draw(st.integers(0, 1)),
        draw(st.sampled_from((0, 0, 700))),
    )
    dedicated = draw(st.sampled_from((False, False, True)))
    wanted = draw(
        st.sampled_from(
            (*[{}] * 6, *({trait: word} for trait in TRAITS for word in ("required", "forbidden")))
        )
    )
    specs = {f"trait:{trait}": word for trait, word in wanted.items()}
    specs |= {"hw:cpu_policy": "dedicated"} if dedicated else {}
    amounts = {
        "PCPU" if dedicated else "VCPU": vcpus,
        "MEMORY_MB": ram,
        "DISK_GB": disk + ephemeral + bool(swap),
    }
    return (
        Flavor(f"flavor-{number}", "f", vcpus, ram, disk, ephemeral, swap, extra_specs=specs),
        Demand(
            "",
            1,
            1,
            usage=Usage({name: n for name, n in amounts.items() if n}),
            required_traits=frozenset(trait for trait, word in wanted.items() if word == "required"),
            forbidden_traits=frozenset(trait for trait, word in wanted.items() if word == "forbidden"),
        ),
    )


@st.composite
def wishes(draw: st.DrawFn, known: list[tuple[Flavor, Demand]], kinds: tuple[str, ...]) -> Wish:
    kind = draw(st.sampled_from(kinds))
    ranked = draw(st.sampled_from(("", "", "", RANKED)))
    if kind == "physical:host":
        least, more = draw(st.sampled_from((1, 1, 2))), draw(st.integers(0, 1))
        asked: dict[str, Any] = {"min": least, "max": least + more}
        asked |= {"hypervisor_properties": "", "resource_properties": ranked}
        return Wish(ReservationRequest(kind, asked), Demand("", least, least + more, WHOLE, parse(ranked)))
    amount, affinity = draw(st.sampled_from((1, 1, 1, 2, 3))), draw(st.sampled_from(SELDOM))
    asked = {"amount": amount, "affinity": affinity}
    if kind == "flavor:instance":
        flavor, one = draw(st.sampled_from(known))
        asked |= {"flavor_id": flavor.id}
    else:
        vcpus, ram, disk = (draw(st.sampled_from((least, 1, 2, 3))) for least in (1, 1, 0))
        asked |= {"vcpus": vcpus, "memory_mb": ram, "disk_gb": disk, "resource_properties": ranked}
        amounts = {"VCPU": vcpus, "MEMORY_MB": ram, "DISK_GB": disk}
        one = Demand("", 1, 1, Usage({name: n for name, n in amounts.items() if n}), parse(ranked))
    return Wish(
        ReservationRequest(kind, asked),
        replace(one, minimum=amount, maximum=amount, grouping=GROUPINGS[affinity]),
    )


@dataclass
class Promise:
    """A lease that was granted: its hours and what it was granted for."""

    lease: Lease
    start: int
    end: int
    wishes: list[Wish]

    def demands(self) -> tuple[Demand, ...]:
        return tuple(
            replace(wish.demand, reservation_id=reservation.id)
            for wish, reservation in zip(self.wishes, self.lease.reservations, strict=True)
        )

    def allocations(self) -> list[Allocation]:
        """As they stand: which host serves what comes from the service, what that takes and when from the
        wishes."""
        claims = {demand.reservation_id: demand.usage for demand in self.demands()}
        return [
            replace(row, interval=span(self.start, self.end), usage=claims[row.reservation_id])
            for row in self.lease.allocations
        ]


class History:
    """A service with random hosts, and what it has promised so far."""

    def __init__(self, pool: list[Host], known: list[Flavor], cleaning: int) -> None:
        self.service = Service(hosts=0, cleaning=cleaning * HOUR)
        self.cleaning = cleaning
        self.resources = tuple(host.resource(number) for number, host in enumerate(pool, start=1))
        for number, host in enumerate(pool, start=1):
            self.service.cloud.add_hypervisor(str(number), f"host{number}")
            self.service.cloud.set_provider(f"host{number}", host.sizes, host.traits)
            self.service.register(f"host{number}")
            self.service.hosts.set_capabilities(str(number), {"rank": str(host.rank)})
        for flavor in known:
            self.service.cloud.add_flavor(flavor)
        self.promises: list[Promise] = []

    def create(self, start: int, end: int, wanted: list[Wish]) -> None:
        asked = [wish.request for wish in wanted]
        try:
            lease = self.service.reserve(*asked, start=60 * start, end=60 * end)
        except NotEnoughResources:
            event("creation refused")
            names = [f"wanted-{number}" for number in range(len(wanted))]
            demands = tuple(replace(w.demand, reservation_id=n) for w, n in zip(wanted, names, strict=True))
            assert not self.is_possible(start, end, demands, self.promises)
            return
        event("created")
        made = Promise(lease, start, end, wanted)
        self.promises = self.as_planned(self.promises)
        self.check_beside(made)
        self.promises.append(made)
        self.check()

    def update(self, old: Promise, start: int, end: int, number: int, wish: Wish | None) -> None:
        wanted = [wish if wish and at == number else kept for at, kept in enumerate(old.wishes)]
        changed = Promise(old.lease, start, end, wanted)
        reservations = (
            (ReservationChange(old.lease.reservations[number].id, wish.request.parameters),) if wish else ()
        )
        dates = {"start": self.service.in_minutes(60 * start), "end": self.service.in_minutes(60 * end)}
        others = [promise for promise in self.promises if promise is not old]
        before = self.service.lease(old.lease)
        try:
            lease = self.service.update(old.lease, reservations=reservations, **dates)
        except NotEnoughResources:
            event("update refused")
            assert self.service.lease(old.lease) == before
            assert not self.is_possible(start, end, changed.demands(), others)
            return
        event("updated")
        self.promises = [*self.as_planned(others), replace(changed, lease=lease)]
        self.check()

    def as_planned(self, promises: list[Promise]) -> list[Promise]:
        """To make room, leases may have been planned elsewhere."""
        return [replace(each, lease=self.service.lease(each.lease)) for each in promises]

    def delete(self, promise: Promise) -> None:
        self.service.delete(promise.lease)
        self.service.run_due()
        self.promises.remove(promise)
        self.check()

    def brute(self, start: int, end: int, demands: tuple[Demand, ...], others: list[Promise]) -> BruteForce:
        taken = tuple(row for promise in others for row in promise.allocations())
        return BruteForce(
            World(self.resources, taken, PlanRequest(span(start, end), demands, self.cleaning * HOUR))
        )

    def is_possible(self, start: int, end: int, demands: tuple[Demand, ...], others: list[Promise]) -> bool:
        return self.brute(start, end, demands, others).is_possible()

    def check_beside(self, made: Promise) -> None:
        """There is room for what was granted beside all others, the cleaning time before and after it
        included."""
        brute = self.brute(made.start, made.end, made.demands(), self.promises)
        for resource in self.resources:
            here = [row for row in made.allocations() if row.resource_id == resource.id]
            units = [
                sum(r.slots for r in here if r.reservation_id == d.reservation_id) for d in made.demands()
            ]
            assert brute.holds(resource, units)

    def check(self) -> None:
        rows = [row for promise in self.promises for row in promise.allocations()]
        for resource in self.resources:
            assert is_within_capacity(resource, [row for row in rows if row.resource_id == resource.id])
        for promise in self.promises:
            assert promise.lease.interval.duration == (promise.end - promise.start) * HOUR
            for demand in promise.demands():
                self.check_served(
                    demand, [row for row in rows if row.reservation_id == demand.reservation_id]
                )

    def check_served(self, demand: Demand, rows: list[Allocation]) -> None:
        units: Counter[str] = Counter()
        for row in rows:
            units[row.resource_id] += row.slots
        assert demand.minimum <= units.total() <= demand.maximum
        assert demand.grouping is not Grouping.TOGETHER or len(units) == 1
        assert demand.grouping is not Grouping.APART or set(units.values()) == {1}
        for resource in self.resources:
            if resource.id in units:
                assert demand.requirement.matches(resource.properties)
                assert demand.required_traits <= resource.traits
                assert not demand.forbidden_traits & resource.traits


@given(st.data())
@settings(max_examples=examples(300), deadline=None)
def test_nothing_is_given_twice_and_nothing_refused_that_fits(data: st.DataObject) -> None:
    known = [data.draw(flavors(number)) for number in range(2)]
    pool = data.draw(st.lists(hosts, min_size=1, max_size=data.draw(st.sampled_from((1, 1, 3, 4)))))
    history = History(pool, [flavor for flavor, _ in known], data.draw(st.sampled_from((0, 0, 1))))
    kinds = data.draw(st.sampled_from((KINDS, KINDS[1:])))
    for _ in range(data.draw(st.integers(4, 10))):
        start = data.draw(st.integers(1, 6))
        # Short ones stand in a row, and long ones see whether there is room beside a row.
        end = start + data.draw(st.sampled_from((1, 1, 2, 6)))
        action = data.draw(st.sampled_from(("create", "create", "update", "update", "update", "delete")))
        if action == "create" or not history.promises:
            history.create(
                start, end, data.draw(st.lists(wishes(known, kinds), min_size=1, max_size=data.draw(COUNTS)))
            )
            continue
        promise = data.draw(st.sampled_from(history.promises))
        if action == "delete":
            history.delete(promise)
            continue
        number = data.draw(st.integers(0, len(promise.wishes) - 1))
        kind = promise.wishes[number].request.resource_type
        wish = data.draw(st.none() | wishes(known, (kind,)))
        if data.draw(st.booleans()):
            start, end = promise.start, promise.end
        history.update(promise, start, end, number, wish)
