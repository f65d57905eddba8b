"""Callers whose connection is lost at the very end, and transactions that no caller goes on with."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import Connection, event, text
from sqlalchemy.exc import OperationalError

from blazar.adapters.db import SqlDatabase
from blazar.adapters.db.engine import IDLE
from blazar.domain.errors import CloudUnavailable, OutcomeUnknown
from blazar.domain.resource import Pool
from blazar.service.ports import UnitOfWork

from .builders import NOW, host, lease
from .conftest import ON_SERVERS, SQL

OWN_ID = {"postgresql": "SELECT pg_backend_pid()", "mysql": "SELECT connection_id()"}


class Refused(Exception):
    """The work of a transaction is not to be done."""


class Cancelled(Exception):
    """What a driver tells of a statement that was cut off."""


KILL = {"postgresql": "SELECT pg_terminate_backend({})", "mysql": "KILL {}"}


@pytest.mark.parametrize("dialect", ON_SERVERS)
def test_a_connection_that_dies_in_the_commit_leaves_the_outcome_open(sql: SqlDatabase) -> None:
    dialect = sql.engine.dialect.name.replace("mariadb", "mysql")

    kills = [True]

    def kill(connection: object) -> None:
        if not kills or not kills.pop():
            return
        own = connection.execute(text(OWN_ID[dialect])).scalar_one()  # type: ignore[attr-defined]
        with sql.engine.connect() as other:
            other.exec_driver_sql(KILL[dialect].format(int(own)))
        time.sleep(0.1)  # the server takes a moment to do so, and does not tell when it is done

    event.listen(sql.engine, "commit", kill)
    value = lease("1")
    with pytest.raises(OutcomeUnknown) as raised:
        sql.transact(lambda u: u.leases.add(value, NOW))
    assert raised.value.fields["service"] == "database"
    with sql.read() as u:
        assert u.leases.get(value.id) is None
    event.remove(sql.engine, "commit", kill)
    sql.transact(lambda u: u.leases.add(value, NOW))


@pytest.mark.parametrize("dialect", SQL)
@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_transaction_whose_end_fails_is_not_left_open(sql: SqlDatabase, end: str) -> None:
    """A connection in the pool with an open transaction keeps its locks, and shows its changes to the next
    that reads on it. A commit that is cut off by KILL QUERY leaves it open on MariaDB."""
    value = lease("1")
    failures = [True]

    def cut_off(connection: Connection) -> None:
        if failures and failures.pop():
            raise OperationalError(end, {}, Cancelled())

    def work(u: UnitOfWork) -> None:
        u.leases.add(value, NOW)
        if end == "rollback":
            raise Refused

    event.listen(sql.engine, end, cut_off)
    with pytest.raises(Refused if end == "rollback" else CloudUnavailable):
        sql.transact(work)
    assert not failures
    with sql.read() as u:
        assert u.leases.get(value.id) is None
    sql.transact(lambda u: u.leases.add(value, NOW))


@pytest.mark.parametrize("dialect", ON_SERVERS)
def test_a_transaction_that_nobody_goes_on_with_frees_its_locks(sql: SqlDatabase) -> None:
    """As that of a manager that was suspended in the middle of it."""
    sql.transact(lambda u: u.resources.add(host("1"), NOW))

    def suspended(u: UnitOfWork) -> None:
        u.resources.touch(["1"], NOW)
        time.sleep(IDLE + 1)
        u.resources.touch(["1"], NOW)

    with pytest.raises(CloudUnavailable) as raised:
        sql.transact(suspended)
    assert not isinstance(raised.value, OutcomeUnknown)
    sql.transact(lambda u: u.resources.bump({"1": 0}, NOW))
    with sql.read() as u:
        assert u.resources.generations(Pool("host")) == {"1": 1}
