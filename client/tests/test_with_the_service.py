"""Tests of every command on the real service.

Each story runs twice, with `openstack reservation ...` and with `blazar ...`, over HTTP against the service
with its sandbox cloud.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from clientkit.runner import Program, Ran, programs
from clientkit.service import Service

HOST = "--reservation resource_type=physical:host,min=1,max=1"
TABLE_OF_LEASES = re.compile(r"^\| id +\| name +\| start_date +\| end_date +\|$", re.MULTILINE)


class User:
    """A user who runs commands."""

    def __init__(self, cloud: str, program: Program, become: Callable[[str], None]) -> None:
        self._cloud = cloud
        self._program = program
        self._become = become

    def tries(self, line: str) -> Ran:
        """Run a command, which may fail."""
        self._become(self._cloud)
        return self._program(line)

    def does(self, line: str) -> str:
        """Run a command that succeeds, and return its output."""
        ran = self.tries(line)
        assert ran.code == 0, (line, ran.out, ran.err)
        return ran.out

    def sees(self, line: str) -> Any:
        """Run a command that succeeds, and return its JSON output."""
        native = " --native" if " show " in f" {line} " and "calendar" not in line else ""
        return json.loads(self.does(f"{line} -f json{native}"))

    def fails(self, line: str, code: int, *words: str) -> None:
        """Run a command that fails with this exit code and these words, and prints no result."""
        ran = self.tries(line)
        assert ran.code == code, (line, ran.out, ran.err)
        for word in words:
            assert word in ran.err, (line, ran.err)


@pytest.fixture(params=["openstack", "blazar"])
def people(
    request: pytest.FixtureRequest, service: Service, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], User]]:
    """Returns users of the sandbox's clouds: demo and alt are members, admin is an administrator."""

    def become(cloud: str) -> None:
        for name, value in service.environment(cloud).items():
            if name.startswith("OS_"):
                monkeypatch.setenv(name, value)

    for name in ("OS_CLOUD", "OS_CLIENT_CONFIG_FILE", "BLAZAR_TIME_ZONE"):
        monkeypatch.delenv(name, raising=False)
    with programs() as by_name:
        yield lambda name: User(f"sandbox-{name}", by_name[request.param], become)


@pytest.fixture
def demo(people: Callable[[str], User]) -> User:
    return people("demo")


@pytest.fixture
def alt(people: Callable[[str], User]) -> User:
    return people("alt")


@pytest.fixture
def admin(people: Callable[[str], User]) -> User:
    return people("admin")


def test_a_lease_from_now_until_it_is_ended(demo: User, admin: User) -> None:
    made = demo.tries(f"lease create training {HOST} --duration 4h --wait -f json --native")
    assert made.code == 0, made.err
    assert "Lease training is ACTIVE" in made.err
    lease = json.loads(made.out)
    assert (lease["status"], lease["reservations"][0]["status"]) == ("ACTIVE", "active")
    assert demo.sees("lease show training") == demo.sees(f"lease show {lease['id']}")
    assert demo.does("lease wait training") == "Lease training is ACTIVE\n"

    assert demo.does("lease extend training 2h").startswith("Extended lease: training, now until ")
    assert demo.does("lease set training --prolong-for 1h --name course") == "Updated lease: training\n"
    longer = demo.sees("lease show course")
    assert hours_between(lease, longer) == 3

    (allocation,) = [
        row for row in admin.sees(f"allocation list host --lease-id {lease['id']}") if row["reservations"]
    ]
    host = admin.sees(f"host show {allocation['resource_id']}")["hypervisor_hostname"]
    shown = admin.sees(f"allocation show host {host} --reservation-id {lease['reservations'][0]['id']}")
    assert [row["lease_id"] for row in shown["reservations"]] == [lease["id"]]
    assert [row["lease"] for row in admin.sees(f"calendar show --host {host}")] == ["course"]
    assert [row["row"] for row in demo.sees("calendar show --mine")] == ["course"]

    assert demo.does("lease delete course") == "Deleted lease: course\n"
    demo.fails("lease show course", 1, "Unable to find resource with name 'course'")
    assert demo.sees("lease list") == []


@pytest.mark.parametrize("people", ["openstack"], indirect=True)
def test_a_lease_that_is_ended_early(demo: User) -> None:
    demo.does(f"lease create brief {HOST} --wait")
    demo.does("lease set brief --end-date now")  # with the minute in which it began
    assert (
        demo.does("lease wait brief --status TERMINATED --wait-timeout 120s") == "Lease brief is TERMINATED\n"
    )
    demo.fails("lease wait brief", 3, "is TERMINATED and will not be ACTIVE")
    demo.does("lease delete brief")


