"""The waitlist over HTTP, with everything real but the hardware, since version 1.7."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from blazar.adapters.clock import SystemClock
from blazar.service.ports import Notification

from .sandboxed import Sandboxed, until
from .wishes import HOST, INSTANCES

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.7"}
BEFORE = {"OpenStack-API-Version": "reservation 1.6"}
FIRST = {"OpenStack-API-Version": "reservation 1.0"}
START = (SystemClock().now() + timedelta(days=30)).strftime("%Y-%m-%d 10:00")
END = START.replace("10:00", "12:00")
TIMES = {"start_date": START, "end_date": END}
TWO = {**HOST, "min": 2, "max": 2}
LEASES = "/v1/leases"


def later(minutes: float) -> str:
    return (SystemClock().now() + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:00.000000")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    directory = tmp_path_factory.mktemp("sandboxed")
    at = Sandboxed(directory, waitlist_look_seconds=1, max_waiting_leases_per_project=3)
    for name in ("compute-01", "compute-02"):
        assert at.send("POST", "/v1/os-hosts", "admin", json={"name": name}).status_code == 201
    yield at
    at.stop()


@pytest.fixture
def at(site: Sandboxed) -> Iterator[Sandboxed]:
    yield site
    for user in ("demo", "alt"):
        for lease in site.send("GET", LEASES, user).json["leases"]:
            assert site.send("DELETE", f"{LEASES}/{lease['id']}", user).status_code == 204


def ask(
    at: Sandboxed, method: str, path: str, user: str = "demo", json: Any = None, headers: Any = VERSION
) -> Any:
    return at.send(method, path, user, json=json, headers=headers)


def create(at: Sandboxed, *reservations: Any, user: str = "demo", headers: Any = VERSION, **more: Any) -> Any:
    body = {"name": "patient", **TIMES, "reservations": list(reservations) or [TWO], **more}
    return ask(at, "POST", LEASES, user, body, headers)


def wait(at: Sandboxed, *reservations: Any, user: str = "demo", **more: Any) -> Any:
    answer = create(at, *reservations, user=user, on_shortage={"wait_until": later(90)}, **more)
    assert answer.status_code == 201, answer.text
    return answer.json["lease"]


def show(at: Sandboxed, lease: Any, user: str = "demo", headers: Any = VERSION) -> Any:
    return ask(at, "GET", f"{LEASES}/{lease['id']}", user, headers=headers).json["lease"]


class Hearing:
    """A receiver of notifications that remembers them."""

    def __init__(self, heard: list[Any]) -> None:
        self.heard = heard

    def send(self, notification: Notification) -> None:
        self.heard.append((notification.event_type, notification.payload))


def test_a_lease_waits_and_is_promoted_by_itself(at: Sandboxed) -> None:
    other = create(at, user="alt").json["lease"]
    lease = wait(at)
    assert (lease["status"], lease["events"]) == ("WAITING", [])
    assert [each["status"] for each in lease["reservations"]] == ["pending"]
    waiting = lease["waiting"]
    assert waiting == {
        "position": 1,
        "since": waiting["since"],
        "until": later(90),
        "expected_start": None,
    }
    since = datetime.fromisoformat(f"{waiting['since']}+00:00")
    assert abs(SystemClock().now() - since) < timedelta(minutes=1)
    assert show(at, lease) == lease
    (place,) = ask(at, "GET", "/v1/waitlist").json["waitlist"]
    assert place == {
        "lease_id": lease["id"],
        **{name: lease[name] for name in ("name", "user_id", "project_id", "start_date", "end_date")},
        **waiting,
    }
    assert ask(at, "DELETE", f"{LEASES}/{other['id']}", "alt").status_code == 204
    assert until(lambda: show(at, lease)["status"] == "PENDING")
    found = show(at, lease)
    assert "waiting" not in found
    assert len(found["events"]) == 3
    assert (found["start_date"], found["end_date"]) == (lease["start_date"], lease["end_date"])
    assert ask(at, "GET", "/v1/waitlist").json == {"waitlist": []}
    assert create(at, user="alt").status_code == 409


def test_without_a_shortage_the_lease_is_made(at: Sandboxed) -> None:
    lease = wait(at)
    assert lease["status"] == "PENDING"
    assert "waiting" not in lease


def test_without_on_shortage_a_shortage_is_told(at: Sandboxed) -> None:
    create(at, user="alt")
    for more in ({}, {"on_shortage": None}):
        assert create(at, **more).status_code == 409
    dry = create(at, dry_run=True, on_shortage={"wait_until": later(90)})
    assert dry.status_code == 409
    assert ask(at, "GET", LEASES).json["leases"] == []


def test_versions_before_do_not_know_it(at: Sandboxed) -> None:
    create(at, user="alt")
    assert create(at, headers=BEFORE, on_shortage={"wait_until": later(90)}).status_code == 409
    assert ask(at, "GET", "/v1/waitlist", headers=BEFORE).status_code == 404
    lease = wait(at)
    for headers in (FIRST, BEFORE):
        shown = show(at, lease, headers=headers)
        expected = {name: value for name, value in lease.items() if name != "waiting"}
        assert {**shown, "updated_at": None} == expected
        (listed,) = ask(at, "GET", LEASES, headers=headers).json["leases"]
        assert listed == shown
        renamed = ask(at, "PUT", f"{LEASES}/{lease['id']}", json={"name": "renamed"}, headers=headers)
        assert renamed.json["lease"]["name"] == "renamed"
        ask(at, "PUT", f"{LEASES}/{lease['id']}", json={"name": "patient"}, headers=headers)
        refused = ask(at, "PUT", f"{LEASES}/{lease['id']}", json={"end_date": later(0)}, headers=headers)
        assert refused.status_code == 409
        unknown = ask(at, "GET", f"{LEASES}?fields=waiting", headers=BEFORE)
        assert unknown.status_code == 400 and "waiting" not in unknown.json["error_message"].split("only")[1]
    assert ask(at, "DELETE", f"{LEASES}/{lease['id']}", headers=FIRST).status_code == 204


def test_lists_tell_how_long_it_waits(at: Sandboxed) -> None:
    create(at, user="alt")
    lease = wait(at)
    expected = {name: value for name, value in lease["waiting"].items() if name != "position"}
    (listed,) = ask(at, "GET", f"{LEASES}?status=WAITING&fields=waiting,id").json["leases"]
    assert listed == {"id": lease["id"], "waiting": expected}


def test_another_time_and_another_name(at: Sandboxed) -> None:
    create(at, user="alt")
    lease = wait(at)
    path = f"{LEASES}/{lease['id']}"
    changed = ask(at, "PUT", path, json={"name": "new", "on_shortage": {"wait_until": later(120)}})
    assert changed.status_code == 200, changed.text
    assert changed.json["lease"]["name"] == "new"
    assert changed.json["lease"]["waiting"] == {**lease["waiting"], "until": later(120)}
    refused = ask(at, "PUT", path, json={"start_date": later(600)})
    assert (refused.status_code, refused.json["error_message"]) == (
        409,
        "Invalid lease status: the lease waits: only its name and on_shortage can change. "
        "Delete it, and create another one.",
    )
    for user, status in (("alt", 404), ("viewer", 403)):
        asked = ask(at, "PUT", path, user, json={"on_shortage": {"wait_until": later(100)}})
        assert asked.status_code == status


def test_one_that_does_not_wait(at: Sandboxed) -> None:
    lease = create(at).json["lease"]
    refused = ask(at, "PUT", f"{LEASES}/{lease['id']}", json={"on_shortage": {"wait_until": later(100)}})
    assert refused.status_code == 409
    assert "does not wait" in refused.json["error_message"]


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({}, "Missing parameter wait_until"),
        ({"wait_until": "soon"}, "soon is an invalid date. Required format: %Y-%m-%d %H:%M"),
        ({"wait_until": None}, "null is an invalid date. Required format: %Y-%m-%d %H:%M"),
        ({"wait_until": "2020-01-01 10:00"}, "A lease cannot wait until a moment that is not ahead."),
        ({"wait_until": "2050-01-01 10:00"}, "A lease may wait for at most 168 hours."),
    ],
)
def test_wishes_that_are_refused(at: Sandboxed, wish: Any, sentence: str) -> None:
    answer = create(at, on_shortage=wish)
    assert (answer.status_code, answer.json["error_message"]) == (400, sentence)


def test_what_cannot_wait(at: Sandboxed) -> None:
    answer = create(at, {**INSTANCES, "affinity": True}, on_shortage={"wait_until": later(90)})
    assert answer.status_code == 400
    assert answer.json["error_message"].startswith("This lease cannot wait: instances with an affinity")
    with_offer = {"name": "x", "offer": "5e1f", "on_shortage": {"wait_until": later(90)}}
    assert ask(at, "POST", LEASES, json=with_offer).status_code == 400
    assert create(at, {**HOST, "min": 9, "max": 9}, on_shortage={"wait_until": later(90)}).status_code == 409


def test_one_that_is_too_many(at: Sandboxed) -> None:
    create(at, user="alt")
    for _ in range(3):
        wait(at)
    answer = create(at, on_shortage={"wait_until": later(90)})
    assert answer.status_code == 403
    assert answer.json["reasons"] == [
        {"reason": "quota", "limit_name": "waiting_leases", "limit": 3, "used": 3, "asked": 1}
    ]


def test_who_sees_what(at: Sandboxed) -> None:
    other = create(at, user="alt").json["lease"]
    ours, theirs = wait(at), wait(at, user="alt")
    for user, expected in (
        ("demo", [ours]),
        ("viewer", [ours]),
        ("alt", [theirs]),
        ("admin", [ours, theirs]),
    ):
        found = ask(at, "GET", "/v1/waitlist", user).json["waitlist"]
        assert [each["lease_id"] for each in found] == [each["id"] for each in expected]
    assert ask(at, "DELETE", f"{LEASES}/{other['id']}", "alt").status_code == 204


def test_an_earliest_start_within_a_window(at: Sandboxed) -> None:
    create(at, start_date="now", end_date=later(600), user="alt")
    window = {"start_date": "earliest", "duration": 60, "latest_end": later(300)}
    body = {"name": "soon", "reservations": [TWO], **window, "on_shortage": {"wait_until": later(9000)}}
    made = ask(at, "POST", LEASES, json=body)
    assert made.status_code == 201, made.text
    assert made.json["lease"]["waiting"]["until"] == later(240)


def test_what_is_told_of_it(at: Sandboxed) -> None:
    """Each notification has the document of the lease, as all have."""
    heard: list[Any] = []
    at.manager._relay._notifier = Hearing(heard)
    other = create(at, user="alt").json["lease"]
    lease, second = wait(at), wait(at)
    ask(at, "DELETE", f"{LEASES}/{second['id']}")
    ask(at, "DELETE", f"{LEASES}/{other['id']}", "alt")

    def of(lease: Any) -> list[tuple[str, str]]:
        return [(event, told["status"]) for event, told in heard if told["lease_id"] == lease["id"]]

    promoted = [("lease.waitlisted", "WAITING"), ("lease.create", "PENDING"), ("lease.promoted", "PENDING")]
    assert until(lambda: of(lease) == promoted), heard
    assert of(second) == [("lease.waitlisted", "WAITING"), ("lease.wait_cancelled", "DELETING")]
