"""The times for which hosts are there, over HTTP, with everything real but the hardware, since 1.15."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from blazar.domain.lease.maintenance import Effect, EffectReason, LeaseImpact, Lifetime
from blazar.domain.time import Interval
from blazar.service.commands import SetLifetime
from blazar.service.context import Caller
from blazar.service.maintenances import LifetimeDecision

from .bus import CODEC
from .sandboxed import Sandboxed
from .wishes import HOST

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.15"}
BEFORE = {"OpenStack-API-Version": "reservation 1.12"}
FROM, UNTIL = "2050-01-01T10:00:00.000000", "2050-01-01T12:00:00.000000"
HOSTS = "/v1/os-hosts"
START = datetime(2050, 1, 1, 10, tzinfo=UTC)
NO_DATES = {"available_from": None, "available_until": None}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    at = Sandboxed(tmp_path_factory.mktemp("sandboxed"))
    assert at.send("POST", HOSTS, "admin", json={"name": "compute-01"}).status_code == 201
    yield at
    at.stop()


@pytest.fixture
def at(site: Sandboxed) -> Iterator[Sandboxed]:
    yield site
    for lease in site.send("GET", "/v1/leases", "demo").json["leases"]:
        assert site.send("DELETE", f"/v1/leases/{lease['id']}", "demo").status_code == 204
    for host in ask(site, "GET", HOSTS).json["hosts"]:
        assert change(site, host["id"], **NO_DATES).status_code == 200
        if host["id"] != "1":
            assert ask(site, "DELETE", f"{HOSTS}/{host['id']}").status_code == 204


def ask(
    at: Sandboxed, method: str, path: str, user: str = "admin", json: Any = None, headers: Any = VERSION
) -> Any:
    return at.send(method, path, user, json=json, headers=headers)


def change(at: Sandboxed, host_id: str = "1", **body: Any) -> Any:
    return ask(at, "PUT", f"{HOSTS}/{host_id}", json=body)


def dates(host: Any) -> tuple[str | None, str | None]:
    return host["available_from"], host["available_until"]


def reserve(at: Sandboxed, start: str, end: str) -> Any:
    body = {
        "name": "training",
        "start_date": f"2050-01-01 {start}",
        "end_date": f"2050-01-01 {end}",
        "reservations": [HOST],
    }
    return ask(at, "POST", "/v1/leases", "demo", body)


def test_a_host_is_there_from_a_date_on_and_until_one(at: Sandboxed) -> None:
    changed = change(at, available_from="2050-01-01 10:00", available_until="2050-01-01T12:00:30Z")
    assert changed.status_code == 200, changed.text
    assert dates(changed.json["host"]) == (FROM, UNTIL)
    assert changed.json["impact"] == {"moves": 0, "breaks": 0, "stays": 0, "leases": []}
    assert dates(ask(at, "GET", f"{HOSTS}/1").json["host"]) == (FROM, UNTIL)
    assert [dates(each) for each in ask(at, "GET", HOSTS).json["hosts"]] == [(FROM, UNTIL)]

    for start, end in (("9:00", "10:30"), ("11:30", "12:01"), ("13:00", "14:00")):
        assert reserve(at, start, end).status_code == 409
    assert reserve(at, "10:00", "12:00").status_code == 201
    window = "start_date=2050-01-01+09:00&end_date=2050-01-01+13:00&quantity=hosts"
    (hosts,) = ask(at, "GET", f"/v1/capacity?{window}", "alt").json["capacity"]["quantities"]
    assert hosts["minimum"] == 0

    again = change(at, available_until=None)
    assert dates(again.json["host"]) == (FROM, None), "what is not sent stays"
    assert dates(change(at, available_from="").json["host"]) == (None, None)


def test_a_host_is_registered_before_it_is_there(at: Sandboxed) -> None:
    body = {"name": "compute-02", "available_from": "2050-01-01 10:00", "rack": "r2"}
    made = ask(at, "POST", HOSTS, json=body)
    assert made.status_code == 201, made.text
    host = made.json["host"]
    assert (dates(host), host["rack"]) == ((FROM, None), "r2")
    change(at, available_until="2050-01-01 9:00")
    assert reserve(at, "9:00", "11:00").status_code == 409
    assert reserve(at, "10:00", "11:00").status_code == 201


def test_a_date_that_breaks_a_lease_is_refused_with_its_impact(at: Sandboxed) -> None:
    lease = reserve(at, "10:00", "12:00").json["lease"]
    seen = change(at, available_until="2050-01-01 11:00", dry_run=True)
    assert (seen.status_code, list(seen.json)) == (200, ["impact"])
    refused = change(at, available_until="2050-01-01 11:00")
    assert refused.status_code == 409
    assert refused.json["error_message"].startswith("Leases would break (1), so nothing was changed.")
    assert refused.json["impact"] == seen.json["impact"]
    (impact,) = refused.json["impact"]["leases"]
    assert (impact["lease_id"], impact["effect"], impact["reason"]) == (
        lease["id"],
        "breaks",
        "nothing_suits",
    )
    assert dates(ask(at, "GET", f"{HOSTS}/1").json["host"]) == (None, None)

    forced = change(at, available_until="2050-01-01 11:00", force=True)
    assert (forced.status_code, forced.json["impact"]["breaks"]) == (200, 1)
    assert ask(at, "GET", f"/v1/leases/{lease['id']}", "demo").json["lease"]["degraded"]


def test_properties_are_set_as_before(at: Sandboxed) -> None:
    assert change(at, rack="r1").json["host"]["rack"] == "r1"
    assert "impact" not in change(at, rack=None).json


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"rack": "r1", "available_from": None},
        {"rack": "r1", "force": True},
        {"dry_run": True},
        {"available_from": "soon"},
        {"available_from": 5},
        {"available_until": "2020-01-01 10:00"},
        {"available_from": "2050-01-01 10:00", "available_until": "2050-01-01 10:00"},
        {"available_from": "2050-01-01 10:00", "force": "perhaps"},
        {"available_from": "2250-01-01 10:00"},
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(at: Sandboxed, body: Any) -> None:
    assert change(at, **body).status_code == 400
    assert dates(ask(at, "GET", f"{HOSTS}/1").json["host"]) == (None, None)


def test_hosts_that_are_not_there_are_404_and_others_may_not(at: Sandboxed) -> None:
    assert change(at, "99", available_from=None).status_code == 404
    assert ask(at, "PUT", f"{HOSTS}/1", "demo", {"available_from": None}).status_code == 403


def test_before_1_15_such_keys_are_properties(at: Sandboxed) -> None:
    old = ask(at, "PUT", f"{HOSTS}/1", json={"available_from": "x", "dry_run": "y"}, headers=BEFORE)
    assert (old.json["host"]["available_from"], old.json["host"]["dry_run"]) == ("x", "y")
    assert dates(ask(at, "GET", f"{HOSTS}/1").json["host"]) == (None, None)
    gone = ask(at, "PUT", f"{HOSTS}/1", json={"available_from": None, "dry_run": None}, headers=BEFORE)
    assert "available_from" not in gone.json["host"]


def test_a_decision_keeps_its_value_on_the_way_to_a_manager_and_back() -> None:
    signature = CODEC.signature("lifetimes", "set")
    impact = LeaseImpact(
        "lease", Interval(START, START.replace(hour=12)), Effect.BREAKS, EffectReason.HAS_BEGUN
    )
    for decision in (LifetimeDecision(Lifetime(START, None), (impact,)), LifetimeDecision(None, ())):
        assert signature.decode_result(signature.encode_result(decision)) == decision
    for command in (
        SetLifetime("1", available_from=None),
        SetLifetime("1", available_until=START, force=True),
    ):
        sent = signature.encode_arguments(command, Caller("user", "project"))
        assert signature.decode_arguments(sent)["command"] == command


def test_a_host_of_the_buffer_is_given_to_no_request(at: Sandboxed) -> None:
    kept = change(at, buffer=True)
    assert (kept.status_code, kept.json["host"]["buffer"]) == (200, True)
    assert [each["buffer"] for each in ask(at, "GET", HOSTS).json["hosts"]] == [True]
    refused = reserve(at, "10:00", "11:00")
    assert refused.status_code == 409
    assert refused.json["error_message"].endswith("none of them are free; 1 of them is kept as a buffer.")
    assert refused.json["reasons"][0]["buffered"] == 1
    window = "/v1/capacity?start_date=2050-01-01+09:00&end_date=2050-01-01+13:00&quantity=hosts"
    for headers, user, buffer in ((VERSION, "admin", 1), (BEFORE, "admin", None), (VERSION, "demo", None)):
        (hosts,) = ask(at, "GET", window, user, headers=headers).json["capacity"]["quantities"]
        assert (hosts["minimum"], hosts["steps"][0].get("buffer")) == (0, buffer)
    assert ask(at, "DELETE", f"{HOSTS}/1").status_code == 409
    given_back = change(at, buffer=False)
    assert given_back.json["host"]["buffer"] is False
    assert reserve(at, "10:00", "11:00").status_code == 201


def test_before_the_buffer_a_property_may_be_called_so(at: Sandboxed) -> None:
    told = at.send("PUT", f"{HOSTS}/1", "admin", json={"buffer": True}).json["host"]["buffer"]
    assert told == at.send("GET", f"{HOSTS}/1", "admin").json["host"]["buffer"] == "True"
    assert ask(at, "GET", f"{HOSTS}/1").json["host"]["buffer"] is False
    after = at.send("PUT", f"{HOSTS}/1", "admin", json={"buffer": None})
    assert (after.status_code, "buffer" in after.json["host"]) == (200, False)


@pytest.mark.parametrize(
    "body",
    [{"buffer": True, "rack": "r1"}, {"buffer": True, "available_from": None}, {"buffer": "yes"}],
    ids=str,
)
def test_the_buffer_is_changed_by_itself(at: Sandboxed, body: Any) -> None:
    assert change(at, **body).status_code == 400
    assert ask(at, "GET", f"{HOSTS}/1").json["host"]["buffer"] is False
