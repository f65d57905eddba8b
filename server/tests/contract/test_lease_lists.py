"""Do all databases find the same leases in the same order, page by page, whatever else comes and goes?"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from effort import examples

from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.service.ports import Database, LeasePage, LeaseQuery, LeaseSort
from blazar.service.ports.lease_lists import is_asked_for, lease_place

from .builders import NOW, START, hours, lease, minutes

NAMES = ("a", "A", "b", "ä", "Z", "a b", "a-b", "ab", "_", "zz")
STATUSES = (LeaseStatus.PENDING, LeaseStatus.ACTIVE, LeaseStatus.TERMINATED)
FILTERS: Sequence[Mapping[str, Any]] = (
    {},
    {"project_id": "project-1"},
    {"project_id": "absent"},
    {"name": "a"},
    {"name": "a", "project_id": "project-1"},
    {"statuses": (LeaseStatus.ACTIVE,)},
    {"statuses": (LeaseStatus.ACTIVE, LeaseStatus.PENDING), "project_id": "project-1"},
    {"statuses": STATUSES, "name": "ab"},
    {"starts_after": START + hours(2)},
    {"starts_before": START + hours(2), "ends_after": START + hours(2)},
    {"ends_before": START + hours(4), "project_id": "project-2"},
    {"resource_type": "virtual:instance"},
    {"resource_type": "physical:host", "statuses": (LeaseStatus.PENDING,), "starts_after": START + hours(1)},
)


def made(random_: random.Random) -> Lease:
    """A lease that has much in common with others."""
    value = lease(
        start=START + hours(random_.randrange(5)),
        length=hours(random_.randrange(1, 3)),
        name=random_.choice(NAMES),
        project_id=f"project-{random_.randrange(1, 3)}",
        status=random_.choice(STATUSES),
    )
    if random_.random() < 0.3:
        kind = "virtual:instance"
        value = replace(value, reservations=tuple(replace(r, resource_type=kind) for r in value.reservations))
    return value


def add(database: Database, random_: random.Random, count: int) -> Sequence[Lease]:
    """Add so many leases, at one of a few moments."""
    moment = NOW + minutes(random_.randrange(3))
    values = [made(random_) for _ in range(count)]
    return database.transact(lambda u: [u.leases.add(value, moment) for value in values])


def remove(database: Database, value: Lease) -> None:
    database.transact(lambda u: u.leases.remove(value))


@pytest.fixture
def stored(database: Database) -> Sequence[Lease]:
    random_ = random.Random(11)
    return [lease for _ in range(8) for lease in add(database, random_, 5)]


def pages(database: Database, query: LeaseQuery) -> Iterator[LeasePage]:
    """The pages of the list, each read in a transaction of its own."""
    page = LeasePage((), query.after)
    while True:
        with database.read() as u:
            page = u.leases.find(replace(query, after=page.next))
        yield page
        if page.next is None:
            return


def expected(leases: Sequence[Lease], query: LeaseQuery) -> Sequence[str]:
    found = [each for each in leases if is_asked_for(each, query)]
    found.sort(key=lambda each: lease_place(each, query.sort), reverse=query.descending)
    return [each.id for each in found]


def ids(found: Sequence[LeasePage]) -> Sequence[str]:
    return [lease.id for page in found for lease in page.leases]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("sort", LeaseSort)
def test_pages_are_the_list_in_parts(
    database: Database, stored: Sequence[Lease], sort: LeaseSort, descending: bool
) -> None:
    for filters in (*FILTERS, {"ids": tuple(each.id for each in stored[::3])}):
        for limit, scan in ((1, 2), (3, 1000), (4, 7), (100, 1000), (100, 10)):
            query = LeaseQuery(limit, sort, descending, scan=scan, **filters)
            found = list(pages(database, query))
            assert ids(found) == expected(stored, query), query
            assert all(len(page.leases) <= limit for page in found)
            if scan == 1000:
                assert all(len(page.leases) == limit for page in found[:-1])
                assert len(found[-1].leases) > 0 or len(found) == 1


def test_leases_come_whole_but_for_their_allocations(database: Database, stored: Sequence[Lease]) -> None:
    value = lease("1", "2", name="whole")
    database.transact(lambda u: u.leases.add(value, NOW))
    with database.read() as u:
        (found,) = u.leases.find(LeaseQuery(5, name="whole")).leases
        whole = u.leases.get(value.id)
    assert whole is not None
    assert found == replace(whole, reservations=tuple(replace(r, allocations=()) for r in whole.reservations))


def test_an_interval_is_half_open(database: Database) -> None:
    """What starts before its end and ends after its start is in it."""
    values = [lease(start=START + hours(n), name=str(n)) for n in range(4)]
    database.transact(lambda u: [u.leases.add(value, NOW) for value in values])
    query = LeaseQuery(9, LeaseSort.NAME, starts_before=START + hours(3), ends_after=START + hours(1))
    with database.read() as u:
        assert [found.name for found in u.leases.find(query).leases] == ["1", "2"]
        within = LeaseQuery(9, starts_after=START + hours(1), ends_before=START + hours(3))
        assert {found.name for found in u.leases.find(within).leases} == {"1", "2"}


def test_names_are_compared_to_the_letter(database: Database) -> None:
    values = [lease(name=name) for name in ("x", "X", "x ", "xx")]
    database.transact(lambda u: [u.leases.add(value, NOW) for value in values])
    with database.read() as u:
        for value in values:
            assert [found.id for found in u.leases.find(LeaseQuery(9, name=value.name)).leases] == [value.id]


@pytest.mark.parametrize("seed", range(examples(12)))
def test_what_stays_is_met_once_whatever_comes_and_goes(database: Database, seed: int) -> None:
    random_ = random.Random(seed)
    there = {each.id: each for _ in range(4) for each in add(database, random_, 8)}
    query = LeaseQuery(
        random_.randrange(1, 9),
        random_.choice(list(LeaseSort)),
        random_.random() < 0.5,
        scan=random_.randrange(1, 20),
        **random_.choice(FILTERS),
    )
    stay, came, met = set(there), dict(there), list[str]()
    for page in pages(database, query):
        met += (each.id for each in page.leases)
        gone = random_.sample(sorted(there), k=min(len(there), random_.randrange(4)))
        for id_ in {*gone, *(each.id for each in page.leases[-1:] if random_.random() < 0.5)} & set(there):
            remove(database, there.pop(id_))
            stay.discard(id_)
        if len(came) < 90:
            new = {each.id: each for each in add(database, random_, random_.randrange(4))}
            there, came = there | new, came | new
    assert len(met) == len(set(met))
    asked_for = set(expected(list(came.values()), query))
    assert set(met) <= asked_for
    assert asked_for & stay <= set(met)
