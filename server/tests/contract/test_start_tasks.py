"""What is started with leases: every database keeps it the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from blazar.adapters.db import SqlDatabase
from blazar.adapters.db.tables import start_tasks
from blazar.domain.errors import Stale
from blazar.domain.lease.start_task import StackRequest, StartTask, StartTaskStatus, StartTaskType
from blazar.service.ports import LONGEST_START_TASK_DELAY, Database

from .builders import lease as a_lease

NOW = datetime(2030, 1, 1, 8, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=2)
HOUR = timedelta(hours=1)
REQUEST = StackRequest({"heat_template_version": "2021-04-16"}, None, {"a": [1, "x"]}, {"b": {}}, 30)
TASK = StartTask("lease-1", "demo", "user", StartTaskType.STACK, request=REQUEST, trust_id="t", due=NOW)


def put(database: Database, *tasks: StartTask) -> None:
    for each in tasks:
        database.transact(lambda uow, t=each: uow.start_tasks.add(t, NOW))  # type: ignore[misc]


def get(database: Database, lease_id: str = "lease-1") -> StartTask | None:
    with database.read() as uow:
        return uow.start_tasks.get(lease_id)


def take(database: Database, token: str = "me", now: datetime = NOW) -> StartTask | None:
    return database.transact(lambda uow: uow.start_tasks.take("lease-1", token, now, now + LATER.resolution))


def test_it_is_kept_as_it_was_given(database: Database) -> None:
    webhook = StartTask(
        "lease-2", "demo", "user", StartTaskType.WEBHOOK, subscription_id="s", url="https://x", region="R"
    )
    put(database, TASK, webhook)
    assert get(database) == replace(TASK, created_at=NOW)
    assert get(database, "lease-2") == replace(webhook, created_at=NOW)
    assert get(database, "lease-3") is None
    with pytest.raises(Stale):
        put(database, TASK)


def test_what_is_due_is_ready_those_first_that_wait_longest(database: Database) -> None:
    put(
        database,
        TASK,
        replace(TASK, lease_id="lease-0", due=NOW - HOUR),
        replace(TASK, lease_id="lease-2", due=NOW + HOUR),
        replace(TASK, lease_id="lease-3", due=None),
    )
    with database.read() as uow:
        assert [each.lease_id for each in uow.start_tasks.ready(NOW, 10)] == ["lease-0", "lease-1"]
        assert [each.lease_id for each in uow.start_tasks.ready(NOW, 1)] == ["lease-0"]


def test_one_manager_has_it_at_a_time(database: Database) -> None:
    put(database, TASK)
    until = NOW + timedelta(minutes=5)
    assert database.transact(lambda uow: uow.start_tasks.take("lease-1", "me", NOW, until)) is not None
    assert take(database, "other", LATER) is None
    with database.read() as uow:
        assert not uow.start_tasks.ready(LATER, 10)
        assert uow.start_tasks.ready(until, 10)
    assert take(database, "other", until) is not None
    mine = replace(TASK, status=StartTaskStatus.CREATED, due=None)
    assert not database.transact(lambda uow: uow.start_tasks.settle(mine, "me", LATER))
    assert not database.transact(lambda uow: uow.start_tasks.keep(mine, "me", LATER))
    assert not database.transact(lambda uow: uow.start_tasks.remove("lease-1", "me"))
    assert database.transact(lambda uow: uow.start_tasks.remove("lease-1", "other"))
    assert get(database) is None


def test_what_a_clock_that_was_ahead_has_taken_is_free(database: Database) -> None:
    put(database, TASK)
    ahead = NOW + LONGEST_START_TASK_DELAY + timedelta(minutes=1)
    assert database.transact(lambda uow: uow.start_tasks.take("lease-1", "me", NOW, ahead)) is not None
    assert take(database, "other") is not None


@pytest.mark.parametrize("column", ["status", "type"])
def test_what_only_a_newer_version_knows_is_left_to_it(sql: SqlDatabase, column: str) -> None:
    put(sql, TASK)
    with sql.engine.begin() as connection:
        connection.execute(update(start_tasks).values({column: "NEWER"}))
    with sql.read() as uow:
        assert not uow.start_tasks.ready(NOW, 10)
        assert uow.start_tasks.get("lease-1") is not None
    assert take(sql) is None


def test_what_has_become_of_it_is_written(database: Database) -> None:
    put(database, TASK)
    assert take(database) is not None
    begun = replace(TASK, status=StartTaskStatus.CREATING, asked_at=NOW, due=NOW)
    assert database.transact(lambda uow: uow.start_tasks.keep(begun, "me", NOW))
    done = replace(
        begun,
        status=StartTaskStatus.LEFT,
        reason="x",
        request=None,
        trust_id=None,
        stack_id="id",
        attempts=3,
        ending_since=NOW,
        is_late=True,
        due=None,
    )
    assert database.transact(lambda uow: uow.start_tasks.settle(done, "me", LATER))
    assert get(database) == replace(done, created_at=NOW, updated_at=LATER)
    assert take(database) is None


def test_what_is_woken_meanwhile_is_due_at_once(database: Database) -> None:
    put(database, TASK)
    taken = take(database)
    assert taken is not None
    database.transact(lambda uow: uow.start_tasks.wake("lease-1", LATER))
    database.transact(lambda uow: uow.start_tasks.wake("no-such-lease", LATER))
    assert database.transact(
        lambda uow: uow.start_tasks.settle(replace(taken, due=NOW + HOUR, attempts=1), "me", LATER)
    )
    stored = get(database)
    assert stored is not None
    assert (stored.due, stored.revision, stored.attempts) == (LATER, 1, 1)


def test_what_is_over_goes_with_its_lease(database: Database) -> None:
    lease = a_lease()
    database.transact(lambda uow: uow.leases.add(lease, NOW))
    over = replace(TASK, due=None)
    put(database, replace(over, lease_id=lease.id), over, replace(TASK, lease_id="lease-2"))
    database.transact(lambda uow: uow.start_tasks.forget([lease.id, "lease-1", "lease-2", "lease-3"]))
    assert get(database, lease.id) is not None
    assert get(database, "lease-1") is None
    assert get(database, "lease-2") is not None


def test_a_lease_remembers_the_type(database: Database) -> None:
    lease = replace(a_lease(), start_task="stack")
    database.transact(lambda uow: uow.leases.add(lease, NOW))
    with database.read() as uow:
        stored = uow.leases.get(lease.id)
        assert stored is not None
        assert stored.start_task == "stack"
        assert [each.start_task for each in uow.leases.list(lease.project_id)] == ["stack"]
