"""The import of a database of upstream Blazar: what becomes of each row, and that nothing is taken twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest
from new_databases import give_schema
from sqlalchemy import event, select

from blazar.adapters.db import SqlDatabase
from blazar.adapters.db.engine import parse_url
from blazar.adapters.db.schema import upgrade
from blazar.adapters.db.tables import metadata
from blazar.adapters.memory import MemoryDatabase
from blazar.cmd.db_manage import main
from blazar.domain.lease.event import EventStatus, EventType
from blazar.domain.lease.healing import LOST
from blazar.domain.lease.lease import Lease, LeaseStatus, ReservationStatus
from blazar.domain.resource import Inventory
from blazar.domain.time import HORIZON, MINUTE
from blazar.kinds.floatingip.names import POOL as FLOATING_IPS
from blazar.kinds.floatingip.names import floating_ip_id
from blazar.kinds.registered_hosts.pool import POOL as HOSTS
from blazar.service.ports import Database, UnitOfWork
from blazar.upstream.importing import KINDS, Import
from blazar.upstream.report import Line, Verdict
from blazar.upstream.source import UnsuitableSource, open_source

from .upstream_rows import HOUR, NOW, UpstreamRows


class StillClock:
    def now(self) -> Any:
        return NOW

    def pause(self, seconds: float) -> None:
        raise AssertionError("nothing to wait for")


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[UpstreamRows]:
    rows = UpstreamRows(parse_url(f"sqlite:///{tmp_path}/upstream.db"))
    rows.create_tables()
    yield rows
    rows.close()


@pytest.fixture
def database() -> MemoryDatabase:
    return MemoryDatabase()


def imported(rows: UpstreamRows, database: Database, is_dry_run: bool = False) -> list[Line]:
    with open_source(rows.url) as source:
        return list(Import(source, database, StillClock(), is_dry_run).run())


def told(lines: list[Line], noun: str) -> dict[str, Line]:
    return {line.name.split()[0]: line for line in lines if line.noun == noun}


def one(rows: UpstreamRows, database: Database, lease_id: str) -> tuple[Lease, Line]:
    """Import, and return the lease with its line. Every lease is fit for what managers do with it."""
    line = told(imported(rows, database), "lease")[lease_id]
    with database.read() as uow:
        lease = uow.leases.get(lease_id)
    assert lease is not None, line.sentence
    for reservation in lease.reservations:
        kind = KINDS[reservation.resource_type]
        assert kind.render(reservation)
        kind.demand(reservation)
    return lease, line


def moments(lease: Lease) -> dict[EventType, EventStatus]:
    return {event.event_type: event.status for event in lease.events}


# resources


def test_hosts_come_with_properties_traits_and_inventory(
    rows: UpstreamRows, database: MemoryDatabase
) -> None:
    rows.host(1)
    rows.host(2)
    gpu, rack = rows.property("gpu"), rows.property("rack", private=True)
    rows.capability("1", gpu, "A100")
    rows.capability("1", rack, "r1")
    rows.inventory("1", "VCPU", 8, ratio=16.0)
    rows.inventory("1", "CUSTOM_FPGA", 2)
    rows.trait("1", "HW_CPU_X86_AVX2")
    lines = imported(rows, database)
    assert [line.sentence for line in lines] == [
        "property gpu: taken",
        "property rack: taken: private",
        "host 1 (compute-01): taken",
        "host 2 (compute-02): taken",
    ]
    with database.read() as uow:
        one, two = uow.resources.list(HOSTS)
        records = uow.resources.private_properties("physical:host")
    assert (one.id, one.name, one.cloud_id, one.reservable) == ("1", "compute-01", None, True)
    assert one.facts["service_name"] == "compute-01"
    assert one.facts["memory_mb"] == 16384
    assert one.capabilities == {"gpu": "A100", "rack": "r1"}
    assert one.traits == {"HW_CPU_X86_AVX2"}
    assert one.inventory == {"VCPU": Inventory(128, 8), "CUSTOM_FPGA": Inventory(2, 2)}
    # Upstream knows no inventory of hosts that were registered long ago.
    assert two.inventory["MEMORY_MB"] == Inventory(16384, 16384)
    assert (records["gpu"].private, records["rack"].private) == (False, True)


def test_odd_hosts(rows: UpstreamRows, database: MemoryDatabase) -> None:
    rows.host(1, reservable=False)
    vcpus = rows.property("vcpus")
    rows.capability("1", vcpus, "7")
    rows.host(2, hypervisor_hostname=None)
    rows.host(3, name="compute-01")
    lines = imported(rows, database)
    hosts = told(lines, "host")
    assert hosts["1"].verdict is Verdict.MAPPED
    assert "properties 'vcpus'" in hosts["1"].sentence
    assert "enable_polling_monitor" in hosts["1"].sentence
    assert hosts["2"].is_lost
    assert hosts["3"].sentence == "host 3 (compute-01): mapped: it is registered here already, as 1"
    assert told(lines, "property")["'vcpus'"].verdict is Verdict.REFUSED
    with database.read() as uow:
        (host,) = uow.resources.list(HOSTS)
    # What is not reservable here is being deregistered.
    assert (host.reservable, host.can_be_reserved, host.capabilities) == (True, True, {})


def test_floating_ips_get_the_ids_of_their_addresses(rows: UpstreamRows, database: MemoryDatabase) -> None:
    old = rows.floatingip("172.24.4.10")
    rows.floatingip("no address")
    lines = imported(rows, database)
    id_ = floating_ip_id("net", "172.24.4.10")
    assert lines[0].sentence == f"floating IP {old} (172.24.4.10): mapped: its id is {id_}"
    assert lines[1].is_lost
    with database.read() as uow:
        (floatingip,) = uow.resources.list(FLOATING_IPS)
    assert floatingip.id == id_
    assert floatingip.facts["subnet_id"] == "subnet"


# the statuses of leases


def test_a_pending_lease(rows: UpstreamRows, database: MemoryDatabase) -> None:
    rows.host(1)
    lease_id = rows.lease()
    event_id = rows.event(lease_id, "before_end_lease", 1.5, "UNDONE")
    rows.event(lease_id, "my own", 1.7, None)
    reservation_id = rows.hosts_of(lease_id, "PENDING", ["1"], aggregate=17, before_end="snapshot")
    lease, line = one(rows, database, lease_id)
    assert line.sentence == f"lease {lease_id}: taken: PENDING"
    assert (lease.status, lease.trust_id, lease.user_id) == (LeaseStatus.PENDING, "trust", "user")
    assert (lease.interval.start, lease.interval.end) == (NOW + HOUR, NOW + 2 * HOUR)
    assert lease.before_end_date == NOW + 1.5 * HOUR
    assert lease.events[2].id == event_id
    assert len(lease.events) == 3
    assert lease.created_at is not None
    assert lease.created_at < NOW - 90 * HOUR
    (reservation,) = lease.reservations
    assert (reservation.id, reservation.status) == (reservation_id, ReservationStatus.PENDING)
    assert reservation.cloud_state == {"aggregate_id": 17}
    assert reservation.parameters["before_end"] == "snapshot"
    (allocation,) = reservation.allocations
    assert (allocation.resource_id, allocation.bound, allocation.usage.whole) == ("1", False, True)
    assert allocation.interval == lease.interval


def test_an_active_lease(rows: UpstreamRows, database: MemoryDatabase) -> None:
    rows.host(1)
    lease_id = rows.lease("ACTIVE", -1, 1)
    rows.hosts_of(lease_id, "ACTIVE", ["1"], aggregate=17)
    lease, _ = one(rows, database, lease_id)
    assert lease.status is LeaseStatus.ACTIVE
    assert [r.status for r in lease.reservations] == [ReservationStatus.ACTIVE]
    assert [a.bound for a in lease.allocations] == [True]
    assert moments(lease) == {EventType.START: EventStatus.DONE, EventType.END: EventStatus.UNDONE}


def test_a_lease_that_is_over(rows: UpstreamRows, database: MemoryDatabase) -> None:
    """Upstream keeps the allocations of its floating IPs, and its trust."""
    address = rows.floatingip("172.24.4.10")
    lease_id = rows.lease("TERMINATED", -2, -1)
    rows.event(lease_id, "before_end_lease", -1.5, "UNDONE")
    rows.floatingips_of(lease_id, "TERMINATED", [address])
    lease, _ = one(rows, database, lease_id)
    assert (lease.status, lease.trust_id, lease.allocations) == (LeaseStatus.TERMINATED, None, ())
    assert {event.status for event in lease.events} == {EventStatus.DONE}
    with database.read() as uow:
        assert uow.leases.count_over(NOW) == 1


@pytest.mark.parametrize(
    ("status", "events", "reservation", "became"),
    [
        ("UPDATING", ("UNDONE", "UNDONE"), "pending", LeaseStatus.PENDING),
        ("UPDATING", ("DONE", "UNDONE"), "active", LeaseStatus.ACTIVE),
        ("UPDATING", ("DONE", "DONE"), "deleted", LeaseStatus.TERMINATED),
        ("UPDATING", ("DONE", "UNDONE"), "error", LeaseStatus.ERROR),
        ("ERROR", ("UNDONE", "UNDONE"), "pending", LeaseStatus.PENDING),
        ("ERROR", ("DONE", "UNDONE"), "active", LeaseStatus.ACTIVE),
        ("ERROR", ("DONE", "DONE"), "deleted", LeaseStatus.TERMINATED),
        ("ERROR", ("DONE", "IN_PROGRESS"), "active", LeaseStatus.DELETING),
        ("ERROR", ("ERROR", "UNDONE"), "error", LeaseStatus.ERROR),
        ("ERROR", ("DONE", "ERROR"), "error", LeaseStatus.ERROR),
        ("CREATING", None, "pending", LeaseStatus.DELETING),
        ("DELETING", ("DONE", "IN_PROGRESS"), "active", LeaseStatus.DELETING),
        ("STARTING", ("IN_PROGRESS", "UNDONE"), "pending", LeaseStatus.STARTING),
        ("TERMINATING", ("DONE", "IN_PROGRESS"), "active", LeaseStatus.TERMINATING),
    ],
)
def test_what_upstream_has_left_half_done_goes_on(
    rows: UpstreamRows,
    database: MemoryDatabase,
    status: str,
    events: tuple[str, str] | None,
    reservation: str,
    became: LeaseStatus,
) -> None:
    rows.host(1)
    lease_id = rows.lease(status, -1, 1, events=events)
    rows.hosts_of(lease_id, reservation, ["1"])
    lease, line = one(rows, database, lease_id)
    assert lease.status is became
    assert (line.verdict is Verdict.TAKEN) == (events == ("ERROR", "UNDONE"))
    work = {e.event_type for e in lease.events if e.is_open}
    if became is LeaseStatus.DELETING:
        assert work == {EventType.DELETE}
    elif became is LeaseStatus.TERMINATED:
        assert work == set()
    else:
        assert EventType.END in work
        assert (EventType.START in work) == (became in (LeaseStatus.PENDING, LeaseStatus.STARTING))
    assert [a.bound for a in lease.allocations] == (
        [] if became is LeaseStatus.TERMINATED else [became is LeaseStatus.ACTIVE]
    )


def test_odd_dates(rows: UpstreamRows, database: MemoryDatabase) -> None:
    empty, far, never = rows.lease(start=1, end=1), rows.lease(), rows.lease()
    with rows._engine.begin() as connection:
        connection.exec_driver_sql("UPDATE leases SET end_date = '9999-12-31 23:59:00' WHERE id = ?", (far,))
        connection.exec_driver_sql(
            "UPDATE leases SET start_date = '9999-01-01', end_date = '9999-12-31' WHERE id = ?", (never,)
        )
    lines = told(imported(rows, database), "lease")
    assert lines[never].is_lost
    with database.read() as uow:
        first, second = uow.leases.get(empty), uow.leases.get(far)
    assert first is not None
    assert second is not None
    assert first.interval.duration == MINUTE
    assert second.interval.end == NOW + HORIZON


# reservations of every kind


def test_instances_have_an_allocation_for_each_host(rows: UpstreamRows, database: MemoryDatabase) -> None:
    rows.host(1)
    rows.host(2)
    lease_id = rows.lease("ACTIVE", -1, 1)
    rows.instances_of(lease_id, "ACTIVE", ["1", "2", "1"], affinity=False, server_group_id="group")
    lease, _ = one(rows, database, lease_id)
    (reservation,) = lease.reservations
    assert [(a.resource_id, a.slots, a.bound) for a in reservation.allocations] == [
        ("1", 2, True),
        ("2", 1, True),
    ]
    assert reservation.allocations[0].usage.amounts == {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}
    assert reservation.cloud_state == {"aggregate_id": 7, "server_group_id": "group"}
    assert reservation.parameters["affinity"] is False


def test_flavors_keep_what_nova_told(rows: UpstreamRows, database: MemoryDatabase) -> None:
    rows.host(1)
    lease_id = rows.lease()
    rows.flavors_of(lease_id, "PENDING", ["1"])
    lost_id = rows.lease()
    rows.flavors_of(lost_id, "PENDING", ["1"], resource_properties="no JSON")
    lease, line = one(rows, database, lease_id)
    assert "hw:numa_nodes" in line.sentence
    (reservation,) = lease.reservations
    assert reservation.parameters["flavor_id"] == "42"
    assert reservation.parameters["flavor"]["extra_specs"] == {"hw:cpu_policy": "shared"}
    assert reservation.allocations[0].usage.amounts == {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 3}
    with database.read() as uow:
        lost = uow.leases.get(lost_id)
    assert lost is not None
    assert lost.allocations[0].usage.amounts == {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}


def test_floating_ips(rows: UpstreamRows, database: MemoryDatabase) -> None:
    address = rows.floatingip("172.24.4.10")
    lease_id = rows.lease("ACTIVE", -1, 1)
    rows.floatingips_of(lease_id, "ACTIVE", [address], required=["172.24.4.10", "1"])
    lease, line = one(rows, database, lease_id)
    (reservation,) = lease.reservations
    assert "required addresses '1'" in line.sentence
    assert list(reservation.parameters["required_floatingips"]) == ["172.24.4.10"]
    assert [a.resource_id for a in reservation.allocations] == [floating_ip_id("net", "172.24.4.10")]


def test_what_upstream_lets_users_ask_for(rows: UpstreamRows, database: MemoryDatabase) -> None:
    rows.host(1)
    lease_id = rows.lease()
    rows.hosts_of(lease_id, "PENDING", ["1"], count_range="x", resource_properties='["==", "gpu"]')
    rows.instances_of(lease_id, "PENDING", [], vcpus=-1, amount=0)
    lease, line = one(rows, database, lease_id)
    host, instance = lease.reservations
    assert (host.parameters["min"], host.parameters["resource_properties"]) == (1, "")
    assert (instance.parameters["vcpus"], instance.parameters["amount"]) == (1, 1)
    assert line.verdict is Verdict.MAPPED
    assert "resource_properties cannot be understood" in line.sentence


@pytest.mark.parametrize(
    ("told", "fewest", "most"),
    [("1-3", 1, 3), ("0-1", 1, 1), ("3-1", 3, 3), (f"1-{10**12}", 1, 10**6), ("x", 1, 1), (None, 1, 1)],
)
def test_counts_of_hosts(
    rows: UpstreamRows, database: MemoryDatabase, told: str | None, fewest: int, most: int
) -> None:
    rows.host(1)
    lease_id = rows.lease("ACTIVE", -1, 1, name="a\0b")
    rows.hosts_of(lease_id, "ACTIVE", ["1"], count_range=told)
    lease, line = one(rows, database, lease_id)
    asked = lease.reservations[0].parameters
    assert (asked["min"], asked["max"]) == (fewest, most)
    assert (line.verdict is Verdict.TAKEN) == (told == "1-3")
    assert lease.name == "a?b"  # PostgreSQL would refuse it


def test_what_is_unknown_is_left_out_and_stops_nothing(rows: UpstreamRows, database: MemoryDatabase) -> None:
    rows.host(1)
    both = rows.lease("ACTIVE", -1, 1)
    rows.hosts_of(both, "ACTIVE", ["1"])
    rows.reservation(both, "network", "ACTIVE")
    networks = {status: rows.lease(status, -2, 1) for status in ("TERMINATED", "ACTIVE")}
    for status, lease_id in networks.items():
        rows.reservation(lease_id, "network", status)
    empty = rows.lease("ACTIVE", -1, 1)
    rows.floatingips_of(empty, "ACTIVE", [], amount=0)
    odd, nobodys = rows.lease("LATER"), rows.lease(project_id=None)
    last = rows.lease("TERMINATED", -3, -2)
    lines = told(imported(rows, database), "lease")
    assert "its kind 'network' is not known" in lines[both].sentence
    assert lines[both].verdict is Verdict.MAPPED
    refused = {lease_id for lease_id, line in lines.items() if line.verdict is Verdict.REFUSED}
    assert refused == {*networks.values(), empty, odd, nobodys}
    assert not lines[networks["TERMINATED"]].is_lost
    assert lines[networks["ACTIVE"]].is_lost
    assert lines[last].verdict is Verdict.TAKEN
    with database.read() as uow:
        lease = uow.leases.get(both)
    assert lease is not None
    assert [r.resource_type for r in lease.reservations] == ["physical:host"]


# what upstream has promised twice


def test_a_host_that_was_promised_twice(rows: UpstreamRows, database: MemoryDatabase) -> None:
    for number in (1, 2):
        rows.host(number)
    late, early = rows.lease(), rows.lease("ACTIVE", -1, 2)
    rows.hosts_of(late, "PENDING", ["1"])
    rows.hosts_of(early, "ACTIVE", ["1"])
    third = rows.lease()
    rows.hosts_of(third, "PENDING", ["1"])
    lines = told(imported(rows, database), "lease")
    with database.read() as uow:
        leases = {id_: uow.leases.get(id_) for id_ in (early, late, third)}
    where = {id_: [a.resource_id for a in lease.allocations] for id_, lease in leases.items() if lease}
    assert where == {early: ["1"], late: ["2"], third: ["1"]}
    assert "it has other resources" in lines[late].sentence
    assert "nothing else is free" in lines[third].sentence
    lost = leases[third]
    assert lost is not None
    assert (lost.degraded, lost.reservations[0].missing_resources) == (True, True)
    assert lost.reservations[0].status_reason == LOST


# runs


def test_a_second_run_changes_nothing(rows: UpstreamRows, database: MemoryDatabase) -> None:
    rows.host(1)
    rows.property("gpu")
    address = rows.floatingip("172.24.4.10")
    lease_id, gone = rows.lease("ACTIVE", -1, 1), rows.lease("TERMINATED", -2, -1)
    rows.hosts_of(lease_id, "ACTIVE", ["1"])
    imported(rows, database)
    with database.read() as uow:
        over = uow.leases.get(gone)
    assert over is not None
    database.transact(lambda uow: uow.leases.remove(over))
    before = database._committed
    assert {line.verdict for line in imported(rows, database)} == {Verdict.PRESENT}
    assert database._committed == before
    # What comes later in upstream is taken, with the resources of the first run.
    later = rows.lease()
    rows.floatingips_of(later, "PENDING", [address])
    lease, _ = one(rows, database, later)
    assert [a.resource_id for a in lease.allocations] == [floating_ip_id("net", "172.24.4.10")]


def test_a_dry_run_writes_nothing_and_tells_the_same(rows: UpstreamRows, database: MemoryDatabase) -> None:
    rows.host(1)
    rows.host(2)
    rows.property("gpu")
    rows.floatingip("172.24.4.10")
    for status, start in (("PENDING", 1), ("ACTIVE", -1), ("PENDING", 1), ("ERROR", -1)):
        rows.hosts_of(rows.lease(status, start, 2), status, ["1"])
    before = database._committed
    dry = imported(rows, database, is_dry_run=True)
    assert database._committed is before
    assert [line.sentence for line in imported(rows, database)] == [line.sentence for line in dry]


class Cut(Exception):
    """The process was killed."""


class CutOff(MemoryDatabase):
    """A database whose transactions end at a moment: before the commit of one, or after it."""

    def __init__(self, at: int, is_after: bool) -> None:
        super().__init__()
        self.left = at
        self._is_after = is_after

    def transact(self, work: Callable[[UnitOfWork], Any]) -> Any:
        self.left -= 1
        if self.left == 0 and not self._is_after:
            raise Cut
        result = super().transact(work)
        if self.left == 0:
            raise Cut
        return result


@pytest.mark.parametrize("is_after", [False, True])
def test_a_run_that_was_cut_off_goes_on(rows: UpstreamRows, database: MemoryDatabase, is_after: bool) -> None:
    rows.host(1)
    rows.host(2)
    rows.property("gpu")
    address = rows.floatingip("172.24.4.10")
    for status, start in (("PENDING", 1), ("ACTIVE", -1), ("TERMINATED", -1)):
        lease_id = rows.lease(status, start, 2)
        rows.hosts_of(lease_id, status, ["1"])
        rows.floatingips_of(lease_id, status, [address] if status == "ACTIVE" else [])
    imported(rows, database)
    wanted = shape(database)
    count = 0
    while True:
        count += 1
        cut = CutOff(count, is_after)
        try:
            imported(rows, cut)
            break
        except Cut:
            imported(rows, cut)
            assert shape(cut) == wanted
    assert count == 8


def shape(database: Database) -> Any:
    """What is stored, but what is drawn by lot."""
    with database.read() as uow:
        leases = [
            (lease.id, lease.status, lease.degraded, [a.resource_id for a in lease.allocations])
            for lease in uow.leases.list()
        ]
        return leases, [(r.id, r.name) for p in (HOSTS, FLOATING_IPS) for r in uow.resources.list(p)]


def test_managers_that_are_running_learn_of_leases(rows: UpstreamRows, database: MemoryDatabase) -> None:
    rows.host(1)
    imported(rows, database)
    with database.read() as uow:
        before = uow.resources.generations(HOSTS)
    rows.hosts_of(rows.lease(), "PENDING", ["1"])
    imported(rows, database)
    with database.read() as uow:
        assert uow.resources.generations(HOSTS, NOW - timedelta(seconds=1)) == {"1": before["1"] + 1}


# the command


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    out, err = capsys.readouterr()
    return code, out, err


def test_the_command(rows: UpstreamRows, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = f"sqlite:///{tmp_path}/blazar.db"
    words = ("--connection", target, "import", "--from", str(rows.url))
    assert "run blazar-db-manage upgrade" in run(capsys, *words)[2]
    database = SqlDatabase(target)
    give_schema(database.engine)
    rows.host(1)
    lease_id = rows.lease("TERMINATED", -2, -1)
    rows.reservation(lease_id, "network", "TERMINATED")
    code, out, _ = run(capsys, *words, "--dry-run")
    assert (code, out.splitlines()[-1]) == (0, "Nothing was written.")
    assert all(count == 0 for count in counted(database).values())
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert out.splitlines()[-2:] == ["host: 1 taken", "lease: 1 refused"]
    rows.host(2, service_name=None)
    code, out, _ = run(capsys, *words)
    assert (code, out.splitlines()[0]) == (1, "host 1 (compute-01): there already")
    assert out.splitlines()[1] == "host 2 (compute-02): refused: it has no name"
    database.close()


def counted(database: SqlDatabase) -> dict[str, int]:
    with database.engine.connect() as connection:
        return {t.name: len(connection.execute(select(t)).all()) for t in metadata.sorted_tables}


def test_what_is_no_database_of_upstream(
    rows: UpstreamRows, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = f"sqlite:///{tmp_path}/blazar.db"
    database = SqlDatabase(target)
    give_schema(database.engine)
    database.close()
    for source, reason in (
        (target, "a database of this service"),
        (f"sqlite:///{tmp_path}/none.db", "it does not answer"),
        ("oracle://user:secret@there/db", "cannot be used"),
        ("postgresql+psycopg2://user:secret@there/db", "not installed: psycopg2"),
        ("mysql://user:secret@127.0.0.1:1/db", "it does not answer"),
    ):
        code, _, err = run(capsys, "--connection", target, "import", "--from", source)
        assert (code, reason in err) == (1, True), err
        assert "secret" not in err
    assert not (tmp_path / "none.db").exists()
    with rows._engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE computehost_trait")
    with pytest.raises(UnsuitableSource, match="computehost_trait is missing"), open_source(rows.url):
        pass


def test_a_run_that_is_cut_off_at_any_statement(rows: UpstreamRows, tmp_path: Path) -> None:
    rows.host(1)
    lease_id = rows.lease("ACTIVE", -1, 1)
    rows.instances_of(lease_id, "ACTIVE", ["1", "1"])
    upgrade(f"sqlite:///{tmp_path}/empty.db")

    def run_until(statement: int, name: str) -> tuple[SqlDatabase, bool]:
        copyfile(tmp_path / "empty.db", tmp_path / name)
        database = SqlDatabase(f"sqlite:///{tmp_path}/{name}")
        left = [statement]

        @event.listens_for(database.engine, "before_cursor_execute")
        def count(*_: Any) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise Cut

        with suppress(Cut):
            imported(rows, database)
        is_finished = left[0] > 0
        left[0] = 0  # nothing is cut off any more
        return database, is_finished

    for statement in range(1, 100):
        database, is_finished = run_until(statement, f"{statement}.db")
        if not is_finished:
            imported(rows, database)
        with database.read() as uow:
            (lease,) = uow.leases.list()
            (host,) = uow.resources.list(HOSTS)
        assert (lease.id, lease.status, lease.allocations[0].slots, host.id) == (lease_id, "ACTIVE", 2, "1")
        database.close()
        if is_finished:
            break
    assert statement > 20
