"""Hosts and floating IPs in one request: planned exactly when all can be had, else with the first start for
all of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from hypothesis import event, given
from hypothesis import strategies as st

from blazar.adapters.memory import MemoryDatabase
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.planning.demand import Demand, PlanRequest
from blazar.domain.planning.plan import Plan, Shortage
from blazar.domain.resource import Allocation, Pool, Registration
from blazar.service.calendars import Calendars
from blazar.service.context import Caller

from .worlds import HOUR, LAST_HOUR, START, span


class FixedClock:
    def now(self):
        return START

    def pause(self, seconds):
        raise AssertionError("a plan never waits")


@dataclass(frozen=True)
class Side:
    """One pool: its resources, the hours in which each is occupied, and how many are wanted, some of them by
    id."""

    pool: Pool
    occupied: dict[str, tuple[range, ...]]
    wanted: int
    required: tuple[str, ...]

    def suits(self, start: int, length: int, cleaning: int) -> bool:
        """Whether it can be had, hour by hour."""
        window = set(range(start - cleaning, start + length + cleaning))
        free = {name for name, busy in self.occupied.items() if not any(window & set(each) for each in busy)}
        return len(free) >= self.wanted and free >= set(self.required)

    def demands(self) -> tuple[Demand, ...]:
        return (Demand(self.pool, self.wanted, self.wanted, must_include=self.required),)

    def store(self, uow) -> None:
        for name, busy in self.occupied.items():
            uow.resources.add(Registration(name, self.pool, name), START)
            for number, each in enumerate(busy):
                lease_id = f"{name}-{number}"
                interval = span(each.start, each.stop)
                allocation = Allocation(lease_id, lease_id, lease_id, name, interval)
                reservation = Reservation(lease_id, lease_id, "", "any", {}, allocations=(allocation,))
                uow.leases.add(Lease(lease_id, "", "", "", interval, reservations=(reservation,)), START)


@st.composite
def stretches(draw) -> tuple[range, ...]:
    """Stretches of hours that do not overlap."""
    edges = sorted(draw(st.sets(st.integers(0, LAST_HOUR), max_size=6)))
    return tuple(range(a, b) for a, b in zip(edges[::2], edges[1::2], strict=False))


@st.composite
def sides(draw, pool: Pool) -> Side:
    occupied = {f"{pool}{n}": draw(stretches()) for n in range(draw(st.integers(1, 3)))}
    wanted = draw(st.integers(1, len(occupied)))
    required = draw(st.lists(st.sampled_from(sorted(occupied)), unique=True, max_size=wanted))
    return Side(pool, occupied, wanted, tuple(required))


@given(
    sides(Pool("host")),
    sides(Pool("floatingip")),
    st.integers(0, LAST_HOUR),
    st.integers(1, 4),
    st.integers(0, 1),
)
def test_what_can_be_had_is_planned_and_else_the_first_start_is_told(
    hosts, addresses, start, length, cleaning
):
    database = MemoryDatabase()
    for side in (hosts, addresses):
        database.transact(side.store)
    outcome = Calendars(database, FixedClock()).plan(
        {
            s.pool: PlanRequest(span(start, start + length), s.demands(), cleaning * HOUR)
            for s in (hosts, addresses)
        },
        Caller("user", "project"),
    )
    suitable = [
        at
        for at in range(start, 2 * LAST_HOUR)
        if all(s.suits(at, length, cleaning) for s in (hosts, addresses))
    ]
    event("at once" if suitable[0] == start else "later")
    if suitable[0] == start:
        assert isinstance(outcome, Plan)
        for side in (hosts, addresses):
            assert outcome.units(side.pool) == side.wanted
            assert set(outcome.resources(side.pool)) >= set(side.required)
    else:
        assert isinstance(outcome, Shortage)
        assert outcome.first_fit == START + timedelta(hours=suitable[0])