def hours_between(earlier: dict[str, Any], later: dict[str, Any]) -> float:
    ends = [yaml.safe_load(lease["end_date"]) for lease in (earlier, later)]
    return (ends[1] - ends[0]).total_seconds() / 3600


def test_a_lease_of_next_decade_in_every_format(demo: User) -> None:
    words = "--start-date 2041-05-06T09:00+02:00 --duration 1h30m --before-end-date '2041-05-06 08:00'"
    demo.does(f"lease create planned {HOST} {words}")
    try:
        table = demo.does("lease list")
        assert TABLE_OF_LEASES.search(table)
        row = {
            "name": "planned",
            "start_date": "2041-05-06T07:00:00.000000",
            "end_date": "2041-05-06T08:30:00.000000",
        }
        (listed,) = demo.sees("lease list")
        for words in (
            "--name planned",
            "--status pending --limit 3",
            "--sort end_date:desc --resource-type physical:host",
            "--starts-after '2041-05-06 07:00' --ends-before '2041-05-06 08:30'",
        ):
            assert demo.sees(f"lease list {words}") == [listed]
        for words in ("--name other", "--status active", "--starts-before '2041-05-06 07:00'"):
            assert demo.sees(f"lease list {words}") == []
        assert listed == row | {"id": listed["id"]}
        assert list(csv.DictReader(io.StringIO(demo.does("lease list -f csv")))) == [listed]
        assert yaml.safe_load(demo.does("lease list -f yaml")) == [listed]
        assert demo.does("lease list -f value -c name -c id") == f"planned {listed['id']}\n"
        (long,) = demo.sees("lease list --long --sort-by start_date")
        assert long["status"] == "PENDING"
        assert f'id="{listed["id"]}"' in demo.does("lease show planned -f shell")
        tokyo = demo.sees("lease show planned --time-zone Asia/Tokyo")
        assert tokyo["start_date"] == "2041-05-06T16:00+09:00"
        events = {event["event_type"]: event["time"] for event in demo.sees("lease show planned")["events"]}
        assert events["before_end_lease"] == "2041-05-06T08:00:00.000000"
    finally:
        demo.does("lease delete planned")


def test_a_lease_moves_grows_and_never_shrinks_by_extending(demo: User) -> None:
    demo.does(f"lease create mover {HOST} --start-date '2042-01-01 10:00' --end-date '2042-01-01 12:00'")
    try:
        demo.does("lease set mover --defer-by 30m --end-date '2042-01-02 12:00'")
        demo.does("lease set mover --advance-by 10m --reduce-by 1d")
        lease = demo.sees("lease show mover")
        assert (lease["start_date"], lease["end_date"]) == (
            "2042-01-01T10:20:00.000000",
            "2042-01-01T12:00:00.000000",
        )
        reservation = lease["reservations"][0]["id"]
        demo.does(f"lease set mover --reservation id={reservation},min=2,max=3")
        grown = demo.sees("lease show mover")["reservations"][0]
        assert (grown["min"], grown["max"]) == (2, 3)
        demo.fails(
            "lease extend mover --until '2042-01-01 11:00'", 2, "already lasts until 2042-01-01 12:00 UTC"
        )
        demo.does("lease extend mover --until '2042-01-01 14:00' --time-zone Europe/Berlin")
        assert demo.sees("lease show mover")["end_date"] == "2042-01-01T13:00:00.000000"
        told = demo.does("lease extend mover --latest '2042-01-01 15:00' --dry-run")
        assert told.startswith("Nothing was changed. The lease would last until 2042-01-01 15:00 UTC, ")
        assert demo.sees("lease show mover")["end_date"] == "2042-01-01T13:00:00.000000"
        demo.does("lease extend mover --latest '2042-01-01 14:00'")
        assert demo.sees("lease show mover")["end_date"] == "2042-01-01T14:00:00.000000"
        told = demo.does("lease extend mover 1h --dry-run")
        assert told.startswith("Nothing was changed. The lease would last until 2042-01-01 15:00 UTC, ")
        demo.fails("lease wait mover --wait-timeout 1s", 4, "is PENDING and not yet ACTIVE")
        assert demo.tries("lease set mover").code == 0
    finally:
        demo.does("lease delete mover")


