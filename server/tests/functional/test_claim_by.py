"""Leases that have to be used by some time, over HTTP, with everything real but the hardware, since 1.9."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from .sandboxed import Sandboxed, until
from .wishes import HOST, INSTANCES

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.9"}
BEFORE = {"OpenStack-API-Version": "reservation 1.8"}
FIRST = {"OpenStack-API-Version": "reservation 1.0"}
LEASES = "/v1/leases"
DEFAULT = 120


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    settings = {"minutes": f"physical:host={DEFAULT}, virtual:floatingip=30", "warning_minutes": 10}
    at = Sandboxed(tmp_path_factory.mktemp("sandboxed"), claim_by=settings)
    for name in ("compute-01", "compute-02"):
        assert at.send("POST", "/v1/os-hosts", "admin", json={"name": name}).status_code == 201
    yield at
    at.stop()


@pytest.fixture
def at(site: Sandboxed) -> Iterator[Sandboxed]:
    """At the beginning of a minute: a lease that starts in the minute after its create has longer."""
    site.clock.ahead += timedelta(seconds=60 - site.clock.now().second)
    yield site
    for lease in site.send("GET", LEASES, "demo").json["leases"]:
        assert site.send("DELETE", f"{LEASES}/{lease['id']}", "demo").status_code == 204


def ask(
    at: Sandboxed, method: str, path: str, user: str = "demo", json: Any = None, headers: Any = VERSION
) -> Any:
    return at.send(method, path, user, json=json, headers=headers)


def create(at: Sandboxed, user: str = "demo", headers: Any = VERSION, **more: Any) -> Any:
    body = {"name": "ours", "start_date": "now", "duration": 600, "reservations": [HOST], **more}
    return ask(at, "POST", LEASES, user, body, headers)


def made(at: Sandboxed, **more: Any) -> Any:
    answer = create(at, **more)
    assert answer.status_code == 201, answer.text
    return answer.json["lease"]


def show(at: Sandboxed, lease: Any, headers: Any = VERSION) -> Any:
    return ask(at, "GET", f"{LEASES}/{lease['id']}", headers=headers).json["lease"]


def becomes(at: Sandboxed, lease: Any, status: str) -> Any:
    assert until(lambda: show(at, lease)["status"] == status), show(at, lease)
    return show(at, lease)


def deadline(lease: Any, minutes: int) -> str:
    moment = datetime.fromisoformat(lease["start_date"]) + timedelta(minutes=minutes)
    return moment.isoformat(timespec="microseconds")


def leap(at: Sandboxed, minutes: float) -> None:
    at.clock.ahead += timedelta(minutes=minutes)
    at.manager.loop.nudge()


@pytest.mark.parametrize(
    ("asked", "minutes"), [({}, DEFAULT), ({"claim_by": None}, DEFAULT), ({"claim_by": 60}, 60)]
)
def test_it_is_shown_with_its_date(at: Sandboxed, asked: Any, minutes: int) -> None:
    lease = made(at, **asked)
    assert (lease["claim_by"], lease["claim_by_date"]) == (minutes, deadline(lease, minutes))
    active = becomes(at, lease, "ACTIVE")
    assert active["claim_by_date"] == lease["claim_by_date"]
    assert [each["event_type"] for each in active["events"]] == [
        "start_lease",
        "end_lease",
        "before_end_lease",
    ]
    (listed,) = ask(at, "GET", LEASES).json["leases"]
    assert (listed["claim_by"], listed["claim_by_date"]) == (minutes, lease["claim_by_date"])
    (few,) = ask(at, "GET", f"{LEASES}?fields=id,claim_by").json["leases"]
    assert few == {"id": lease["id"], "claim_by": minutes}


def test_without_a_default_nothing_is_set(at: Sandboxed) -> None:
    lease = made(at, reservations=[INSTANCES])
    assert (lease["claim_by"], lease["claim_by_date"]) == (None, None)


def test_versions_before_show_and_read_nothing_of_it(at: Sandboxed) -> None:
    body = {"name": "ours", "start_date": "now", "end_date": "2050-01-01 10:00", "claim_by": 60}
    end = (datetime.now() + timedelta(hours=9)).strftime("%Y-%m-%d %H:%M")  # noqa: DTZ005, TID251 - a wish
    body = {**body, "end_date": end, "reservations": [HOST]}
    for headers in (FIRST, BEFORE):
        lease = ask(at, "POST", LEASES, json=body, headers=headers).json["lease"]
        shown = show(at, lease, headers)
        assert "claim_by" not in shown
        assert "claim_by_date" not in shown
        assert all("claim_by" not in each for each in ask(at, "GET", LEASES, headers=headers).json["leases"])
        assert show(at, lease)["claim_by"] == DEFAULT
        assert ask(at, "DELETE", f"{LEASES}/{lease['id']}").status_code == 204
    assert ask(at, "GET", f"{LEASES}?fields=claim_by", headers=BEFORE).status_code == 400


@pytest.mark.parametrize("value", ["60", 1.5, True, -1, 10**9, {}, []])
def test_what_is_no_number_of_minutes_is_refused(at: Sandboxed, value: Any) -> None:
    answer = create(at, claim_by=value)
    assert answer.status_code == 400
    assert answer.json["error_message"].startswith("claim_by is a number of minutes from 0 to ")
    lease = made(at)
    assert ask(at, "PUT", f"{LEASES}/{lease['id']}", json={"claim_by": value}).status_code == 400


@pytest.mark.parametrize("value", [0, DEFAULT + 1])
def test_more_than_the_operator_has_set_needs_a_right(at: Sandboxed, value: int) -> None:
    answer = create(at, claim_by=value)
    assert answer.status_code == 403
    assert "blazar:leases:put_later_claim_by" in answer.json["error_message"]
    assert create(at, claim_by=value, dry_run=True).status_code == 403
    lease = becomes(at, made(at), "ACTIVE")
    path = f"{LEASES}/{lease['id']}"
    assert ask(at, "PUT", path, json={"claim_by": value}).status_code == 403
    changed = ask(at, "PUT", path, "admin", {"claim_by": value}).json["lease"]
    assert changed["claim_by"] == (value or None)
    again = ask(at, "PUT", path, json={"claim_by": None}).json["lease"]
    assert again["claim_by"] == DEFAULT


def test_a_dry_run_shows_it(at: Sandboxed) -> None:
    lease = create(at, claim_by=30, dry_run=True).json["lease"]
    assert (lease["claim_by"], lease["claim_by_date"]) == (30, deadline(lease, 30))
    assert "claim_by" not in create(at, dry_run=True, headers=BEFORE).json["lease"]


def test_it_is_given_with_an_offer(at: Sandboxed) -> None:
    held = {"start_date": "now", "duration": 600, "reservations": [HOST]}
    offer = ask(at, "POST", "/v1/offers", json=held).json["offer"]
    answer = ask(at, "POST", LEASES, json={"name": "claimed", "offer": offer["id"], "claim_by": 45})
    assert answer.json["lease"]["claim_by"] == 45


def test_an_unused_lease_is_released(at: Sandboxed) -> None:
    lease = becomes(at, made(at, claim_by=30), "ACTIVE")
    leap(at, 21)
    assert until(lambda: "close_unclaimed_lease" in looks(at, lease))
    assert show(at, lease)["status"] == "ACTIVE"
    leap(at, 10)
    assert until(lambda: "end_unclaimed_lease" in looks(at, lease))
    reservation = lease["reservations"][0]["id"]
    flavors = at.openstack("GET", "/compute/v2.1/flavors")["flavors"]
    small = next(each["id"] for each in flavors if each["name"] == "m1.tiny")
    # From now on Nova lets no server in.
    assert at.boot("demo", small, reservation=reservation)["status"] == "ERROR"
    leap(at, 1.5)
    over = becomes(at, lease, "TERMINATED")
    assert over["status_reason"].startswith("It was not used within 30 minutes, so it was released at ")
    assert over["end_date"] < lease["end_date"]
    assert (over["claim_by"], over["claim_by_date"]) == (30, None)


def test_a_lease_with_a_server_stays(at: Sandboxed) -> None:
    lease = becomes(at, made(at, claim_by=30), "ACTIVE")
    flavors = at.openstack("GET", "/compute/v2.1/flavors")["flavors"]
    small = next(each["id"] for each in flavors if each["name"] == "m1.tiny")
    reservation = lease["reservations"][0]["id"]
    server = at.boot("demo", small, reservation=reservation)
    assert server["status"] == "ACTIVE"
    leap(at, 21)
    assert until(lambda: not looks(at, lease))
    assert (show(at, lease)["claim_by"], show(at, lease)["claim_by_date"]) == (30, None)
    leap(at, 60)
    assert show(at, lease)["status"] == "ACTIVE"
    assert at.openstack("GET", f"/compute/v2.1/servers/{server['id']}")["server"]["status"] == "ACTIVE"


def looks(at: Sandboxed, lease: Any) -> list[str]:
    """The events of the lease by which it is looked at."""
    with at.database.read() as uow:
        stored = uow.leases.get(lease["id"])
    return [] if stored is None else [e.event_type for e in stored.events if not e.event_type.is_public]
