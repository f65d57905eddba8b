"""Maintenances over HTTP, with everything real but the hardware, since version 1.8."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.lease.maintenance import Effect, EffectReason, LeaseImpact, Maintenance, Move
from blazar.domain.resource import Allocation
from blazar.domain.time import Interval
from blazar.engine.upkeep import Upkeep
from blazar.service.commands import NOW, CreateMaintenance
from blazar.service.context import Caller
from blazar.service.maintenances import MaintenanceDecision

from .bus import CODEC
from .sandboxed import Sandboxed
from .wishes import HOST, INSTANCES

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.8"}
RESERVED = {"OpenStack-API-Version": "reservation 1.7"}
TIMES = {"start_date": "2050-01-01 10:00", "end_date": "2050-01-01 12:00"}
LATER = {"start_date": "2050-01-01 13:00", "end_date": "2050-01-01 14:00"}
PATH = "/v1/maintenances"
START = datetime(2050, 1, 1, 10, tzinfo=UTC)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    at = Sandboxed(tmp_path_factory.mktemp("sandboxed"))
    for name in ("compute-01", "compute-02"):
        assert at.send("POST", "/v1/os-hosts", "admin", json={"name": name}).status_code == 201
    yield at
    at.stop()


@pytest.fixture
def at(site: Sandboxed) -> Iterator[Sandboxed]:
    yield site
    for each in ask(site, "GET", PATH).json["maintenances"]:
        assert ask(site, "DELETE", f"{PATH}/{each['id']}").status_code == 204
    for lease in site.send("GET", "/v1/leases", "demo").json["leases"]:
        assert site.send("DELETE", f"/v1/leases/{lease['id']}", "demo").status_code == 204


def ask(
    at: Sandboxed, method: str, path: str, user: str = "admin", json: Any = None, headers: Any = VERSION
) -> Any:
    return at.send(method, path, user, json=json, headers=headers)


def take(at: Sandboxed, *hosts: Any, **more: Any) -> Any:
    return ask(at, "POST", PATH, json={"hosts": list(hosts), **TIMES, **more})


def reserve(at: Sandboxed, *reservations: Any, **more: Any) -> Any:
    body = {"name": "training", **TIMES, "reservations": list(reservations) or [HOST], **more}
    made = at.send("POST", "/v1/leases", "demo", json=body)
    assert made.status_code == 201, made.text
    return made.json["lease"]


def hosts_of(at: Sandboxed, lease: Any) -> set[str]:
    found = at.send("GET", f"/v1/os-hosts/allocations?lease_id={lease['id']}", "admin").json["allocations"]
    return {each["resource_id"] for each in found if each["reservations"]}


def test_hosts_are_taken_away_and_given_back(at: Sandboxed) -> None:
    made = take(at, "compute-01", name="new disks", reason="ticket 7")
    assert made.status_code == 201, made.text
    maintenance = made.json["maintenance"]
    assert {key: maintenance[key] for key in ("name", "reason", "hosts", "start_date", "end_date")} == {
        "name": "new disks",
        "reason": "ticket 7",
        "hosts": ["1"],
        "start_date": "2050-01-01T10:00:00.000000",
        "end_date": "2050-01-01T12:00:00.000000",
    }
    assert made.json["impact"] == {"moves": 0, "breaks": 0, "stays": 0, "leases": []}
    assert ask(at, "GET", PATH).json == {"maintenances": [maintenance]}
    assert ask(at, "GET", f"{PATH}/{maintenance['id']}").json == {"maintenance": maintenance}

    two = {**HOST, "min": 2, "max": 2}
    refused = at.send("POST", "/v1/leases", "demo", json={"name": "x", **TIMES, "reservations": [two]})
    assert (refused.status_code, "1 of them is free" in refused.json["error_message"]) == (400, True)
    capacity = ask(
        at, "GET", "/v1/capacity?start_date=2050-01-01+09:00&end_date=2050-01-01+13:00&quantity=hosts", "demo"
    ).json["capacity"]["quantities"][0]
    assert capacity["minimum"] == 1
    taken = at.send("GET", "/v1/os-hosts/1/allocation", "admin").json["allocation"]["reservations"]
    assert [each["lease_id"] for each in taken] == [maintenance["id"]]
    assert at.send("DELETE", "/v1/os-hosts/1", "admin").status_code == 409

    assert ask(at, "DELETE", f"{PATH}/{maintenance['id']}").status_code == 204
    assert ask(at, "GET", PATH).json == {"maintenances": []}
    reserve(at, two)
    for method in ("GET", "DELETE"):
        gone = ask(at, method, f"{PATH}/{maintenance['id']}")
        assert gone.status_code == 404
        assert gone.json["error_message"] == (
            f"There is no maintenance {maintenance['id']}: it is over, was deleted, or never was."
        )


def test_a_manager_removes_what_is_over(at: Sandboxed) -> None:
    end = (at.clock.now() + timedelta(minutes=2)).strftime("%Y-%m-%d %H:%M")
    assert take(at, 1, start_date="now", end_date=end).status_code == 201
    (upkeep,) = (each for each in at.manager._background if isinstance(each, Upkeep))
    upkeep.round()
    assert len(ask(at, "GET", PATH).json["maintenances"]) == 1
    at.clock.ahead = timedelta(minutes=3)
    upkeep.round()
    assert ask(at, "GET", PATH).json == {"maintenances": []}


@pytest.mark.parametrize("wish", [HOST, INSTANCES], ids=lambda each: str(each["resource_type"]))
def test_a_dry_run_tells_what_a_create_then_does(at: Sandboxed, wish: Any) -> None:
    lease = reserve(at, wish)
    (host,) = hosts_of(at, lease)
    (other,) = {"1", "2"} - {host}
    seen = take(at, host, dry_run=True)
    assert seen.status_code == 200, seen.text
    assert list(seen.json) == ["impact"]
    impact = seen.json["impact"]
    assert (impact["moves"], impact["breaks"], impact["stays"]) == (1, 0, 0)
    reservation_id = lease["reservations"][0]["id"]
    assert impact["leases"] == [
        {
            "lease_id": lease["id"],
            "name": "training",
            "project_id": lease["project_id"],
            "user_id": lease["user_id"],
            "status": "PENDING",
            "start_date": "2050-01-01T10:00:00.000000",
            "end_date": "2050-01-01T12:00:00.000000",
            "effect": "moves",
            "reason": None,
            "hosts": [host],
            "moves": [{"reservation_id": reservation_id, "from": [host], "to": [other]}],
        }
    ]
    assert hosts_of(at, lease) == {host}
    assert ask(at, "GET", PATH).json == {"maintenances": []}
    made = take(at, host)
    assert made.status_code == 201
    assert made.json["impact"] == impact
    assert hosts_of(at, lease) == {other}


def test_where_a_lease_would_break_the_refusal_has_the_impact(at: Sandboxed) -> None:
    lease = reserve(at, {**HOST, "min": 2, "max": 2})
    refused = take(at, "compute-02")
    assert refused.status_code == 409
    assert list(refused.json) == ["error_message", "error_code", "error_name", "impact"]
    assert refused.json["error_message"].startswith("Leases would break (1), so nothing")
    impact = refused.json["impact"]
    assert [(each["lease_id"], each["effect"], each["reason"]) for each in impact["leases"]] == [
        (lease["id"], "breaks", "nothing_suits")
    ]
    assert ask(at, "GET", PATH).json == {"maintenances": []}
    forced = take(at, "compute-02", force=True)
    assert forced.status_code == 201
    assert forced.json["impact"] == impact
    told = at.send("GET", f"/v1/leases/{lease['id']}", "demo").json["lease"]
    assert (told["degraded"], told["reservations"][0]["missing_resources"]) == (True, True)
    assert ask(at, "DELETE", f"{PATH}/{forced.json['maintenance']['id']}").status_code == 204
    told = at.send("GET", f"/v1/leases/{lease['id']}", "demo").json["lease"]
    assert (told["degraded"], told["reservations"][0]["missing_resources"]) == (False, False)


def test_no_list_of_leases_and_no_quota_knows_it(at: Sandboxed) -> None:
    made = take(at, 1).json["maintenance"]
    for headers in ({}, VERSION):
        for path in ("/v1/leases", "/v1/leases?all_projects=1") if not headers else ("/v1/leases",):
            assert ask(at, "GET", path, headers=headers).json["leases"] == []
    assert ask(at, "GET", f"/v1/leases/{made['id']}").status_code == 404


def test_what_stands_in_the_way_of_a_lease_may_be_a_maintenance(at: Sandboxed) -> None:
    take(at, 1, 2)
    body = {"name": "x", **TIMES, "reservations": [HOST]}
    refused = ask(at, "POST", "/v1/leases", "demo", json=body)
    assert refused.status_code == 409
    (found,) = refused.json["blocking"]["leases"]
    assert (found["lease_id"], found["name"], found["resources"], found["start_date"]) == (
        None,
        None,
        2,
        "2050-01-01T10:00:00.000000",
    )
    (first, *_) = refused.json["suggestions"]["answers"]
    assert first["start_date"] == "2050-01-01T12:00:00.000000"


@pytest.mark.parametrize("headers", [{}, RESERVED], ids=["1.0", "1.7"])
def test_it_is_not_there_before(at: Sandboxed, headers: Any) -> None:
    for method, path in (("GET", PATH), ("POST", PATH), ("GET", f"{PATH}/x"), ("DELETE", f"{PATH}/x")):
        assert (
            ask(at, method, path, json={} if method == "POST" else None, headers=headers).status_code == 404
        )


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"hosts": []}, 400, "The hosts are a list of 1 to 100 ids or names."),
        ({"hosts": "compute-01"}, 400, "The hosts are a list of 1 to 100 ids or names."),
        ({"hosts": [["x"]]}, 400, "A host's name or id is a string of at most 255 characters."),
        ({"hosts": [""]}, 400, "A host's name or id is a string of at most 255 characters."),
        ({"hosts": ["a\nb"]}, 400, "A host's name or id must not contain control characters."),
        ({"hosts": None}, 400, "The hosts are a list of 1 to 100 ids or names."),
        ({"hosts": ["nowhere"]}, 404, "Object with {'host_id': 'nowhere'} not found"),
        ({"reason": 7}, 400, "The reason is a string of at most 1000 characters."),
        ({"force": "yes"}, 400, "Malformed parameter force"),
        ({"name": ""}, 400, "The name must have between 1 and 80 characters."),
        ({"start_date": "2020-01-01 10:00"}, 400, "Start date must be later than current date"),
        ({"end_date": "2050-01-01 10:00"}, 400, "End date must be later than start date."),
        ({"end_date": "soon"}, 400, "soon is an invalid date."),
    ],
)
def test_what_is_refused(at: Sandboxed, change: Any, status: int, words: str) -> None:
    answer = ask(at, "POST", PATH, json={"hosts": ["compute-01"], **TIMES, **change})
    assert (answer.status_code, answer.json["error_message"][: len(words)]) == (status, words)
    assert ask(at, "GET", PATH).json == {"maintenances": []}


def test_what_is_missing(at: Sandboxed) -> None:
    answer = ask(at, "POST", PATH, json={})
    assert (answer.status_code, answer.json["error_message"]) == (400, "Missing parameter end_date, hosts")


def test_it_begins_now_where_nothing_else_is_said(at: Sandboxed) -> None:
    made = ask(at, "POST", PATH, json={"hosts": ["compute-01"], "end_date": "2050-01-01 10:00", "reason": ""})
    assert made.status_code == 201
    shown = made.json["maintenance"]
    assert (shown["name"], shown["reason"]) == ("maintenance", None)
    assert shown["start_date"] <= shown["created_at"].replace(" ", "T") + ".999999"


def test_a_decision_arrives_over_the_broker_as_it_was() -> None:
    interval = Interval(START, START + timedelta(hours=2))
    taken = Allocation("a", "m", "m", "1", interval, created_at=START)
    impact = LeaseImpact(
        "l",
        interval,
        Effect.BREAKS,
        EffectReason.NOTHING_SUITS,
        ("1",),
        (Move("r", ("1",), ("2",)),),
        "training",
        "demo",
        "user",
        LeaseStatus.PENDING,
    )
    decision = MaintenanceDecision(
        Maintenance("m", "disks", "admin", interval, (taken,), None, START), (impact,)
    )
    sent = CODEC.signature("maintenances", "create")
    assert sent.decode_result(sent.encode_result(decision)) == decision
    command = CreateMaintenance(("1",), NOW, START, "disks", None, True)
    caller = Caller("admin", "admin")
    assert sent.decode_arguments(sent.encode_arguments(command, caller))["command"] == command
    assert (Effect("vanishes"), EffectReason("because")) == (Effect.UNKNOWN, EffectReason.UNKNOWN)