def test_a_lease_from_a_file(demo: User, tmp_path: Path) -> None:
    path = tmp_path / "lease.yaml"
    requirement = ["and", ["==", "$ssd", "True"], ["in", "$rack", ["r1", "r2", 'a "quoted", name']]]
    described = {
        "name": "from-file",
        "start": "2043-01-01 09:00 Europe/Berlin",
        "duration": "1d",
        "reservations": [
            {"resource_type": "physical:host", "min": 1, "max": 1, "resource_properties": requirement},
            {"resource_type": "virtual:instance", "vcpus": 1, "memory_mb": 512, "disk_gb": 1, "amount": 2},
        ],
    }
    path.write_text(yaml.safe_dump(described))
    demo.does(f"lease create -f {path}")
    try:
        lease = demo.sees("lease show from-file")
        assert lease["start_date"] == "2043-01-01T08:00:00.000000"
        host, instances = lease["reservations"]
        assert json.loads(host["resource_properties"]) == requirement
        assert (instances["resource_type"], instances["amount"]) == ("virtual:instance", 2)
    finally:
        demo.does("lease delete from-file")


def test_hosts_and_their_properties(admin: User, demo: User) -> None:
    value = 'dark "red", x=1 [{'
    created = admin.does("host create compute-07 --extra colour=red --extra n=5")
    assert created.startswith("Created a new host:\n")
    try:
        assert (
            admin.does(f"host set compute-07 --extra colour={shlex.quote(value)}")
            == "Updated host: compute-07\n"
        )
        host = admin.sees("host show compute-07")
        assert (host["colour"], host["n"]) == (value, "5")
        admin.does("host set compute-07 --extra colour=red")
        listed = {row["hypervisor_hostname"]: row for row in admin.sees("host list --sort-by vcpus")}
        assert listed["compute-07"] == {
            key: host[key] for key in ("id", "hypervisor_hostname", "vcpus", "memory_mb", "local_gb")
        }
        properties = {row["property"]: row for row in admin.sees("host property list --detail")}
        assert properties["colour"] == {"property": "colour", "private": False, "property_values": ["red"]}
        assert admin.sees("host property show n")["property_values"] == ["5"]
        assert admin.does("host property set colour --private") == "Updated host property: colour\n"
        assert "colour" not in [row["property"] for row in admin.sees("host property list")]
        assert "colour" in [row["property"] for row in admin.sees("host property list --all")]
        admin.does("host property set colour --public")
        admin.fails("host property show color", 1, "Did you mean 'colour'?")
        demo.fails("host list", 1, "Your roles in this project do not allow it")
    finally:
        assert admin.does("host delete compute-07") == "Deleted host: compute-07\n"
    admin.fails("host show compute-07", 1, "Unable to find resource with name 'compute-07'")
    admin.fails("host create compute-99", 1, "ERROR: ", "compute-99")


def test_a_property_is_taken_off_a_host(admin: User) -> None:
    admin.does("host create compute-08 --extra temporary=yes")
    try:
        assert admin.does("host unset compute-08 --extra temporary") == "Updated host: compute-08\n"
        assert "temporary" not in admin.sees("host show compute-08")
    finally:
        admin.does("host delete compute-08")


def test_instances_and_flavors(demo: User) -> None:
    size = "vcpus=2,memory_mb=2048,disk_gb=10,amount=2"
    flavor = "resource_type=flavor:instance,flavor_id=1,amount=1"
    times = "--start-date '2044-01-01 10:00' --duration 1h"
    demo.does(
        f"lease create both --reservation resource_type=virtual:instance,{size},affinity=False "
        f"--reservation {flavor} {times}"
    )
    try:
        instances, of_flavor = demo.sees("lease show both")["reservations"]
        assert (instances["vcpus"], instances["amount"], instances["affinity"]) == (2, 2, False)
        assert instances["server_group_id"]
        assert of_flavor["resource_type"] == "flavor:instance"
        demo.does(f"lease set both --reservation id={instances['id']},amount=3")
        assert demo.sees("lease show both")["reservations"][0]["amount"] == 3
    finally:
        demo.does("lease delete both")


