"""Calendar feeds over HTTP, with everything real but the hardware, since version 1.17. What is served is read
by another library than the one that has written it."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import vobject
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from blazar.adapters.metrics import PrometheusMetrics
from blazar.adapters.tracing import OpenTelemetryTracing
from blazar.api.feeds import STRANGERS, FeedTurns
from blazar.bootstrap.api import build_api
from blazar.domain.errors import CloudUnavailable, FeedNotFound

from .conftest import sender
from .sandboxed import Sandboxed
from .wishes import HOST

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.17"}
BEFORE = {"OpenStack-API-Version": "reservation 1.15"}
PATH = "/v1/feeds"
NAME = "a name, with; odd\\ characters " + "å" * 40
TIMES = {"start_date": "2050-03-27 00:30", "end_date": "2050-03-27 02:30"}
"""In Berlin, summer time begins between the two."""


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    site = Sandboxed(tmp_path_factory.mktemp("sandboxed"), feeds={"max_per_user": 3})
    for name in ("compute-01", "compute-02"):
        assert site.send("POST", "/v1/os-hosts", "admin", json={"name": name}).status_code == 201
    yield site
    site.stop()


@pytest.fixture(autouse=True)
def tidy(at: Sandboxed) -> Iterator[None]:
    yield
    for each in ask(at, "GET", PATH, "admin").json["feeds"]:
        assert ask(at, "DELETE", f"{PATH}/{each['id']}", "admin").status_code == 204
    for lease in at.send("GET", "/v1/leases", "admin").json["leases"]:
        assert at.send("DELETE", f"/v1/leases/{lease['id']}", "admin").status_code == 204


def ask(at: Sandboxed, method: str, path: str, user: str = "demo", json: Any = None) -> Any:
    return at.send(method, path, user, json=json, headers=VERSION)


def feed(at: Sandboxed, user: str = "demo", **body: Any) -> Any:
    made = ask(at, "POST", PATH, user, json=body)
    assert made.status_code == 201, made.text
    return made.json["feed"]


def lease(at: Sandboxed, name: str = "training", user: str = "demo", **more: Any) -> str:
    body = {"name": name, **TIMES, "reservations": [HOST], **more}
    made = at.send("POST", "/v1/leases", user, json=body)
    assert made.status_code == 201, made.text
    return str(made.json["lease"]["id"])


def fetch(at: Sandboxed, url: str, **headers: str) -> Any:
    """Return what a calendar program gets, which has no token."""
    return at.ask("GET", url.removeprefix("http://falconframework.org"), headers=headers)


def events(at: Sandboxed, url: str) -> dict[str, Any]:
    """Return the events of a feed by their UIDs."""
    answer = fetch(at, url)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/calendar; charset=utf-8"
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert all(len(line) <= 75 for line in answer.content.split(b"\r\n"))
    calendar = vobject.readOne(answer.text)
    calendar.validate()
    return {each.uid.value: each for each in getattr(calendar, "vevent_list", [])}


def test_a_lease_is_in_the_calendar_until_it_is_cancelled(at: Sandboxed) -> None:
    made = feed(at, name="ours")
    assert events(at, made["url"]) == {}
    lease_id = lease(at, NAME)
    first = events(at, made["url"])[lease_id]
    assert (first.summary.value, first.status.value) == (NAME, "CONFIRMED")
    assert first.dtstart.value == datetime(2050, 3, 27, 0, 30, tzinfo=UTC)
    berlin = [each.value.astimezone(ZoneInfo("Europe/Berlin")).hour for each in (first.dtstart, first.dtend)]
    assert berlin == [1, 4]
    assert "Reserved: physical:host: min 1, max 1" in first.description.value
    assert first.url.value == "http://falconframework.org/dashboard/"
    changed = at.send("PUT", f"/v1/leases/{lease_id}", "demo", json={"end_date": "2050-03-27 03:30"})
    assert changed.status_code == 200, changed.text
    second = events(at, made["url"])[lease_id]
    assert second.dtend.value - first.dtend.value == timedelta(hours=1)
    assert at.send("DELETE", f"/v1/leases/{lease_id}", "demo").status_code == 204
    third = events(at, made["url"])[lease_id]
    assert (third.summary.value, third.status.value) == (NAME, "CANCELLED")
    assert third.dtend.value == second.dtend.value
    told = [(int(each.sequence.value), each.last_modified.value) for each in (first, second, third)]
    assert told == sorted(told)
    assert len({sequence for sequence, _ in told}) == 3


def test_what_is_started_with_a_lease_is_told(at: Sandboxed) -> None:
    made = feed(at)
    start = {"type": "stack", "template": {"heat_template_version": "2021-04-16", "resources": {}}}
    body = {"name": NAME, **TIMES, "reservations": [HOST], "on_start": start}
    version = {"OpenStack-API-Version": "reservation 1.37"}
    answer = at.send("POST", "/v1/leases", "demo", json=body, headers=version)
    assert answer.status_code == 201, answer.text
    told = events(at, made["url"])[answer.json["lease"]["id"]]
    assert "\nA stack of Heat is started with it.\n" in told.description.value


def test_the_address_is_shown_once_and_only_its_hash_is_kept(at: Sandboxed) -> None:
    made = feed(at)
    url = made.pop("url")
    secret = url.rpartition("/")[2].removesuffix(".ics")
    assert (made["scope"], made["lease_id"], len(secret)) == ("project", None, 43)
    assert ask(at, "GET", PATH).json == {"feeds": [made]}
    assert hashlib.sha256(secret.encode()).hexdigest() in str(at.stored()["feeds"])
    assert secret not in str(at.stored())
    assert ask(at, "DELETE", f"{PATH}/{made['id']}").status_code == 204
    gone, never, short = (fetch(at, path) for path in (url, f"{PATH}/{'x' * 43}.ics", f"{PATH}/x.ics"))
    assert [each.status_code for each in (gone, never, short)] == [404] * 3
    assert gone.text == never.text == short.text
    assert gone.json["error_message"] == "There is no calendar feed with this address."
    again = ask(at, "DELETE", f"{PATH}/{made['id']}")
    assert (again.status_code, again.json["error_message"]) == (
        404,
        f"There is no calendar feed {made['id']}.",
    )


def test_it_stands_behind_a_prefix(at: Sandboxed) -> None:
    made = at.send("POST", PATH, "demo", json={}, headers=VERSION, root_path="/reservation").json["feed"]
    host, prefix, address = made["url"].partition("/reservation")
    assert (host, prefix) == ("http://falconframework.org", "/reservation")
    found = at.ask("GET", address, root_path="/reservation")
    assert (found.status_code, found.text.splitlines()[0]) == (200, "BEGIN:VCALENDAR")


def test_nothing_is_sent_where_nothing_has_changed(at: Sandboxed) -> None:
    url = feed(at)["url"]
    lease_id = lease(at)
    first = fetch(at, url)
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "private, no-cache"
    for sent in (tag, f'"other", W/{tag}'):
        same = fetch(at, url, **{"If-None-Match": sent})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    assert fetch(at, url).content == first.content
    assert at.send("PUT", f"/v1/leases/{lease_id}", "demo", json={"name": "other"}).status_code == 200
    assert fetch(at, url, **{"If-None-Match": tag}).status_code == 200


def test_each_scope_has_its_leases(at: Sandboxed) -> None:
    mine, other = lease(at), lease(at, user="colleague")
    user_id = feed(at)["user_id"]
    shown = {
        "project": (feed(at, scope="project"), {mine, other}),
        "user": (feed(at, scope="user"), {mine}),
        "lease": (feed(at, "colleague", scope="lease", lease_id=mine), {mine}),
        "another user": (feed(at, "colleague", scope="user", user_id=user_id), {mine}),
        "foreign": (feed(at, "alt"), set()),
    }
    for made, expected in shown.values():
        found = events(at, made["url"])
        assert {uid for uid, each in found.items() if each.status.value != "CANCELLED"} == expected
    assert shown["lease"][0]["watched_project_id"] == shown["project"][0]["project_id"]
    assert [each["scope"] for each in ask(at, "GET", PATH, "alt").json["feeds"]] == ["project"]
    assert len(ask(at, "GET", f"{PATH}?user_id={user_id}", "admin").json["feeds"]) == 3
    refused = ask(at, "POST", PATH, json={})
    assert (refused.status_code, refused.json["error_message"]) == (
        409,
        "You have 3 calendar feeds of the project already, which is as many as you may have.",
    )


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"scope": "cloud"}, 400, "The scope is one of project, user, lease."),
        ({"scope": "lease"}, 400, "A feed of the scope lease has a lease_id."),
        ({"lease_id": "x"}, 400, "A feed of the scope project has no lease_id."),
        (
            {"scope": "lease", "lease_id": "x", "user_id": "x"},
            400,
            "A feed of the scope lease has no user_id.",
        ),
        ({"scope": "lease", "lease_id": "x"}, 400, "There is no lease x."),
        ({"scope": "user", "user_id": "é"}, 400, "An id is a text of letters, digits and dashes."),
        ({"project_id": "another"}, 403, "blazar:leases:get"),
        ({"scope": "lease", "lease_id": "THEIRS"}, 400, "There is no lease "),
    ],
)
def test_what_is_refused(at: Sandboxed, body: dict[str, Any], status: int, told: str) -> None:
    if body.get("lease_id") == "THEIRS":
        body = {**body, "lease_id": lease(at, user="alt")}
    answer = ask(at, "POST", PATH, json=body)
    assert answer.status_code == status, answer.text
    assert told in answer.json["error_message"]
    assert ask(at, "GET", PATH, "admin").json["feeds"] == []


def test_there_are_none_before_the_version(at: Sandboxed) -> None:
    assert at.send("GET", PATH, "demo", headers=BEFORE).status_code == 404


def test_no_log_trace_or_metric_has_a_secret(at: Sandboxed, caplog: pytest.LogCaptureFixture) -> None:
    secret = feed(at)["url"].rpartition("/")[2].removesuffix(".ics")
    kept, metrics = InMemorySpanExporter(), PrometheusMetrics()
    tracing = OpenTelemetryTracing("blazar-api", SimpleSpanProcessor(kept))
    send = sender(build_api(at.conf, at.manager.use_cases, metrics, tracing))
    caplog.set_level(logging.DEBUG)
    address = f"{PATH}/{secret}"
    found = {
        (method, path): send(method, path, None)
        for method, path in [
            *((method, f"{address}.ics") for method in ("GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS")),
            *(("GET", f"{address}{end}") for end in ("", "/", ".ics/", ".ics.json", ".ICS")),
            *(("GET", f"{before}{address}.ics") for before in ("/", "/prefix")),
            ("GET", address.upper()),
            ("GET", f"{PATH}//{secret}.ics"),
        ]
    }
    ends = [path.rpartition(secret)[2] for (_, path), answer in found.items() if answer.status_code == 200]
    assert ends == [".ics", ".ics", ".ics", "", ".ics.json"]
    lines = [record.getMessage() for record in caplog.records if record.name == "blazar.api.request_log"]
    assert len(lines) == len(found)
    assert lines[0].startswith("GET /v1/feeds/{feed_secret}.ics 200 ")
    told = [
        caplog.text,
        metrics.exposition()[1].decode(),
        *(span.to_json() for span in kept.get_finished_spans()),
    ]
    told += [f"{answer.headers} {answer.text}" for answer in found.values()]
    assert not [each for each in told if secret.lower() in each.lower()]
    assert 'route="/v1/feeds/{feed_secret}.ics"' in told[1]


def test_strangers_who_guess_hold_few_requests() -> None:
    turns, go = FeedTurns(), threading.Event()

    def held(number: int) -> None:
        with pytest.raises(FeedNotFound), turns.one(f"guess {number}"):
            entered.release()
            assert go.wait(20)
            raise FeedNotFound(feed="with this address")

    entered = threading.Semaphore(0)
    with turns.one("right"):
        pass
    with ThreadPoolExecutor(STRANGERS) as threads:
        guesses = [threads.submit(held, number) for number in range(STRANGERS)]
        assert all(entered.acquire(timeout=20) for _ in guesses)
        with pytest.raises(CloudUnavailable), turns.one("one more"):
            pass
        with turns.one("right"):
            turns.forget("right")
        with pytest.raises(CloudUnavailable), turns.one("right"):
            pass
        go.set()
        for each in guesses:
            each.result()
    with turns.one("one more"):
        pass


def test_it_shows_what_others_share_with_the_project(at: Sandboxed) -> None:
    mine, theirs = lease(at), lease(at, "lab", "alt")
    later = {"start_date": "2050-03-28 00:30", "end_date": "2050-03-28 01:30"}
    hidden = lease(at, "own", "alt", **later)
    made = feed(at)
    project, own = made["url"], feed(at, scope="user")["url"]
    share = f"/v1/leases/{theirs}/shares/{made['project_id']}"
    latest = {"OpenStack-API-Version": "reservation 1.34"}
    assert at.send("PUT", share, "alt", json={"right": "read"}, headers=latest).status_code == 200
    only = feed(at, scope="lease", lease_id=theirs)
    assert only["watched_project_id"] == made["project_id"]
    tag = fetch(at, project).headers["etag"]
    found = events(at, project)
    assert [there(at, url) for url in (project, own, only["url"])] == [{mine, theirs}, {mine}, {theirs}]
    assert (found[mine].summary.value, found[theirs].summary.value) == ("training", "lab (shared)")
    assert "shared with this one to be read only." in found[theirs].description.value
    refused = ask(at, "POST", PATH, json={"scope": "lease", "lease_id": hidden})
    assert (refused.status_code, refused.json["error_message"]) == (400, f"There is no lease {hidden}.")

    assert at.send("PUT", share, "alt", json={"right": "change"}, headers=latest).status_code == 200
    changed = fetch(at, project, **{"If-None-Match": tag})
    assert changed.status_code == 200
    assert "to change its name and dates" in events(at, project)[theirs].description.value
    assert at.send("DELETE", share, "alt", headers=latest).status_code == 204
    assert [there(at, url) for url in (project, only["url"])] == [{mine}, set()]


def there(at: Sandboxed, url: str) -> set[str]:
    """Return the leases of a feed that are not cancelled."""
    return {uid for uid, each in events(at, url).items() if each.status.value != "CANCELLED"}
