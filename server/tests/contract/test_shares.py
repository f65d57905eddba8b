"""Shares of leases: how they are kept, found, and gone with their leases."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from blazar.domain.errors import Stale
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.share import LeaseShare, ShareRight
from blazar.service.ports import Database, LeaseQuery
from blazar.service.ports.lease_lists import lease_place

from .builders import NOW, hours, lease, new_id
from .test_lease_lists import STATUSES, add, pages

OTHER, THIRD = "project-2", "project-3"


def stored_lease(database: Database) -> Lease:
    return database.transact(lambda u: u.leases.add(lease(), NOW))


def share(database: Database, of: Lease, project_id: str = OTHER, right: str = "read") -> LeaseShare:
    value = LeaseShare(of.id, project_id, ShareRight(right), "user-1")
    return database.transact(lambda u: u.shares.add(value, of, NOW + hours(1)))


def shares(database: Database, of: Lease) -> Sequence[LeaseShare]:
    with database.read() as u:
        return list(u.shares.of_lease(of.id))


def test_they_are_found_as_they_were_stored(database: Database) -> None:
    ours, another = stored_lease(database), stored_lease(database)
    third, second = share(database, ours, THIRD, "change"), share(database, ours)
    assert (second.created_at, second.updated_at) == (NOW + hours(1), None)
    assert shares(database, ours) == [second, third]
    assert shares(database, another) == []
    with database.read() as u:
        assert list(u.shares.of_leases([another.id, new_id(), ours.id])) == [second, third]
        assert u.shares.rights([ours.id, another.id], THIRD) == {ours.id: ShareRight.CHANGE}
        assert u.shares.rights([another.id, new_id()], OTHER) == {}
        assert u.shares.rights([ours.id], "project") == {}


def test_a_lease_is_shared_with_a_project_once(database: Database) -> None:
    ours = stored_lease(database)
    only = share(database, ours)
    with pytest.raises(Stale):
        share(database, ours, right="change")
    with pytest.raises(Stale):
        share(database, lease())
    assert shares(database, ours) == [only]


def test_its_right_is_changed(database: Database) -> None:
    ours = stored_lease(database)
    before, third = share(database, ours), share(database, ours, THIRD)
    wanted = replace(before, right=ShareRight.CHANGE, user_id="user-2")
    changed = database.transact(lambda u: u.shares.save(wanted, NOW + hours(2)))
    assert changed == replace(wanted, updated_at=NOW + hours(2))
    assert shares(database, ours) == [changed, third]
    with pytest.raises(Stale):
        database.transact(lambda u: u.shares.save(replace(before, project_id="absent"), NOW))


def test_it_is_withdrawn(database: Database) -> None:
    ours = stored_lease(database)
    share(database, ours)
    third = share(database, ours, THIRD)
    database.transact(lambda u: u.shares.remove(ours.id, OTHER))
    assert shares(database, ours) == [third]
    with pytest.raises(Stale):
        database.transact(lambda u: u.shares.remove(ours.id, OTHER))


def test_shares_go_with_their_lease(database: Database) -> None:
    ours, over = stored_lease(database), stored_lease(database)
    for each in (ours, over):
        share(database, each)
        share(database, each, THIRD)
    database.transact(lambda u: u.leases.remove(ours))
    assert shares(database, ours) == []
    assert len(shares(database, over)) == 2
    with database.read() as u:
        assert list(u.leases.find(LeaseQuery(10, shared_with=OTHER)).leases) == [without_parts(over)]


def without_parts(value: Lease) -> Lease:
    """Return the lease as lists have it."""
    return replace(value, reservations=tuple(replace(r, allocations=()) for r in value.reservations))


def test_a_share_leaves_its_lease_as_it_is(database: Database) -> None:
    ours = stored_lease(database)
    share(database, ours)
    with database.read() as u:
        assert u.leases.get(ours.id) == ours


@pytest.mark.parametrize("descending", [False, True], ids=["first", "last"])
@pytest.mark.parametrize(
    "conditions",
    [
        {},
        {"project_id": "project-1"},
        {"name": "a"},
        {"statuses": (LeaseStatus.ACTIVE,)},
        {"resource_type": "virtual:instance", "statuses": STATUSES},
    ],
    ids=str,
)
def test_shared_leases_are_listed_by_their_age_page_by_page(
    database: Database, conditions: dict[str, object], descending: bool
) -> None:
    """Whenever they were shared."""
    random_ = random.Random(7)
    made = [each for _ in range(8) for each in add(database, random_, 5)]
    for each in random_.sample(made, 25):
        share(database, each, random_.choice([OTHER, THIRD, "project-4"]))
        if random_.random() < 0.3:
            share(database, each, "project-5")
    asked = LeaseQuery(3, descending=descending, shared_with=THIRD, **conditions)  # type: ignore[arg-type]
    with database.read() as u:
        found = u.leases.find(replace(asked, shared_with=None, limit=100)).leases
        rights = u.shares.rights([each.id for each in found], THIRD)
    expected = [each.id for each in found if each.id in rights]
    assert [each.id for page in pages(database, asked) for each in page.leases] == expected
    assert [each.id for page in pages(database, replace(asked, scan=2)) for each in page.leases] == expected


def test_a_page_may_begin_at_any_shared_lease(database: Database) -> None:
    random_ = random.Random(3)
    made = [each for _ in range(3) for each in add(database, random_, 2)]
    for each in made:
        share(database, each)
    asked = LeaseQuery(10, shared_with=OTHER)
    with database.read() as u:
        everything = [each.id for each in u.leases.find(asked).leases]
        third = u.leases.find(replace(asked, ids=(everything[2],))).leases[0]
        rest = u.leases.find(replace(asked, after=lease_place(third, asked.sort))).leases
        assert [each.id for each in rest] == everything[3:]
        assert not u.leases.find(replace(asked, ids=(everything[0],), shared_with=THIRD)).leases
    assert sorted(everything) == sorted(each.id for each in made)