def test_floating_ips(admin: User, demo: User) -> None:
    network = admin.sees("floatingip list")[0]["floating_network_id"]
    created = admin.does(f"floatingip create {network} 203.0.113.110")
    assert created.startswith("Created a new floatingip:\n")
    try:
        address = admin.sees("floatingip show 203.0.113.110")
        assert (address["floating_network_id"], address["reservable"]) == (network, True)
        listed = admin.sees("floatingip list --sort-by floating_ip_address")
        assert listed[-1] == {
            key: address[key] for key in ("id", "floating_ip_address", "floating_network_id")
        }
        addresses = f"resource_type=virtual:floatingip,network_id={network},amount=2"
        times = "--start-date '2046-01-01 10:00' --duration 1h"
        wanted = '["203.0.113.110"]'
        demo.does(f"lease create public {times} --reservation '{addresses},required_floatingips={wanted}'")
        try:
            (reservation,) = demo.sees("lease show public")["reservations"]
            assert (reservation["amount"], reservation["required_floatingips"]) == (2, ["203.0.113.110"])
            demo.does(f"lease set public --reservation id={reservation['id']},amount=3")
            assert demo.sees("lease show public")["reservations"][0]["amount"] == 3
            admin.fails(
                "floatingip delete 203.0.113.110", 1, "ERROR: ", "is reserved", "Its leases must be over"
            )
        finally:
            demo.does("lease delete public")
        demo.fails(
            f"lease create x {times} --reservation {addresses},required_floatingips=nonsense",
            2,
            "is not an IP",
        )
        admin.fails(
            f"floatingip create {network} 203.0.113.50", 1, "ERROR: The floating IP 203.0.113.50 is used in"
        )
    finally:
        assert admin.does("floatingip delete 203.0.113.110") == "Deleted floatingip: 203.0.113.110\n"
    admin.fails(
        "floatingip show 203.0.113.110", 1, "Unable to find resource with name '203.0.113.110'", "floatingip"
    )


def test_quotas(demo: User, alt: User, admin: User) -> None:
    shown = demo.sees("quota show")
    project = shown["project_id"]
    assert (shown["own"], shown["leases"], shown["hosts"]) == ([], 5000, -1)
    assert (
        admin.does(f"quota set {project} leases=1 hosts=3 vcpus=unlimited") == f"Updated quota: {project}\n"
    )
    assert demo.sees("quota show") == {**shown, "own": ["hosts", "leases", "vcpus"], "leases": 1, "hosts": 3}
    assert admin.sees(f"quota show {project}") == demo.sees("quota show")
    assert admin.sees("quota list") == [
        {"project_id": project, "name": name, "limit": limit}
        for name, limit in (("hosts", 3), ("leases", 1), ("vcpus", -1))
    ]

    demo.does(f"lease create only --start '2031-01-01 10:00' --duration 2h {HOST}")
    demo.fails(
        f"lease create more --start '2031-01-02 10:00' --duration 2h {HOST}",
        1,
        "Quota exceeded for leases: the limit is 1, 1 are in use, and 1 are asked for.",
        "See your limits and what your leases use with",
    )
    used = {row["name"]: row for row in json.loads(demo.does("usage show -f json"))}
    assert used["hosts"] == {"name": "hosts", "limit": 3, "now": 0, "peak": 1}
    assert (used["hosts_hours"]["limit"], used["hosts_hours"]["peak"]) == (-1, 2)
    assert list(used) == sorted(used)
    assert json.loads(admin.does(f"usage show {project} -f json")) == list(used.values())

    demo.fails(f"quota set {project} leases=9", 1, "Policy doesn't allow blazar:quotas:put")
    alt.fails(f"usage show {project}", 1, "Policy doesn't allow blazar:quotas:get_usage")
    for wrong in ("hosts", "hosts=", "=3", "hosts=-2", "hosts=many"):
        admin.fails(f"quota set {project} {wrong}", 2, f"{wrong} is to be NAME=NUMBER")
    admin.fails(f"quota set {project} hots=1", 1, "There is no limit hots. The limits are: leases, ")
    admin.does(f"quota unset {project} hosts vcpus")
    assert demo.sees("quota show") == {**shown, "own": ["leases"], "leases": 1}
    admin.does(f"quota unset {project}")
    assert demo.sees("quota show") == shown
    demo.does("lease delete only")


def test_refusals_tell_why_and_what_to_do(demo: User, alt: User, admin: User) -> None:
    many = "--reservation resource_type=physical:host,min=99,max=99"
    demo.fails(
        f"lease create x {many}",
        1,
        "ERROR: Not enough hosts available",
        "See when you could have it with",
        "availability",
    )
    demo.fails(
        "lease create x --reservation resource_type=physical:host,min=1,mxa=1", 2, "did you mean 'max'?"
    )
    demo.fails(
        f"lease create x {HOST} --start-date '2020-01-01 10:00' --end-date '2040-01-01 10:00'", 1, "ERROR: "
    )
    demo.fails("lease show 951ec3b5-33a7-49a3-90fa-ebbb92c7439c", 1, "not found", "See what there is with")
    demo.does(f"lease create secret {HOST} --start-date '2045-01-01 10:00' --duration 1h")
    try:
        lease = demo.sees("lease show secret")["id"]
        alt.fails(f"lease show {lease}", 1, "not found")
        alt.fails(f"lease delete {lease}", 1, "not found")
        admin.does(f"lease show {lease}")
    finally:
        demo.does("lease delete secret")
    ran = demo.tries("lease delete missing nothing")
    assert (ran.code, ran.out) == (1, "")
    assert "2 of 2 could not be deleted" in ran.err


