"""Do the migrations make the schema that the code expects, from nothing and from every older one, keeping all
data?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, text

from blazar.adapters.db import SqlDatabase
from blazar.adapters.db.schema import alembic_config, current, head, require, upgrade
from blazar.adapters.db.tables import metadata
from blazar.cmd import db_manage
from blazar.cmd.db_manage import main
from blazar.domain.errors import CloudUnavailable
from blazar.domain.lease.event import EventStatus, EventType
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.resource import Pool
from blazar.domain.time import Interval
from blazar.service import retention

from .builders import NOW, START, host, hours, lease, minutes

RELEASED = ScriptDirectory.from_config(alembic_config())
REVISIONS = [script.revision for script in reversed(list(RELEASED.walk_revisions()))]

ROWS_OF_0001 = (
    "INSERT INTO leases VALUES ('lease', 'old 🙂', 'user', 'project', '2030-01-02 00:00:00', "
    "'2030-01-02 01:00:00', 'ACTIVE', NULL, {false}, 'trust', 3, 'event', 'token', "
    "'2030-01-01 10:00:00.250000', '2030-01-01 09:00:00.000001', NULL)",
    "INSERT INTO reservations VALUES ('reservation', 'lease', 0, 'res', 'physical:host', "
    "'{{\"min\":1}}', 'active', NULL, {false}, {false}, '{{\"aggregate\":4}}', '2030-01-01 09:00:00', NULL)",
    "INSERT INTO allocations VALUES ('allocation', 'lease', 'reservation', '7', '2030-01-02 00:00:00', "
    "'2030-01-02 01:00:00', '{{\"VCPU\":2}}', 3, {true}, '2030-01-01 09:00:00')",
    "INSERT INTO events VALUES ('event', 'lease', 0, 'end_lease', '2030-01-02 01:00:00', "
    "'2030-01-02 01:05:00', 'UNDONE', 1, 'Nova', '2030-01-01 09:00:00', NULL)",
    "INSERT INTO resources VALUES ('7', 'host', 'compute-7', '{{\"vcpus\":4}}', "
    '\'{{"gpu":"A100"}}\', \'["GOLD"]\', \'{{"VCPU":[4,2]}}\', {true}, 12, '
    "'2030-01-01 09:00:00', '2030-01-01 08:00:00', NULL)",
    "INSERT INTO resource_properties VALUES ('property', 'physical:host', 'gpu', {true}, "
    "'2030-01-01 09:00:00', NULL)",
    "INSERT INTO outbox VALUES (41, 'lease.create', '{{}}', '2030-01-01 09:00:00')",
)


@pytest.fixture
def empty(dialect: str, empty_database: Callable[[str], URL]) -> Iterator[SqlDatabase]:
    """A database without any table."""
    database = SqlDatabase(empty_database(dialect))
    yield database
    database.close()


def insert_rows_of_0001(connection: Connection) -> None:
    words = {"true": "1", "false": "0"}
    if connection.dialect.name == "postgresql":
        words = {"true": "true", "false": "false"}
    for statement in ROWS_OF_0001:
        connection.exec_driver_sql(statement.format(**words))


def differences(database: SqlDatabase) -> list[Any]:
    with warnings.catch_warnings(), database.engine.connect() as connection:
        # alembic cannot compare the expression of a column that the database fills
        warnings.filterwarnings("ignore", "Computed default on resources.digits")
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        return list(compare_metadata(context, metadata))


def test_the_revisions_are_one_line() -> None:
    assert RELEASED.get_heads() == [head()] == [REVISIONS[-1]]


def test_every_table_has_a_primary_key() -> None:
    """Galera needs them."""
    assert all(list(table.primary_key) for table in metadata.tables.values())


def test_the_migrated_schema_is_the_one_of_the_code(empty: SqlDatabase) -> None:
    assert len(differences(empty)) > 0
    upgrade(empty.engine)
    assert differences(empty) == []
    assert current(empty.engine) == head()


def test_upgrading_again_changes_nothing(empty: SqlDatabase) -> None:
    upgrade(empty.engine)
    upgrade(empty.engine)
    assert differences(empty) == []


@pytest.mark.by_turns(3)
@pytest.mark.parametrize("revision", REVISIONS)
def test_every_revision_keeps_the_data(empty: SqlDatabase, revision: str) -> None:
    """Rows of the first revision are taken to this one, and from there to the newest."""
    upgrade(empty.engine, "0001")
    with empty.engine.begin() as connection:
        insert_rows_of_0001(connection)
    upgrade(empty.engine, revision)
    assert current(empty.engine) == revision
    upgrade(empty.engine)
    with empty.read() as u:
        (lease,) = u.leases.list()
        ((registration, allocations),) = u.resources.occupancy(Pool("host"))
        properties, notifications = u.resources.private_properties("physical:host"), u.outbox.peek(5)
        assert u.events.next_due(NOW) == START + hours(1) + minutes(5)
        assert u.events.due(START + hours(2), 5) == list(lease.events)
    assert (lease.name, lease.revision, lease.trust_id) == ("old 🙂", 3, "trust")
    assert lease.created_at is not None
    assert lease.created_at.microsecond == 1
    assert (lease.reservations[0].parameters, lease.reservations[0].cloud_state) == (
        {"min": 1},
        {"aggregate": 4},
    )
    assert tuple(allocations) == lease.allocations
    assert (lease.allocations[0].amounts, lease.allocations[0].bound) == ({"VCPU": 6}, True)
    assert (registration.name, registration.generation, registration.traits) == ("compute-7", 12, {"GOLD"})
    assert registration.cloud_id is None
    assert properties["gpu"].private
    assert [notification.id for notification in notifications] == [41]
    empty.transact(lambda u: u.leases.remove(lease))


def test_the_version_before_works_on_the_newest_schema(empty: SqlDatabase) -> None:
    """Hosts that it registers have no cloud_id, and one that it changes keeps its own."""
    upgrade(empty.engine)
    row = {
        "pool": "host",
        "facts": {},
        "capabilities": {},
        "traits": [],
        "inventory": {},
        "generation": 1,
        "reservable": True,
        "touched_at": NOW,
        "failure_reason": None,
        "failed_at": None,
        "back_at": None,
        "created_at": NOW,
        "updated_at": None,
    }
    resources, known = metadata.tables["resources"], host("1", cloud_id="uuid-1")
    empty.transact(lambda u: u.resources.add(known, NOW))
    with empty.engine.begin() as connection:
        for name in ("2", "3"):
            connection.execute(resources.insert(), {**row, "id": name, "name": f"compute-{name}"})
        mine = resources.c.id == "1"
        connection.execute(resources.update().where(mine).values(row))
    with empty.read() as u:
        found = {each.id: each.cloud_id for each in u.resources.list(Pool("host"))}
    assert found == {"1": "uuid-1", "2": None, "3": None}


@pytest.mark.parametrize("dialect", [pytest.param("mariadb", marks=pytest.mark.servers)])
def test_tables_do_not_follow_the_servers_charset(empty: SqlDatabase) -> None:
    upgrade(empty.engine)
    query = (
        "SELECT DISTINCT engine, table_collation FROM information_schema.tables "
        "WHERE table_schema = database()"
    )
    with empty.engine.connect() as connection:
        ours = f"{query} AND table_name != 'alembic_version'"
        assert connection.execute(text(ours)).all() == [("InnoDB", "utf8mb4_bin")]


@pytest.mark.parametrize("url", ["sqlite:///x.db", "postgresql://x/y", "mysql://x/y", "mariadb://x/y"])
def test_the_sql_can_be_had_without_a_database(url: str, tmp_path: Path) -> None:
    database = SqlDatabase(url)
    config = alembic_config(database.engine)
    output = config.output_buffer = StringIO()
    command.upgrade(config, "head", sql=True)
    for name in metadata.tables:
        assert f"CREATE TABLE {name} " in output.getvalue()
    assert ("COLLATE utf8mb4_bin" in output.getvalue()) == url.startswith(("mysql", "mariadb"))
    database.close()


# ------------------------------------------------------------------------------------------------
# blazar-db-manage


class Program:
    """blazar-db-manage on one database."""

    def __init__(self, configuration: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._configuration = configuration
        self._capsys = capsys

    def run(self, *arguments: str) -> str:
        """What it prints when it succeeds."""
        assert main(["--config-file", str(self._configuration), *arguments]) == 0
        return self._capsys.readouterr().out

    def fail(self, *arguments: str, code: int = 1) -> str:
        """What it says when it does not."""
        assert main(["--config-file", str(self._configuration), *arguments]) == code
        captured = self._capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        return captured.err


@pytest.fixture
def program(empty: SqlDatabase, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Program:
    configuration = tmp_path / "blazar.conf"
    url = empty.engine.url.render_as_string(hide_password=False)
    configuration.write_text(f"[database]\nconnection = {url}\n")
    return Program(configuration, capsys)


def test_upgrade_goes_to_the_head(empty: SqlDatabase, program: Program) -> None:
    assert head() not in program.run("current")
    told = program.run("upgrade")
    assert all(f"{revision}: " in told for revision in REVISIONS)
    assert f"{head()} (head)" in program.run("current")
    assert program.run("upgrade", "head") == ""
    assert differences(empty) == []


def test_upgrade_by_steps(empty: SqlDatabase, program: Program) -> None:
    program.run("upgrade", "--delta", "1")
    assert current(empty.engine) == REVISIONS[0]
    program.run("upgrade", REVISIONS[0])
    assert "both" in program.fail("upgrade", "--delta", "1", "head")


def test_upgrade_can_print_the_sql(empty: SqlDatabase, program: Program) -> None:
    assert "CREATE TABLE leases" in program.run("upgrade", "--sql")
    assert current(empty.engine) is None


@pytest.mark.parametrize(
    "arguments",
    [
        ["downgrade"],
        ["downgrade", "--sql", "0001"],
        ["downgrade", "--delta", "1"],
        ["upgrade", "--delta", "-1"],
    ],
)
def test_there_is_no_way_down(empty: SqlDatabase, program: Program, arguments: list[str]) -> None:
    program.run("upgrade")
    assert "no way down" in program.fail(*arguments)
    assert current(empty.engine) == head()


def test_the_start_of_a_lease_in_error_is_retried(empty: SqlDatabase, program: Program) -> None:
    program.run("upgrade")
    failed = lease("1")
    start = replace(failed.events[0], status=EventStatus.ERROR, attempts=40, reason="no")
    failed = replace(
        failed,
        interval=Interval(failed.interval.start, failed.interval.end.replace(year=2099)),
        status=LeaseStatus.ERROR,
        events=(start, *failed.events[1:]),
    )
    assert start.event_type is EventType.START
    empty.transact(lambda u: u.leases.add(failed, NOW))
    assert "is STARTING" in program.run("retry-lease", failed.id)
    with empty.read() as u:
        stored = u.leases.get(failed.id)
    assert stored is not None
    assert (stored.status, stored.events[0].status) == (LeaseStatus.STARTING, EventStatus.UNDONE)
    assert "only one whose start failed" in program.fail("retry-lease", failed.id)
    assert "not found" in program.fail("retry-lease", "no-such-lease").lower()


def test_leases_that_were_over_long_ago_are_purged(empty: SqlDatabase, program: Program) -> None:
    program.run("upgrade")
    leases = [lease("1", start=START.replace(year=year)) for year in (2001, 2002, 2090)]
    ended = [
        replace(value, status=LeaseStatus.TERMINATED, reservations=(), events=()) for value in leases[:2]
    ]
    empty.transact(lambda u: [u.leases.add(value, NOW.replace(year=2000)) for value in (*ended, leases[2])])

    def stored() -> int:
        with empty.read() as u:
            return len(u.leases.list())

    assert program.run("purge", "--older-than", "30", "--dry-run") == (
        "2 leases are over for more than 30 days. Nothing was removed.\n"
    )
    assert stored() == 3
    assert program.run("purge", "--older-than", "30") == (
        "2 leases were removed that were over for more than 30 days.\n"
    )
    assert stored() == 1
    assert program.run("purge", "--older-than", "30").startswith("0 leases were removed")


def test_a_long_purge_tells_how_far_it_is(
    empty: SqlDatabase, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(db_manage, "TELL_EVERY", 2)
    monkeypatch.setattr(retention, "BATCH", 1)
    program.run("upgrade")
    ended = [
        replace(
            lease(start=START.replace(year=2001)), status=LeaseStatus.TERMINATED, reservations=(), events=()
        )
        for _ in range(5)
    ]
    empty.transact(lambda u: [u.leases.add(value, NOW.replace(year=2000)) for value in ended])
    assert program.run("purge", "--older-than", "1").splitlines() == [
        "2 of 5 leases",
        "4 of 5 leases",
        "5 leases were removed that were over for more than 1 days.",
    ]


@pytest.mark.parametrize("days", ["0", "-1", "x", "36501", "1.5"])
def test_a_purge_of_no_days_is_refused(
    program: Program, days: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        program.run("purge", f"--older-than={days}")
    assert refused.value.code == 2
    assert "--older-than" in capsys.readouterr().err


def test_history_and_branches(program: Program) -> None:
    assert all(f"Rev: {revision}" in program.run("history") for revision in REVISIONS)
    assert program.run("branches") == program.run("check_migration") == ""


def test_stamp(empty: SqlDatabase, program: Program) -> None:
    program.run("stamp", "head")
    assert current(empty.engine) == head()
    assert len(differences(empty)) > 0


def test_an_unknown_revision_is_refused(empty: SqlDatabase, program: Program) -> None:
    assert "unknown-one" in program.fail("upgrade", "unknown-one")
    assert current(empty.engine) is None


def test_the_schema_of_another_program_is_refused(empty: SqlDatabase, program: Program) -> None:
    program.run("upgrade")
    with empty.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '553383923ca0'")
    assert "553383923ca0: that of a newer version, or of another program" in program.fail("upgrade")


def test_a_database_that_cannot_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configuration = tmp_path / "blazar.conf"
    program = Program(configuration, capsys)
    assert "blazar.conf" in program.fail("current", code=2)
    unavailable = "database is not available: nothing listens at its address"
    for url, reason in {
        "postgresql://blazar:secret@127.0.0.1:1/x": unavailable,
        "oracle://blazar:secret@127.0.0.1/x": "[database] connection cannot be used",
        "nonsense secret": "[database] connection cannot be used",
    }.items():
        configuration.write_text(f"[database]\nconnection = {url}\n")
        told = program.fail("upgrade")
        assert reason in told
        assert "secret" not in told


def test_a_schema_that_is_missing_or_too_old_is_named(empty: SqlDatabase, program: Program) -> None:
    with pytest.raises(CloudUnavailable, match="it has no schema: run blazar-db-manage upgrade"):
        require(empty.engine)
    program.run("upgrade", "--delta", "1")
    with pytest.raises(CloudUnavailable, match=f"it has the schema {REVISIONS[0]}, and this version needs"):
        require(empty.engine)
    program.run("upgrade")
    require(empty.engine)


def test_a_newer_schema_is_good(empty: SqlDatabase, program: Program) -> None:
    program.run("upgrade")
    with empty.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    require(empty.engine)


def test_without_a_database_named_none_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blazar.conf").write_text("[DEFAULT]\n")
    for words in ([], ["--config-file", "blazar.conf"]):
        for verb in ("upgrade", "current"):
            assert main([*words, verb]) == 2
            assert "Say which database" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["blazar.conf"]
    assert main(["--connection", "sqlite:///named.db", "upgrade"]) == 0
    assert (tmp_path / "named.db").exists()
    assert main(["history"]) == 0
