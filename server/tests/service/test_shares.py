"""Shares of leases: who may see what, what is told of them, and whatever comes between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from blazar.domain.errors import (
    Busy,
    InvalidInput,
    LeaseShareNotFound,
    NotFound,
    Stale,
    TooLate,
    TooManyLeaseShares,
)
from blazar.domain.lease.share import MOST_SHARES, LeaseShare, ShareRight
from blazar.service.interface import SharesInterface
from blazar.service.ports import LeaseQuery, UnitOfWork
from blazar.service.shares import ATTEMPTS, Shares

from .world import ALT, DEMO, World

READ, CHANGE = ShareRight.READ, ShareRight.CHANGE
OTHER = str(ALT.project_id)


@pytest.fixture
def world() -> World:
    return World(hosts=2)


def shares_of(world: World) -> SharesInterface:
    return Shares(world.database, world.kinds, world.clock)


def told(world: World) -> list[tuple[str, Any, Any, Any]]:
    """Return what is told of shares."""
    with world.database.read() as uow:
        found = [(each.event_type, each.payload) for each in uow.outbox.peek(1000)]
    return [
        (word, payload["shared_with"], payload["shared_right"], payload["shared_by"])
        for word, payload in found
        if "shared" in word
    ]


def test_each_change_is_told_and_nothing_else(world: World) -> None:
    lease, shares = world.create(), shares_of(world)
    made = shares.put(lease.id, OTHER, READ, DEMO)
    assert shares.put(lease.id, OTHER, READ, DEMO) == made
    world.advance(minutes=1)
    changed = shares.put(lease.id, OTHER, CHANGE, DEMO)
    assert changed == replace(made, right=CHANGE, updated_at=world.clock.now())
    assert shares.list(lease.id) == (changed,)
    shares.delete(lease.id, OTHER, ALT)
    assert told(world) == [
        ("lease.shared", OTHER, "read", DEMO.user_id),
        ("lease.shared", OTHER, "change", DEMO.user_id),
        ("lease.unshared", OTHER, "change", ALT.user_id),
    ]


def test_a_share_is_no_change_of_its_lease(world: World) -> None:
    lease, shares = world.lease(world.create()), shares_of(world)
    shares.put(lease.id, OTHER, CHANGE, DEMO)
    shares.delete(lease.id, OTHER, DEMO)
    assert world.lease(lease) == lease


def test_what_is_refused_has_no_effect(world: World) -> None:
    lease, shares = world.create(), shares_of(world)
    before = world.notifications()
    with pytest.raises(InvalidInput):
        shares.put(lease.id, lease.project_id, READ, DEMO)
    with pytest.raises(NotFound):
        shares.put("absent", OTHER, READ, DEMO)
    with pytest.raises(LeaseShareNotFound):
        shares.delete(lease.id, OTHER, DEMO)
    with pytest.raises(TooLate):
        shares.put(lease.id, OTHER, READ, replace(DEMO, deadline=world.in_minutes(-1)))
    assert shares.list(lease.id) == ()
    assert world.notifications() == before


def test_there_are_not_very_many(world: World) -> None:
    lease, shares = world.create(), shares_of(world)
    for number in range(MOST_SHARES):
        shares.put(lease.id, f"p{number}", READ, DEMO)
    with pytest.raises(TooManyLeaseShares):
        shares.put(lease.id, OTHER, READ, DEMO)
    shares.delete(lease.id, "p0", DEMO)
    assert shares.put(lease.id, OTHER, READ, DEMO).right is READ


def test_only_what_is_shared_with_a_project_is_found(world: World) -> None:
    shares = shares_of(world)
    first, second = world.create(), world.create("other")
    shares.put(second.id, OTHER, CHANGE, DEMO)
    shares.put(first.id, "another", READ, DEMO)
    found = shares.find_leases(LeaseQuery(10), OTHER)
    assert ([each.id for each in found.page.leases], found.rights) == ([second.id], {second.id: CHANGE})
    assert shares.get_right(second.id, OTHER) is CHANGE
    assert shares.get_right(first.id, OTHER) is None
    world.delete(second)
    assert not shares.find_leases(LeaseQuery(10), OTHER).page.leases
    assert shares.get_right(second.id, OTHER) is None


class Changing:
    """A database in which other requests change what a transaction has read, for some transactions."""

    def __init__(self, world: World, times: int) -> None:
        self._inner = world.database
        self._left = times

    def read(self) -> Any:
        return self._inner.read()

    def transact(self, work: Callable[[UnitOfWork], Any]) -> Any:
        def attempt(uow: UnitOfWork) -> Any:
            result = work(uow)
            self._left -= 1
            if self._left >= 0:
                raise Stale()
            return result

        return self._inner.transact(attempt)

    def takes_changes(self) -> bool:
        return True


def test_what_others_change_meanwhile_is_read_again(world: World) -> None:
    lease = world.create()

    def put(changes: int) -> LeaseShare:
        return Shares(Changing(world, changes), world.kinds, world.clock).put(lease.id, OTHER, READ, DEMO)

    with pytest.raises(Busy):
        put(ATTEMPTS)
    assert told(world) == []
    assert put(ATTEMPTS - 1).right is READ
    assert len(told(world)) == 1
