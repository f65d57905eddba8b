"""What leases were promised and have used, over HTTP, with everything real but the hardware, since 1.21."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest

from blazar.adapters.metrics import PrometheusMetrics
from blazar.bootstrap.api import build_api
from blazar.plugins import load_plugins
from blazar.rpc.codec import Codec
from blazar.rpc.dispatcher import Dispatcher
from blazar.rpc.proxy import remote_service
from blazar.service.ports.kind import Dependencies
from blazar.service.utilization import Sampling

from .conftest import sender
from .counting import Counters, CountingTransport
from .sandboxed import Sandboxed, until
from .wishes import HOST, INSTANCES

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.21"}
SINCE_USE = {"OpenStack-API-Version": "reservation 1.22"}
BEFORE = {"OpenStack-API-Version": "reservation 1.20"}
USAGE = "/v1/usage"
COLUMNS = [
    "project_id",
    "user_id",
    "resource_type",
    "leases",
    "no_shows",
    "promised_hours",
    "used_hours",
    "unused_hours",
    "unknown_hours",
]


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    """Two leases of one project, an hour old: two slots of one user, a host of another."""
    site = Sandboxed(tmp_path_factory.mktemp("sandboxed"), usage_seconds=0)
    for name in ("compute-01", "compute-02"):
        assert site.send("POST", "/v1/os-hosts", "admin", json={"name": name}).status_code == 201
    for user, wish in (("demo", {**INSTANCES, "amount": 2}), ("colleague", HOST)):
        body = {"name": "ours", "start_date": "now", "duration": 600, "reservations": [wish]}
        lease = site.send("POST", "/v1/leases", user, json=body, headers=VERSION).json["lease"]
        assert until(lambda lease=lease: is_active(site, lease))  # type: ignore[misc]
    site.clock.ahead += timedelta(minutes=60)
    look(site)
    yield site
    site.stop()


def is_active(site: Sandboxed, lease: Any) -> bool:
    shown = site.send("GET", f"/v1/leases/{lease['id']}", "demo").json["lease"]
    return bool(shown["status"] == "ACTIVE")


def look(site: Sandboxed) -> None:
    kinds = load_plugins(site.conf).kinds
    Sampling(Dependencies(site.database, site.service_cloud, kinds, site.clock)).look(lambda: None)


def ask(at: Sandboxed, query: str = "", user: str = "demo", headers: Any = VERSION) -> Any:
    return at.send("GET", f"{USAGE}?{query}", user, headers=headers)


def rows(at: Sandboxed, query: str = "", user: str = "demo") -> Any:
    answer = ask(at, query, user)
    assert answer.status_code == 200, answer.text
    return answer.json["usage"]["rows"]


def test_hours_are_shown_by_project_and_user(at: Sandboxed) -> None:
    shown = ask(at).json["usage"]
    start, end = (datetime.fromisoformat(shown[key]) for key in ("start_date", "end_date"))
    assert end - start == timedelta(days=30)
    hosts, slots = shown["rows"]
    assert list(hosts) == COLUMNS
    assert (hosts["resource_type"], slots["resource_type"]) == ("physical:host", "virtual:instance")
    assert hosts["promised_hours"] == pytest.approx(1, abs=0.1)
    assert slots["promised_hours"] == pytest.approx(2, abs=0.2)
    assert (hosts["used_hours"], hosts["no_shows"], hosts["user_id"]) == (0, 0, None)
    by_user = rows(at, "group_by=project,user")
    assert len({each["user_id"] for each in by_user}) == 2
    assert {each["project_id"] for each in by_user} == {hosts["project_id"]}
    assert rows(at, f"user_id={by_user[0]['user_id']}") in ([hosts], [slots])
    assert [each["project_id"] for each in rows(at, "group_by=none")] == [None, None]
    assert rows(at, "resource_type=virtual:floatingip") == []


def test_a_window_is_asked_for(at: Sandboxed) -> None:
    now = at.clock.now().astimezone(UTC)
    begin = (now - timedelta(days=3)).strftime("%Y-%m-%d%%20%H:%M")
    end = (now - timedelta(days=1)).strftime("%Y-%m-%d%%20%H:%M")
    assert rows(at, f"start_date={begin}&end_date={end}") == []
    assert rows(at, f"start_date={begin}") != []


@pytest.mark.parametrize(
    ("query", "headers"),
    [("format=csv", {}), ("", {"Accept": "text/csv"}), ("", {"Accept": "text/csv, */*;q=0.1"})],
)
def test_it_comes_as_a_table(at: Sandboxed, query: str, headers: Any) -> None:
    answer = ask(at, query, headers={**VERSION, **headers})
    assert answer.headers["content-type"] == "text/csv"
    told = list(csv.DictReader(StringIO(answer.text)))
    assert list(told[0]) == COLUMNS
    assert [each["resource_type"] for each in told] == [each["resource_type"] for each in rows(at)]


@pytest.mark.parametrize("accept", ["application/json", "*/*", "application/json, text/csv", "text/plain"])
def test_it_comes_as_json_otherwise(at: Sandboxed, accept: str) -> None:
    assert ask(at, headers={**VERSION, "Accept": accept}).json["usage"]["rows"]


def test_members_see_their_project_and_administrators_all(at: Sandboxed) -> None:
    own = rows(at)
    project = own[0]["project_id"]
    assert rows(at, user="admin") == rows(at, f"project_id={project}", user="admin") == own
    assert rows(at, f"project_id={project}") == own
    assert rows(at, user="alt") == []
    assert ask(at, f"project_id={project}", user="alt").status_code == 403
    assert "blazar:usage:get" in ask(at, f"project_id={project}", user="alt").json["error_message"]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("group_by=house", "Malformed parameter group_by"),
        ("format=xml", "Malformed parameter format"),
        ("start_date=yesterday", "yesterday"),
        ("start_date=2030-01-01%2000:00&end_date=2020-01-01%2000:00", "is to begin before it ends"),
        ("start_date=2000-01-01%2000:00", "at most 366 days"),
        ("resource_type=a%20b", "Malformed parameter resource_type"),
        ("user=me", "Unknown parameter"),
        ("format=csv&format=json", "given twice"),
    ],
)
def test_what_makes_no_sense_is_refused(at: Sandboxed, query: str, why: str) -> None:
    answer = ask(at, query)
    assert answer.status_code == 400
    assert why in answer.json["error_message"]


def test_versions_before_have_no_such_path(at: Sandboxed) -> None:
    assert ask(at, headers=BEFORE).status_code == 404


def show(at: Sandboxed, lease_id: str, headers: Any = SINCE_USE) -> Any:
    (reservation,) = at.send("GET", f"/v1/leases/{lease_id}", "demo", headers=headers).json["lease"][
        "reservations"
    ]
    return reservation


def made(at: Sandboxed, start: str = "now") -> str:
    dates = {"start_date": start, "duration": 60}
    body = {"name": "shown", **dates, "reservations": [{**INSTANCES, "amount": 3}]}
    return str(at.send("POST", "/v1/leases", "demo", json=body, headers=SINCE_USE).json["lease"]["id"])


def test_a_lease_tells_what_of_it_is_used_and_what_is_left(at: Sandboxed) -> None:
    lease_id = made(at)
    assert until(lambda: is_active(at, {"id": lease_id}))
    assert show(at, lease_id)["use"] == {"used": None, "left": None, "looked_at": None}
    look(at)
    first = show(at, lease_id)["use"]
    assert (first["used"], first["left"]) == (0, 3)
    assert at.boot("demo", show(at, lease_id)["id"])["status"] == "ACTIVE"
    assert show(at, lease_id)["use"] == first  # the cloud is not asked
    look(at)
    second = show(at, lease_id)["use"]
    assert (second["used"], second["left"]) == (1, 2)
    assert second["looked_at"] > first["looked_at"]
    changed = {"reservations": [{"id": show(at, lease_id)["id"], "amount": 4}]}
    grown = at.send("PUT", f"/v1/leases/{lease_id}", "demo", json=changed, headers=SINCE_USE)
    assert grown.status_code == 200, grown.text
    assert (show(at, lease_id)["use"]["used"], show(at, lease_id)["use"]["left"]) == (1, 3)
    assert "use" not in grown.json["lease"]["reservations"][0]
    assert "use" not in show(at, lease_id, VERSION)
    listed = at.send("GET", "/v1/leases", "demo", headers=SINCE_USE).json["leases"]
    assert all("use" not in each for lease in listed for each in lease["reservations"])
    assert at.send("DELETE", f"/v1/leases/{lease_id}", "demo").status_code == 204


def test_a_lease_that_is_not_active_tells_nothing_of_it(at: Sandboxed) -> None:
    begin = (at.clock.now() + timedelta(days=20)).strftime("%Y-%m-%d %H:%M")
    lease_id = made(at, begin)
    assert "use" not in show(at, lease_id)
    assert at.send("DELETE", f"/v1/leases/{lease_id}", "demo").status_code == 204


def test_a_manager_of_the_version_before_does_not_tell_it(at: Sandboxed) -> None:
    lease_id = made(at)
    assert until(lambda: is_active(at, {"id": lease_id}))
    interfaces = load_plugins(at.conf).interfaces
    older = Codec({noun: each for noun, each in interfaces.items() if noun != "usage"})
    dispatcher = Dispatcher(at.manager.use_cases, older, at.clock)
    transport = CountingTransport(dispatcher, at.clock, Counters())
    send = sender(build_api(at.conf, remote_service(transport, Codec(interfaces)), PrometheusMetrics()))
    shown = send("GET", f"/v1/leases/{lease_id}", at.token("demo"), headers=SINCE_USE)
    assert shown.json["lease"]["reservations"][0]["use"] == {"used": None, "left": None, "looked_at": None}
    assert send("GET", USAGE, at.token("demo"), headers=SINCE_USE).status_code == 503
    assert at.send("DELETE", f"/v1/leases/{lease_id}", "demo").status_code == 204
