"""Is a lease read as it was written, and is nothing written that was decided on old values?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from blazar.domain.errors import Stale
from blazar.domain.lease.event import EventStatus, EventType
from blazar.domain.lease.lease import Lease, LeaseKey, LeaseStatus, Reservation, ReservationStatus
from blazar.domain.resource import Usage
from blazar.domain.time import Interval
from blazar.service.ports import LONGEST_TEXT, Database, LeaseHeading, ListPage

from .builders import (
    HOUR,
    NOW,
    START,
    allocations_on,
    event_of,
    hours,
    lease,
    minutes,
    new_id,
    plain,
    with_event,
    with_reservation,
)

LATER = NOW + hours(1)


def add(database: Database, *leases: Lease) -> None:
    for index, value in enumerate(leases):
        at = NOW + minutes(index)
        told = database.transact(lambda u, value=value, at=at: u.leases.add(value, at))  # type: ignore[misc]
        assert told == read(database, value.id)


def read(database: Database, lease_id: str) -> Lease:
    with database.read() as u:
        value = u.leases.get(lease_id)
    assert value is not None
    return value


def save(database: Database, new: Lease, old: Lease) -> Lease:
    told = database.transact(lambda u: u.leases.save(new, old, LATER))
    assert told == read(database, old.id)
    return told


@pytest.fixture
def stored(database: Database) -> Lease:
    value = lease("1", "2")
    add(database, value)
    return read(database, value.id)


@pytest.mark.parametrize(
    "value",
    [
        lease("1", "2", "10"),
        lease(reservations=(), events=()),
        lease("1", usage=Usage({"VCPU": 4, "MEMORY_MB": 2048}), slots=3),
        lease(
            "1", name="Mittagessen für 🙂 und Ω", trust_id="t" * 32, degraded=True, status_reason="x" * 5000
        ),
        lease("1", name="x" * 255, status=LeaseStatus.ERROR, project_id="p" * 255, user_id="ü" * 255),
        with_reservation(
            lease("1"),
            status=ReservationStatus.ERROR,
            status_reason="why",
            missing_resources=True,
            resources_changed=True,
            parameters={"deep": [["and", ["=", "$a", "'\"\\\u2028"]]], "large": "x" * 100_000},
        ),
        with_event(
            lease("1"),
            EventType.START,
            status=EventStatus.IN_PROGRESS,
            due=START + minutes(3),
            attempts=4,
            reason="Nova",
        ),
    ],
    ids=["hosts", "empty", "amounts", "words", "long words", "reservation", "event"],
)
def test_reads_what_was_added(database: Database, value: Lease) -> None:
    add(database, value)
    assert plain(read(database, value.id)) == value


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        ("x" * LONGEST_TEXT, "x" * LONGEST_TEXT),
        ("x" * (LONGEST_TEXT + 1), "x" * (LONGEST_TEXT - 1) + "…"),
        ("🙂" * 70_000, "🙂" * (LONGEST_TEXT - 1) + "…"),
        ("half a \ud83d, and \0", "half a ?, and ?"),
    ],
    ids=["longest", "longer", "many bytes", "what no text column holds"],
)
def test_reasons_are_cut_to_what_every_database_holds(
    database: Database, stored: Lease, reason: str, kept: str
) -> None:
    def with_reasons(value: Lease, text: str) -> Lease:
        value = with_reservation(replace(value, status_reason=text), status_reason=text)
        return with_event(value, EventType.START, reason=text)

    add(database, with_reasons(lease("7"), reason))
    after = save(database, with_reasons(stored, reason), stored)
    assert plain(after) == replace(plain(with_reasons(stored, kept)), revision=1)


def test_stamps_everything_that_is_added(stored: Lease) -> None:
    children = (*stored.reservations, *stored.allocations, *stored.events)
    assert {child.created_at for child in (stored, *children)} == {NOW}
    assert {child.updated_at for child in (stored, *stored.reservations, *stored.events)} == {None}


def test_orders_allocations_by_resource_as_a_number(database: Database) -> None:
    value = lease("10", "2", "gpu-1", "1")
    add(database, value)
    assert [a.resource_id for a in read(database, value.id).allocations] == ["1", "2", "10", "gpu-1"]


def test_knows_no_other_lease(database: Database, stored: Lease) -> None:
    with database.read() as u:
        assert u.leases.get(new_id()) is None
        assert u.leases.get(stored.id.upper()) is None
        assert not u.leases.exists(new_id())
        assert not u.leases.exists(stored.id.upper())
        assert u.leases.exists(stored.id)


def test_an_id_is_used_once(database: Database, stored: Lease) -> None:
    with pytest.raises(Stale):
        add(database, replace(lease("9"), id=stored.id, reservations=(), events=()))
    assert read(database, stored.id) == stored


def test_lists_the_oldest_first(database: Database) -> None:
    first, second, third = lease("1"), lease("2", project_id="project-2"), lease("3")
    add(database, first, second, third)
    with database.read() as u:
        everything, mine, nothing = u.leases.list(), u.leases.list("project-1"), u.leases.list("Project-1")
    assert [plain(value) for value in everything] == [first, second, third]
    assert [plain(value) for value in mine] == [first, third]
    assert list(nothing) == []


def test_lists_those_of_one_moment_by_id(database: Database) -> None:
    values = [lease(str(n)) for n in range(5)]
    database.transact(lambda u: [u.leases.add(value, NOW) for value in values])
    with database.read() as u:
        assert [value.id for value in u.leases.list()] == sorted(value.id for value in values)


def pages(database: Database, limit: int, project_id: str | None = None) -> list[list[Lease]]:
    """The list in pages, each read in a transaction of its own, up to the first empty one."""
    found: list[list[Lease]] = []
    after: LeaseKey | None = None
    while True:
        with database.read() as u:
            page = list(u.leases.page(ListPage(limit, after), project_id))
        if not page:
            return found
        found.append(page)
        after = page[-1].key


def without_allocations(value: Lease) -> Lease:
    return replace(value, reservations=tuple(replace(r, allocations=()) for r in value.reservations))


@pytest.mark.parametrize("project_id", [None, "project-1", "project-2", "absent"])
def test_pages_are_the_list_in_parts(database: Database, project_id: str | None) -> None:
    values = [lease("1", "2", project_id=f"project-{1 + n // 5}") for n in range(8)]
    add(database, *values[:4])  # each at a moment of its own
    database.transact(lambda u: [u.leases.add(value, LATER) for value in values[4:]])  # all at one moment
    with database.read() as u:
        everything = [without_allocations(value) for value in u.leases.list(project_id)]
    for limit in (1, 3, 100):
        found = pages(database, limit, project_id)
        assert [value for page in found for value in page] == everything
        assert all(len(page) == limit for page in found[:-1])


def test_what_comes_and_goes_between_two_pages_moves_nothing_else(database: Database) -> None:
    first, second, third, new = (lease(str(n)) for n in range(4))
    add(database, first, second, third)
    with database.read() as u:
        (shown,) = u.leases.page(ListPage(1))
    database.transact(lambda u: u.leases.remove(shown))
    database.transact(lambda u: u.leases.add(new, LATER))
    with database.read() as u:
        rest = u.leases.page(ListPage(10, shown.key))
    assert [value.id for value in (shown, *rest)] == [first.id, second.id, third.id, new.id]


def test_finds_ids_by_status(database: Database) -> None:
    active, ended, failed = (
        lease(str(n), status=status)
        for n, status in enumerate((LeaseStatus.ACTIVE, LeaseStatus.TERMINATED, LeaseStatus.ERROR))
    )
    add(database, failed, ended, active)
    with database.read() as u:
        assert u.leases.ids_with_status([LeaseStatus.ACTIVE, LeaseStatus.ERROR]) == [failed.id, active.id]
        assert list(u.leases.ids_with_status([LeaseStatus.STARTING])) == []


def test_finds_which_reservations_are_of_leases_that_are_not_over(database: Database) -> None:
    leases = [lease(str(n), status=status) for n, status in enumerate(LeaseStatus)]
    add(database, *leases)
    ids = {r.id: each.status for each in leases for r in each.reservations}
    assert len(ids) >= len(leases)
    wanted = {i for i, status in ids.items() if status is not LeaseStatus.TERMINATED}
    with database.read() as u:
        assert u.leases.unfinished_reservations([*ids, "never"]) == wanted
        assert u.leases.unfinished_reservations([]) == frozenset()


# ----------------------------------------------------------------------------------------------------- saving


def test_saves_the_leases_own_fields(database: Database, stored: Lease) -> None:
    new = replace(
        stored,
        name="dinner",
        interval=Interval(START + hours(1), START + hours(9)),
        status=LeaseStatus.STARTING,
        status_reason="soon",
        degraded=True,
        trust_id="trust",
    )
    after = save(database, new, stored)
    assert after == replace(new, revision=1, updated_at=LATER)


def test_saves_a_changed_reservation_and_only_that(database: Database, stored: Lease) -> None:
    new = with_reservation(
        stored, status=ReservationStatus.ACTIVE, cloud_state={"aggregate": 8}, parameters={"min": 2}
    )
    after = save(database, new, stored)
    assert after == with_reservation(replace(new, revision=1, updated_at=LATER), updated_at=LATER)


def test_saves_an_event_whose_due_follows_its_time(database: Database, stored: Lease) -> None:
    new = with_event(stored, EventType.END, time=START + hours(2))
    after = save(database, new, stored)
    assert after == with_event(replace(new, revision=1, updated_at=LATER), EventType.END, updated_at=LATER)
    with database.read() as u:
        due = u.events.due(START + hours(2) - minutes(1), 10)
    assert EventType.END not in [event.event_type for event in due]


def test_a_due_of_its_own_stays_until_it_is_taken_back(database: Database, stored: Lease) -> None:
    postponed = save(
        database, with_event(stored, EventType.START, due=START + minutes(1), attempts=1), stored
    )
    assert event_of(postponed, EventType.START).due == START + minutes(1)
    again = save(database, with_event(postponed, EventType.START, due=None), postponed)
    assert event_of(again, EventType.START).due is None
    assert event_of(again, EventType.START).attempts == 1


def test_saves_added_moved_and_removed_allocations(database: Database, stored: Lease) -> None:
    reservation, interval = stored.reservations[0], Interval(START, START + hours(3))
    kept = replace(reservation.allocations[0], interval=interval, bound=True, slots=2)
    added = allocations_on(["3"], stored.id, reservation.id, interval)
    after = save(database, with_reservation(stored, allocations=(kept, *added)), stored)
    assert after.allocations == (kept, replace(added[0], created_at=LATER))
    assert after.updated_at == LATER
    assert after.reservations[0].updated_at is None


def test_saves_an_allocation_that_is_given_to_another_resource(database: Database, stored: Lease) -> None:
    one, two = stored.allocations
    after = save(database, with_reservation(stored, allocations=(one, replace(two, resource_id="7"))), stored)
    assert after.allocations == (one, replace(two, resource_id="7"))


def test_saves_added_and_removed_reservations_and_events(database: Database, stored: Lease) -> None:
    other = Reservation(new_id(), stored.id, new_id(), "virtual:instance", {"amount": 2})
    moved = tuple(replace(a, reservation_id=other.id) for a in stored.reservations[0].allocations)
    start, end, _ = stored.events
    warning = replace(event_of(stored, EventType.BEFORE_END), id=new_id())
    new = replace(stored, reservations=(replace(other, allocations=moved),), events=(end, start, warning))
    after = save(database, new, stored)
    assert plain(after) == replace(plain(new), revision=1)
    assert after.reservations[0].created_at == LATER
    assert [event.created_at for event in after.events] == [NOW, NOW, LATER]
    assert [event.updated_at for event in after.events] == [None, None, None]
    again = save(database, replace(after, events=(start,), reservations=()), after)
    assert (again.events, again.reservations) == ((start,), ())


def test_saving_nothing_new_proves_the_revision_only(database: Database, stored: Lease) -> None:
    assert save(database, stored, stored) == replace(stored, revision=1)


def test_the_moments_in_the_new_value_are_not_believed(database: Database, stored: Lease) -> None:
    after = save(database, replace(stored, created_at=LATER, updated_at=START, revision=77), stored)
    assert after == replace(stored, revision=1)


def test_saves_a_hundred_leases_of_changes_one_after_the_other(database: Database, stored: Lease) -> None:
    value = stored
    for n in range(100):
        value = save(database, replace(value, name=f"lease {n}"), value)
    assert (value.revision, value.name) == (100, "lease 99")


def test_does_not_save_over_somebody_elses_change(database: Database, stored: Lease) -> None:
    after = save(database, replace(stored, name="theirs"), stored)
    with pytest.raises(Stale):
        save(database, with_reservation(stored, allocations=()), stored)
    assert read(database, stored.id) == after


def test_does_not_save_what_is_gone(database: Database, stored: Lease) -> None:
    database.transact(lambda u: u.leases.remove(stored))
    with pytest.raises(Stale):
        database.transact(lambda u: u.leases.save(replace(stored, name="mine"), stored, LATER))
    with database.read() as u:
        assert u.leases.get(stored.id) is None


def test_removes_everything_that_belongs_to_it(database: Database, stored: Lease) -> None:
    other = lease("1")
    add(database, other)
    database.transact(lambda u: u.leases.remove(stored))
    with database.read() as u:
        assert u.leases.get(stored.id) is None
        assert [plain(value) for value in u.leases.list()] == [other]
        assert u.leases.unfinished_on(["1", "2"], START + hours(99)) == list(
            read(database, other.id).allocations
        )
        assert {event.lease_id for event in u.events.due(START + hours(99), 99)} == {other.id}


def test_does_not_remove_what_somebody_changed(database: Database, stored: Lease) -> None:
    after = save(database, replace(stored, name="theirs"), stored)
    with pytest.raises(Stale):
        database.transact(lambda u: u.leases.remove(stored))
    assert read(database, stored.id) == after


# -------------------------------------------------------------------------------------------- unfinished work


@pytest.mark.parametrize(
    ("lease_status", "reservation_status", "is_found"),
    [
        (LeaseStatus.PENDING, ReservationStatus.PENDING, True),
        (LeaseStatus.ACTIVE, ReservationStatus.ACTIVE, True),
        (LeaseStatus.TERMINATING, ReservationStatus.ACTIVE, True),
        (LeaseStatus.TERMINATING, ReservationStatus.DELETED, False),
        (LeaseStatus.TERMINATED, ReservationStatus.DELETED, False),
        (LeaseStatus.TERMINATED, ReservationStatus.PENDING, False),
        (LeaseStatus.TERMINATED, ReservationStatus.ERROR, True),
        (LeaseStatus.ERROR, ReservationStatus.PENDING, True),
        (LeaseStatus.ERROR, ReservationStatus.ERROR, True),
    ],
)
def test_unfinished_is_what_still_has_the_resource(
    database: Database, lease_status: LeaseStatus, reservation_status: ReservationStatus, is_found: bool
) -> None:
    value = with_reservation(lease("1", status=lease_status), status=reservation_status)
    add(database, value)
    with database.read() as u:
        found = u.leases.unfinished_on(["1"], START + hours(1))
    assert [allocation.id for allocation in found] == [a.id for a in value.allocations if is_found]


def test_surplus_is_stored_beside_the_allocations_and_is_unfinished(database: Database) -> None:
    value = lease("1", "2")
    (reservation,) = value.reservations
    kept, given_up = reservation.allocations
    some = replace(reservation, allocations=(kept,), surplus=(replace(given_up, slots=3, bound=True),))
    add(database, replace(value, reservations=(some,)))
    before = read(database, value.id)
    assert [a.id for a in before.reservations[0].surplus] == [given_up.id]

    def unfinished() -> set[str]:
        with database.read() as u:
            return {a.id for a in u.leases.unfinished_on(["1", "2"], START + hours(1))}

    assert unfinished() == {kept.id, given_up.id}
    with database.read() as u:
        assert u.leases.on_resources(["2"], value.interval) == []
    after = save(database, with_reservation(before, surplus=()), before)
    assert after.reservations[0].surplus == ()
    assert unfinished() == {kept.id}


def test_unfinished_ends_in_time_and_is_on_these_resources(database: Database) -> None:
    early, late = lease("1", "2", "3"), lease("1", length=hours(2))
    add(database, early, late)
    with database.read() as u:
        found = u.leases.unfinished_on(["2", "1", "8"], START + hours(1))
        assert [allocation.resource_id for allocation in found] == ["1", "2"]
        assert {allocation.lease_id for allocation in found} == {early.id}
        assert list(u.leases.unfinished_on(["1"], START + minutes(59))) == []
        assert list(u.leases.unfinished_on([], START + hours(9))) == []


def test_leases_of_kinds_that_are_not_enabled(database: Database) -> None:
    def of(resource_type: str, status: LeaseStatus) -> Lease:
        value = replace(lease("1"), status=status)
        others = tuple(replace(each, resource_type=resource_type) for each in value.reservations)
        return replace(value, reservations=others)

    ahead, under_way, failed = (
        of("licence:token", status) for status in (LeaseStatus.PENDING, LeaseStatus.ACTIVE, LeaseStatus.ERROR)
    )
    add(database, ahead, under_way, failed, of("licence:token", LeaseStatus.TERMINATED), lease("2"))
    (known,) = {each.resource_type for each in lease("2").reservations}
    with database.read() as u:
        found = u.leases.ids_of_other_kinds([known])
        assert list(found) == sorted([ahead.id, under_way.id, failed.id])
        assert list(u.leases.ids_of_other_kinds([known, "licence:token"])) == []
        assert len(u.leases.ids_of_other_kinds([])) == 4


# ----------------------------------------------------------------------------------------------- many at once


def test_saves_many_as_it_saves_one(database: Database) -> None:
    values = [lease("1"), lease("2", "3"), lease("4")]
    add(database, *values)
    with database.read() as u:
        stored = u.leases.get_many([value.id for value in reversed(values)] + ["absent"])
    assert [each.id for each in stored] == [value.id for value in values]
    first, second, third = stored
    moved = allocations_on(["9"], second.id, second.reservations[0].id, second.interval)
    new = [
        replace(first, degraded=True),
        replace(with_reservation(second, allocations=moved, missing_resources=True), degraded=True),
        with_event(third, EventType.END, attempts=1),
    ]
    database.transact(lambda u: u.leases.save_all(list(zip(new, stored, strict=True)), LATER))
    for expected, old in zip(new, stored, strict=True):
        found = read(database, old.id)
        assert plain(found) == plain(replace(expected, revision=old.revision + 1))
        assert found.updated_at == LATER


def test_saves_none_of_many_where_one_has_changed(database: Database) -> None:
    values = [lease("1"), lease("2")]
    add(database, *values)
    first, second = (read(database, value.id) for value in values)
    save(database, replace(second, name="other"), second)
    changes = [(replace(each, degraded=True), each) for each in (first, second)]
    with pytest.raises(Stale):
        database.transact(lambda u: u.leases.save_all(changes, LATER))
    assert not read(database, first.id).degraded


def test_finds_leases_ahead_on_resources(database: Database) -> None:
    hour = Interval(START, START + hours(1))
    inside, later = lease("1", "5"), lease("1", start=START + hours(1))
    before = lease("1", start=START - hours(1))
    elsewhere, active = lease("2"), lease("7", status=LeaseStatus.ACTIVE)
    starting, over = lease("7", status=LeaseStatus.STARTING), lease("1", status=LeaseStatus.ERROR)
    add(database, inside, later, before, elsewhere, active, starting, over)
    with database.read() as u:
        found = u.leases.on_resources(["1", "5", "7"], hour)
        assert list(u.leases.on_resources([], hour)) == []
    assert found == sorted([inside.id, active.id, starting.id])


def test_tells_headings_of_leases_that_are_there(database: Database) -> None:
    one, other = lease("1", status=LeaseStatus.ACTIVE), lease("1")
    add(database, one, other)
    with database.read() as u:
        found = u.leases.headings([one.id, "nothing"])
        assert u.leases.headings([]) == []
    assert found == [LeaseHeading(one.id, one.name, LeaseStatus.ACTIVE, one.project_id, one.user_id)]


def test_finds_degraded_leases_ahead(database: Database) -> None:
    ahead = [
        lease("1", degraded=True, status=status)
        for status in (LeaseStatus.PENDING, LeaseStatus.STARTING, LeaseStatus.ACTIVE)
    ]
    others = [lease("1", degraded=True, status=LeaseStatus.TERMINATED), lease("1")]
    add(database, *ahead, *others)
    with database.read() as u:
        assert u.leases.degraded() == sorted(each.id for each in ahead)


def test_finds_leases_that_start_soon(database: Database) -> None:
    last, first = lease("1", start=START + HOUR), lease("2", start=START + minutes(1))
    others = [lease("1", start=START), lease("1", start=START + HOUR + minutes(1))]
    others.append(lease("1", start=START + HOUR, status=LeaseStatus.ACTIVE))
    add(database, last, first, *others)
    with database.read() as u:
        assert list(u.leases.starting(START, START + HOUR)) == [first.id, last.id]


def test_what_leaves_a_lease_is_kept_apart_until_it_is_gone(database: Database) -> None:
    value = lease("1", "2")
    (stays,) = value.reservations
    leaving = replace(stays, id=new_id(), resource_id=new_id(), status=ReservationStatus.LEAVING)
    over = allocations_on(["3"], value.id, leaving.id, Interval(START - minutes(1), START), Usage(None), 1)
    surplus = tuple(replace(each, bound=True) for each in over)
    add(database, value)
    stored = read(database, value.id)
    leaving = replace(leaving, allocations=(), surplus=surplus)
    after = save(database, replace(stored, leaving=(leaving,)), stored)
    assert after.reservations == stored.reservations
    assert [(each.id, each.status, each.cloud_state) for each in after.leaving] == [
        (leaving.id, ReservationStatus.LEAVING, leaving.cloud_state)
    ]
    assert after.resource_ids == ("1", "2")
    with database.read() as u:
        (listed,) = u.leases.page(ListPage(10))
        assert [each.id for each in listed.reservations] == [stays.id]
        assert [a.reservation_id for a in u.leases.unfinished_on(["3"], START)] == [leaving.id]
        assert u.leases.unfinished_reservations([leaving.id]) == {leaving.id}
    gone = save(database, replace(after, leaving=()), after)
    assert gone.leaving == ()
    assert gone.reservations == stored.reservations
    with database.read() as u:
        assert not u.leases.unfinished_on(["3"], START)
        assert not u.leases.unfinished_reservations([leaving.id])


def test_what_was_about_to_join_a_lease_joins_it(database: Database, stored: Lease) -> None:
    """Its row changes from one that leaves to one of the lease's own."""
    (has,) = stored.reservations
    joining = replace(
        has, id=new_id(), resource_id=new_id(), status=ReservationStatus.LEAVING, allocations=()
    )
    expected = save(database, replace(stored, leaving=(joining,)), stored)
    (joining,) = expected.leaving
    joined = replace(joining, status=ReservationStatus.PENDING)
    after = save(database, replace(expected, leaving=(), reservations=(has, joined)), expected)
    assert [each.id for each in after.reservations] == [has.id, joining.id]
    assert after.leaving == ()