def test_leases_that_recur(demo: User, alt: User) -> None:
    rule = "--rule 'FREQ=WEEKLY;BYDAY=MO;COUNT=3' --time-zone Europe/Berlin --duration 3h"
    demo.does(f"series create class {HOST} {rule} --start-date '2049-03-22 9:00' --except 2049-03-29")
    try:
        shown = demo.sees("series show class")
        assert [(each["date"], each["start_date"][:16]) for each in shown["occurrences"]] == [
            ("2049-03-22", "2049-03-22T08:00"),
            ("2049-04-05", "2049-04-05T07:00"),
        ]
        lease = shown["occurrences"][1]["lease_id"]
        assert demo.sees(f"lease show {lease}")["status"] == "PENDING"
        assert [each["rule"] for each in demo.sees("series list")] == ["FREQ=WEEKLY;BYDAY=MO;COUNT=3"]
        assert alt.sees("series list") == []
        alt.fails(f"series show {shown['id']}", 1, "There is no series", "See what there is with")
        demo.fails("series skip class 2049-03-23", 1, "2049-03-23")
        assert f"{lease}  PENDING" not in demo.does("series skip class 2049-04-05")
        demo.fails(f"lease show {lease}", 1, "not found")
        demo.fails(
            f"series create x {HOST} --rule FREQ=HOURLY --start-date tomorrow --duration 1h", 1, "recurrence"
        )
    finally:
        assert demo.does("series delete class --keep-started") == "Deleted series: class\n"
    assert (demo.sees("series list"), demo.sees("lease list")) == ([], [])


def test_the_managers_of_the_service(admin: User, demo: User) -> None:
    (manager,) = admin.sees("service list")
    assert (manager["binary"], manager["state"]) == ("blazar-manager", "up")
    assert manager["late_seconds"] >= 0
    assert "+00:00" in admin.does("service list --time-zone UTC -f value -c seen_at")
    assert admin.does("service list --sort-by state -f value -c state") == "up\n"
    demo.fails("service list", 1, "Your roles in this project do not allow it")


def test_capacity(demo: User, admin: User) -> None:
    window = "--start-date 2037-05-01 --duration 1d"
    before = _steps(demo, f"capacity show {window} --quantity hosts")
    assert len(before) == 1
    demo.does(f"lease create {HOST} capacious --start-date '2037-05-01 10:00' --end-date '2037-05-01 12:00'")
    free = before[0]["available"]
    after = _steps(demo, f"capacity show {window} --quantity hosts")
    assert [(step["from"][11:16], step["available"]) for step in after] == [
        ("00:00", free),
        ("10:00", free - 1),
        ("12:00", free),
    ]
    assert "reserved" not in after[0]
    assert [s["reserved"] for s in _steps(admin, f"capacity show {window} --quantity hosts")] == [0, 1, 0]
    assert "hosts: at least" in demo.does(f"capacity show {window} --quantity hosts")
    demo.fails("capacity show --quantity love", 1, "There is no quantity love; there are hosts")
    demo.does("lease delete capacious")


def _steps(user: User, line: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(user.does(f"{line} -f json"))
    return found


def test_flavors_and_networks_have_names(admin: User, demo: User) -> None:
    times = "--start-date '2048-01-01 10:00' --duration 1h"
    flavor = "--reservation resource_type=flavor:instance,amount=1,flavor_id"
    addresses = "--reservation resource_type=virtual:floatingip,amount=1,network_id"
    demo.does(f"lease create named {flavor}=m1.tiny {flavor}=m1.small {addresses}=public {times}")
    try:
        tiny, small, addressed = demo.sees("lease show named")["reservations"]
        assert (tiny["flavor_id"], small["flavor_id"]) != ("m1.tiny", "m1.small")
        assert addressed["network_id"] == admin.sees("floatingip list")[0]["floating_network_id"]
    finally:
        demo.does("lease delete named")
    assert json.loads(demo.does(f"availability show {flavor}=m1.tiny --duration 1h -f json"))
    demo.fails(
        f"lease create x {flavor}=m1.none {times}", 1, "Flavor m1.none could not be found", "flavor list"
    )
    demo.fails(f"lease create x {addresses}=none {times}", 1, "Failed to find network none", "network list")
