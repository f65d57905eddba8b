"""Is a transaction all or nothing, and does a reader see one moment?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from blazar.domain.errors import InvalidStatus, Stale
from blazar.domain.resource import Pool
from blazar.service.ports import Database, UnitOfWork

from .builders import NOW, host, lease, plain


def test_returns_what_the_work_returns(database: Database) -> None:
    assert database.transact(lambda u: u.outbox.depth()) == 0


def test_the_work_sees_what_it_wrote(database: Database) -> None:
    value = lease("1")

    def work(u: UnitOfWork) -> None:
        u.resources.add(host("1"), NOW)
        u.leases.add(value, NOW)
        u.resources.bump({"1": 0}, NOW)
        stored = u.leases.get(value.id)
        assert stored is not None
        u.leases.save(replace(stored, name="other"), stored, NOW)
        assert u.resources.generations(Pool("host")) == {"1": 1}
        ((_, allocations),) = u.resources.occupancy(Pool("host"))
        assert len(allocations) == 1

    database.transact(work)
    with database.read() as u:
        stored = u.leases.get(value.id)
    assert stored is not None
    assert plain(stored) == replace(value, name="other", revision=1)


@pytest.mark.parametrize("error", [InvalidStatus(reason="no"), Stale(), KeyError("x"), KeyboardInterrupt()])
def test_an_error_takes_everything_back_and_comes_through(database: Database, error: BaseException) -> None:
    old = lease("1")
    database.transact(lambda u: (u.resources.add(host("1"), NOW), u.leases.add(old, NOW)))

    def work(u: UnitOfWork) -> None:
        u.leases.add(lease("1"), NOW)
        u.leases.remove(old)
        u.resources.bump({"1": 0}, NOW)
        u.resources.add(host("2"), NOW)
        u.resources.add_properties("physical:host", ["gpu"], NOW)
        u.outbox.put("lease.create", {}, NOW)
        u.events.claim(old.events[0].id, "me", NOW, old.interval.end)
        raise error

    with pytest.raises(type(error)) as raised:
        database.transact(work)
    assert raised.value is error
    with database.read() as u:
        assert [plain(value) for value in u.leases.list()] == [old]
        assert u.resources.generations(Pool("host")) == {"1": 0}
        assert u.resources.private_properties("physical:host") == {}
        assert u.outbox.depth() == 0
        assert len(u.events.due(old.interval.end, 10)) == 3


def test_a_reader_sees_one_moment(database: Database) -> None:
    value = lease("1")
    with database.read() as u:
        assert list(u.leases.list()) == []
        database.transact(lambda w: (w.leases.add(value, NOW), w.resources.add(host("1"), NOW)))
        assert list(u.leases.list()) == []
        assert u.leases.get(value.id) is None
        assert list(u.resources.occupancy(Pool("host"))) == []
    with database.read() as u:
        assert u.leases.get(value.id) is not None


def test_what_is_written_while_reading_is_not_kept(database: Database) -> None:
    with database.read() as u:
        u.outbox.put("lease.create", {}, NOW)
    with database.read() as u:
        assert u.outbox.depth() == 0


def test_an_error_while_reading_comes_through(database: Database) -> None:
    with pytest.raises(LookupError), database.read() as u:
        raise LookupError(u.outbox.depth())
    assert database.transact(lambda u: u.outbox.depth()) == 0


def test_what_was_read_does_not_change_the_stored_values(database: Database) -> None:
    parameters = {"min": 1}
    value = lease("1")
    value = replace(value, reservations=(replace(value.reservations[0], parameters=parameters),))
    database.transact(lambda u: u.leases.add(value, NOW))
    parameters["min"] = 99
    with database.read() as u:
        stored = u.leases.get(value.id)
    assert stored is not None
    assert stored.reservations[0].parameters == {"min": 1}
