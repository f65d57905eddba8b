"""What leases were promised and have used, over HTTP, with everything real but the hardware, since 1.21."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest

from blazar.plugins import load_plugins
from blazar.service.ports.kind import Dependencies
from blazar.service.utilization import Sampling

from .sandboxed import Sandboxed, until
from .wishes import HOST, INSTANCES

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.21"}
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
    """Two leases of one project that have begun: two slots of one user, a host of another."""
    site = Sandboxed(tmp_path_factory.mktemp("sandboxed"), usage_seconds=0)
    for name in ("compute-01", "compute-02"):
        assert site.send("POST", "/v1/os-hosts", "admin", json={"name": name}).status_code == 201
    for user, wish in (("demo", {**INSTANCES, "amount": 2}), ("colleague", HOST)):
        body = {"name": "ours", "start_date": "now", "duration": 600, "reservations": [wish]}
        lease = site.send("POST", "/v1/leases", user, json=body, headers=VERSION).json["lease"]
        assert until(lambda lease=lease: is_active(site, lease))  # type: ignore[misc]
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
    at.clock.ahead += timedelta(minutes=60)
    look(at)
    shown = ask(at).json["usage"]
    start, end = (datetime.fromisoformat(shown[key]) for key in ("start_date", "end_date"))
    assert end - start == timedelta(days=30)
    hosts, slots = shown["rows"]
    assert list(hosts) == COLUMNS
    assert (hosts["resource_type"], slots["resource_type"]) == ("physical:host", "virtual:instance")
    assert hosts["promised_hours"] == pytest.approx(1, abs=0.1)
    assert slots["promised_hours"] == pytest.approx(2, abs=0.2)
    assert (hosts["used_hours"], hosts["leases"], hosts["no_shows"], hosts["user_id"]) == (0, 1, 0, None)
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
