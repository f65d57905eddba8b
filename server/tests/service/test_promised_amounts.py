"""Whatever is asked for, changed and deleted at random: of ports, volumes and networks never more is promised
than there is, and what fits is not refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from effort import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st

from blazar.domain.errors import BlazarError
from blazar.domain.lease.lease import Lease
from blazar.service.commands import ReservationChange, ReservationRequest

from .world import World, networks, ports, volumes

THERE = 10
LATEST = 12
"""No lease ends later than so many hours from the start."""


@dataclass(frozen=True)
class Amounts:
    """A kind of which ``THERE`` units are there, and how one asks for some of them."""

    register: Callable[[World], object]
    request: Callable[[int], ReservationRequest]
    changed: Callable[[int], Mapping[str, Any]]


KINDS = {
    "network:port": Amounts(lambda w: w.register_ports(THERE), lambda n: ports(n), lambda n: {"amount": n}),
    "storage:volume": Amounts(
        lambda w: w.register_volumes(THERE, THERE),
        lambda n: volumes(gigabytes=n, volumes=1),
        lambda n: {"gigabytes": n},
    ),
    "network": Amounts(
        lambda w: w.register_segments(THERE),
        lambda n: networks(amount=n, physical_network="physnet1"),
        lambda n: {"amount": n},
    ),
}
HOURS = (
    st.tuples(st.integers(1, LATEST - 1), st.integers(1, LATEST)).map(sorted).filter(lambda h: h[0] < h[1])
)
ACTS = st.lists(
    st.tuples(st.sampled_from(("create", "create", "change", "delete")), HOURS, st.integers(1, THERE + 1)),
    min_size=1,
    max_size=12,
)


@dataclass(frozen=True)
class Promise:
    """What an answer has promised: from one hour to another so many units."""

    first: int
    last: int
    units: int


def fits(promises: Mapping[str, Promise], wanted: Promise) -> bool:
    """Whether there are as many beside the others, hour by hour."""
    return all(
        sum(each.units for each in promises.values() if each.first <= hour < each.last) + wanted.units
        <= THERE
        for hour in range(wanted.first, wanted.last)
    )


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(80), deadline=None)
@given(acts=ACTS)
def test_never_more_is_promised_than_there_is_and_what_fits_is_promised(kind: str, acts: list[Any]) -> None:
    amounts, world = KINDS[kind], World(hosts=0)
    amounts.register(world)
    leases: dict[str, Lease] = {}
    promises: dict[str, Promise] = {}
    for act, (first, last), units in acts:
        wanted = Promise(first, last, units)
        if act == "create":
            lease = tried(
                lambda wanted=wanted: world.reserve(
                    amounts.request(wanted.units), start=60 * wanted.first, end=60 * wanted.last
                )
            )
            assert (lease is not None) is fits(promises, wanted), (promises, wanted)
            if lease is not None:
                leases[lease.id], promises[lease.id] = lease, wanted
            event(f"created: {lease is not None}")
            continue
        if not leases:
            continue
        lease_id = sorted(leases, key=lambda each: leases[each].interval.start)[units % len(leases)]
        if act == "delete":
            world.delete(leases.pop(lease_id))
            del promises[lease_id]
            continue
        others = {name: each for name, each in promises.items() if name != lease_id}
        wanted = Promise(promises[lease_id].first, promises[lease_id].last, units)
        (reservation,) = leases[lease_id].reservations
        change = ReservationChange(reservation.id, dict(amounts.changed(units)))
        changed = tried(
            lambda lease_id=lease_id, change=change: world.update(leases[lease_id], reservations=(change,))
        )
        assert (changed is not None) is fits(others, wanted), (others, wanted)
        if changed is not None:
            leases[lease_id], promises[lease_id] = changed, wanted
        event(f"changed: {changed is not None}")
    assert {lease.id for lease in world.leases.list(None)} == set(promises)


def tried(ask: Callable[[], Lease]) -> Lease | None:
    try:
        return ask()
    except BlazarError as refusal:
        assert "Not enough" in refusal.message, refusal
        return None
