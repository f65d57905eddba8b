"""Small random pools and requests, and what brute force says of them: written apart from the code under test.

Time is counted in hours from ``START``; everything is so small that each hour of each host can be looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property  # noqa: TID251 - of one thread only
from itertools import product
from typing import TypeVar

from hypothesis import strategies as st

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.planning.demand import Demand, Grouping, Order, PlanRequest
from blazar.domain.requirement.language import ANYTHING, Requirement, parse
from blazar.domain.resource import WHOLE, Allocation, Inventory, Pool, Resource, Usage
from blazar.domain.time import Interval

T = TypeVar("T")
U = TypeVar("U")
START = datetime(2031, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
LAST_HOUR = 14
"""No allocation lasts longer."""
TRAITS = ("GPU", "SSD")
REQUIREMENTS = tuple(
    map(parse, ('[">=", "$rank", "2"]', '["not", ["==", "$rank", "1"]]', '["==", "$missing", "x"]'))
)


def span(start: int, end: int) -> Interval:
    return Interval(START + start * HOUR, START + end * HOUR)


def hours(interval: Interval) -> range:
    return range((interval.start - START) // HOUR, (interval.end - START) // HOUR)


def load_at(allocations: Iterable[Allocation], hour: int) -> Counter[str] | None:
    """What the allocations take in this hour, by class; None where one of them takes the whole resource."""
    load: Counter[str] = Counter()
    for allocation in allocations:
        if hour in hours(allocation.interval):
            if allocation.amounts is None:
                return None
            for name, n in allocation.amounts.items():
                load[name] += n
    return load


def is_within_capacity(resource: Resource, allocations: Sequence[Allocation]) -> bool:
    """Never above capacity at one instant, nothing beside a whole usage."""
    for hour in range(-LAST_HOUR, 3 * LAST_HOUR):
        here = [a for a in allocations if hour in hours(a.interval)]
        load = load_at(here, hour)
        if load is None:
            if len(here) > 1:
                return False
        elif any(n > capacity(resource, name) for name, n in load.items()):
            return False
    return True


def capacity(resource: Resource, name: str) -> int:
    return resource.inventory[name].capacity if name in resource.inventory else 0


@dataclass(frozen=True)
class World:
    """A pool, what occupies it, and a request."""

    resources: tuple[Resource, ...]
    allocations: tuple[Allocation, ...]
    request: PlanRequest
    exempts: bool = True
    """Whether cleaning time is not asked for again at edges within what the demands have already."""

    @cached_property
    def calendar(self) -> Calendar:
        calendar = Calendar()
        for resource in self.resources:
            calendar.put(resource, [a for a in self.allocations if a.resource_id == resource.id])
        return calendar

    def at(self, start: int) -> World:
        """The same with the request moved to another hour, where cleaning time is always asked for."""
        length = len(hours(self.request.interval))
        demands, cleaning = self.request.demands, self.request.cleaning
        return World(
            self.resources,
            self.allocations,
            PlanRequest(span(start, start + length), demands, cleaning),
            exempts=False,
        )


@dataclass
class BruteForce:
    """What is possible in a world: every mixture of units on every host is tried."""

    world: World
    others: Sequence[Allocation] = field(init=False)
    current: Sequence[Allocation] = field(init=False)
    """What the demands have now."""

    def __post_init__(self) -> None:
        self.current = [a for demand in self.world.request.demands for a in demand.current]
        replaced = {demand.reservation_id for demand in self.world.request.demands}
        self.others = [a for a in self.world.allocations if a.reservation_id not in replaced]

    def blocked_hours(self, resource: Resource) -> range:
        """The hours that must be free on the resource: the interval, and the cleaning time at each edge that
        does not lie within what the demands have there now."""
        request = self.world.request
        inside = hours(request.interval)
        own = [a.interval for a in self.current if a.resource_id == resource.id]
        first, last = inside.start - request.cleaning // HOUR, inside.stop + request.cleaning // HOUR
        if own and self.world.exempts:
            start, end = min(i.start for i in own), max(i.end for i in own)
            if start <= request.interval.start < end:
                first = inside.start
            if start < request.interval.end <= end:
                last = inside.stop
        return range(first, last)

    def holds(self, resource: Resource, units: Sequence[int]) -> bool:
        """Whether the resource holds these units of the demands beside what others have, in every hour."""
        demands = self.world.request.demands
        wholes = sum(n for demand, n in zip(demands, units, strict=True) if demand.usage.whole)
        if wholes and sum(units) > 1:
            return False
        for demand, n in zip(demands, units, strict=True):
            if n and not self.suits(resource, demand, n):
                return False
        own: Counter[str] = Counter()
        for demand, n in zip(demands, units, strict=True):
            for name, amount in (demand.usage.amounts or {}).items():
                own[name] += n * amount
        theirs = [a for a in self.others if a.resource_id == resource.id]
        for hour in self.blocked_hours(resource):
            load = load_at(theirs, hour)
            if sum(units) and (load is None or (wholes and any(hour in hours(a.interval) for a in theirs))):
                return False
            if load is not None and any(own[k] and own[k] + load[k] > capacity(resource, k) for k in own):
                return False
        return True

    def suits(self, resource: Resource, demand: Demand, n: int) -> bool:
        held = sum(a.slots for a in demand.current if a.resource_id == resource.id)
        if not resource.reservable and not (demand.keep_current and n <= held):
            return False
        if demand.resources is not None and resource.id not in demand.resources:
            return False
        for name, amount in (demand.usage.amounts or {}).items():
            if name not in resource.inventory or amount > resource.inventory[name].max_unit:
                return False
        return (
            demand.requirement.matches(resource.properties)
            and demand.required_traits <= resource.traits
            and not demand.forbidden_traits & resource.traits
        )

    def needed(self, resource: Resource, demand: Demand) -> int:
        if demand.keep_current and (
            held := sum(a.slots for a in demand.current if a.resource_id == resource.id)
        ):
            return held
        return int(resource.id in demand.must_include)

    def is_possible(self, at_least: Mapping[int, int] | None = None) -> bool:
        """Whether all demands can have their minimum (or ``at_least``, by number) and no more than their
        maximum."""
        demands = self.world.request.demands
        wanted = [demand.minimum for demand in demands]
        for number, n in (at_least or {}).items():
            wanted[number] = n
        known = {resource.id for resource in self.world.resources}
        for number, demand in enumerate(demands):
            must = set(demand.must_include)
            if demand.keep_current:
                must |= {a.resource_id for a in demand.current}
            needed = sum(self.needed(resource, demand) for resource in self.world.resources)
            wanted[number] = max(wanted[number], needed)
            if not must <= known or wanted[number] > demand.maximum:
                return False
        reached = {(0,) * len(demands)}
        for resource in self.world.resources:
            mixtures = self.mixtures(resource, wanted)
            reached = {
                tuple(min(a + b, most) for a, b, most in zip(before, mixture, wanted, strict=True))
                for before in reached
                for mixture in mixtures
                if self.is_grouped(before, mixture)
            }
        return tuple(wanted) in reached

    def mixtures(self, resource: Resource, wanted: Sequence[int]) -> list[tuple[int, ...]]:
        choices = []
        for demand, most in zip(self.world.request.demands, wanted, strict=True):
            needed = self.needed(resource, demand)
            if demand.grouping is Grouping.TOGETHER:
                counts = {0, most} if not needed else {most}
            elif demand.grouping is Grouping.APART:
                counts = {n for n in (0, 1) if n >= needed}
            else:
                counts = set(range(needed, most + 1))
            choices.append(sorted(counts))
        return [mixture for mixture in product(*choices) if self.holds(resource, mixture)]

    def is_grouped(self, before: tuple[int, ...], mixture: tuple[int, ...]) -> bool:
        return not any(
            demand.grouping is Grouping.TOGETHER and a and b
            for demand, a, b in zip(self.world.request.demands, before, mixture, strict=True)
        )


# ------------------------------------------------------------------------------------------------- random
# worlds


def rarely(value: T, instead_of: U) -> st.SearchStrategy[T | U]:
    """One time in ten; what is drawn more often otherwise is the simplest and the extremes."""
    return st.sampled_from((*[instead_of] * 9, value))


@st.composite
def resources(draw: st.DrawFn, most: int = 4) -> tuple[Resource, ...]:
    found = []
    for number in range(draw(st.sampled_from((most, 3, 2, 1, 1)))):
        capacity = draw(st.sampled_from((6, 4, 3, 2, 0)))
        found.append(
            Resource(
                id=str(number + 8),
                pool=Pool("host"),
                properties={"rank": draw(st.sampled_from(("1", 2, 3)))},
                traits=frozenset(draw(st.sampled_from((TRAITS, TRAITS, TRAITS[:1], TRAITS[1:], ())))),
                inventory={
                    "VCPU": Inventory(capacity, draw(st.sampled_from((9, 9, 2)))),
                    "DISK_GB": Inventory(draw(st.sampled_from((12, 9, 3))), 9),
                },
                reservable=draw(rarely(False, instead_of=True)),
                generation=draw(st.integers(0, 3)),
            )
        )
    return tuple(found)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    if draw(st.booleans()):
        return WHOLE
    return Usage({"VCPU": draw(st.integers(1, 3)), "DISK_GB": draw(st.integers(0, 2))})


@st.composite
def spans(draw: st.DrawFn, last: int = LAST_HOUR) -> Interval:
    start = draw(st.integers(0, last - 1))
    return span(start, draw(st.integers(start + 1, last)))


@st.composite
def occupancy(draw: st.DrawFn, pool: Sequence[Resource], most: int = 6) -> list[Allocation]:
    """Allocations of others that never exceed a resource; now and then all of them on one, one after the
    other."""
    found: list[Allocation] = []
    is_row = draw(st.booleans())
    for number in range(draw(st.integers(0, most))):
        resource = pool[0] if is_row else draw(st.sampled_from(pool))
        usage = Usage({"VCPU": draw(st.integers(1, 3)), "DISK_GB": 1}) if is_row else draw(usages())
        candidate = Allocation(
            id=f"other-{number}",
            reservation_id=f"other-reservation-{number}",
            lease_id="other-lease",
            resource_id=resource.id,
            interval=span(2 * number, 2 * number + 2) if is_row else draw(spans()),
            usage=usage,
            slots=1 if usage.whole else draw(st.sampled_from((1, 1, 2))),
        )
        if is_within_capacity(resource, [*(a for a in found if a.resource_id == resource.id), candidate]):
            found.append(candidate)
    return found


@st.composite
def requirements(draw: st.DrawFn) -> Requirement:
    return draw(st.sampled_from((*[ANYTHING] * 9, *REQUIREMENTS)))


@st.composite
def demands(draw: st.DrawFn, number: int, usage: Usage, pool: Sequence[Resource]) -> Demand:
    minimum = draw(st.sampled_from((1, 1, 1, 2, 2, 3, 0)))
    traits = draw(st.sampled_from((*[((), ())] * 8, (("GPU",), ()), ((), ("GPU",)), (("SSD",), ("GPU",)))))
    ids = [resource.id for resource in pool]
    must = draw(rarely(True, instead_of=False)) and draw(st.sampled_from([*ids, *ids, "unknown"]))
    return Demand(
        reservation_id=f"own-reservation-{number}",
        minimum=minimum,
        maximum=minimum + draw(st.integers(0, 3)),
        usage=usage,
        requirement=draw(requirements()),
        required_traits=frozenset(traits[0]),
        forbidden_traits=frozenset(traits[1]),
        grouping=draw(st.sampled_from((Grouping.ANY, *Grouping))),
        resources=draw(rarely(frozenset(ids[1:]), instead_of=None)),
        must_include=(must,) if must else (),
    )


@st.composite
def worlds(
    draw: st.DrawFn, most_demands: int = 3, *, updates: bool = True, wholes_only: bool = False
) -> World:
    pool = draw(resources())
    allocations = draw(occupancy(pool))
    asked = []
    for number in range(draw(st.integers(1, most_demands))):
        demand = draw(demands(number, WHOLE if wholes_only else draw(usages()), pool))
        if wholes_only:
            # Overlapping choices: this is what makes it hard to share out whole resources.
            chosen = draw(st.sets(st.sampled_from([resource.id for resource in pool]), min_size=1))
            demand = replace(demand, resources=frozenset(chosen), minimum=min(demand.minimum, len(chosen)))
        if updates and draw(st.sampled_from((False, False, True))):
            current = draw(holdings(pool, allocations, demand, is_resized=not wholes_only))
            allocations += current
            keep = draw(st.sampled_from((False, False, True)))
            demand = replace(demand, current=tuple(current), keep_current=keep)
        asked.append(demand)
    request = PlanRequest(
        interval=draw(spans()),
        demands=tuple(asked),
        cleaning=draw(st.integers(0, 2)) * HOUR,
        order=draw(st.sampled_from(Order)),
        seed=draw(st.integers(0, 9)),
    )
    return World(pool, tuple(allocations), request)


@st.composite
def holdings(
    draw: st.DrawFn,
    pool: Sequence[Resource],
    allocations: Sequence[Allocation],
    demand: Demand,
    is_resized: bool = True,
) -> list[Allocation]:
    """What a reservation has already, in an interval of its own; where it may be ``is_resized``, its usage
    may have been another one."""
    interval = draw(spans())
    usage = (
        draw(usages()) if is_resized and draw(st.sampled_from((False, False, False, True))) else demand.usage
    )
    held: list[Allocation] = []
    for number in range(draw(st.integers(0, 3))):
        resource = draw(st.sampled_from(pool))
        candidate = Allocation(
            id=f"{demand.reservation_id}-{number}",
            reservation_id=demand.reservation_id,
            lease_id="own-lease",
            resource_id=resource.id,
            interval=interval,
            usage=usage,
            slots=1 if usage.whole else draw(st.integers(1, 2)),
            bound=draw(st.booleans()),
        )
        here = [a for a in (*allocations, *held) if a.resource_id == resource.id]
        if is_within_capacity(resource, [*here, candidate]):
            held.append(candidate)
    return held
