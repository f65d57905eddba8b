"""Leases of different priorities over HTTP, since version 1.13."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blazar.domain.lease.displacement import DisplacedLease
from blazar.domain.lease.priority import Priority
from blazar.service.commands import CreateLease
from blazar.service.context import Caller
from blazar.service.leases import DisplacingPreview

from .canned import LEASE, Canned, CannedLeases
from .conftest import configured, edge
from .sandboxed import Sandboxed, until
from .wishes import HOST

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.13"}
BEFORE = {"OpenStack-API-Version": "reservation 1.12"}
LEASES = "/v1/leases"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    at = Sandboxed(tmp_path_factory.mktemp("sandboxed"), waitlist_look_seconds=1)
    for name in ("compute-01", "compute-02"):
        assert at.send("POST", "/v1/os-hosts", "admin", json={"name": name}).status_code == 201
    yield at
    at.stop()


@pytest.fixture
def at(site: Sandboxed) -> Iterator[Sandboxed]:
    yield site
    for lease in site.send("GET", LEASES, "admin").json["leases"]:
        assert site.send("DELETE", f"{LEASES}/{lease['id']}", "admin").status_code == 204


def ask(
    at: Sandboxed, method: str, path: str, user: str = "demo", json: Any = None, headers: Any = VERSION
) -> Any:
    return at.send(method, path, user, json=json, headers=headers)


def create(at: Sandboxed, user: str = "demo", headers: Any = VERSION, hosts: int = 1, **more: Any) -> Any:
    reservation = {**HOST, "min": hosts, "max": hosts}
    dates = {"start_date": "2050-01-01 10:00", "end_date": "2050-01-01 12:00"}
    return ask(
        at, "POST", LEASES, user, {"name": "ours", **dates, "reservations": [reservation], **more}, headers
    )


def made(at: Sandboxed, user: str = "demo", **more: Any) -> Any:
    answer = create(at, user, **more)
    assert answer.status_code == 201, answer.text
    return answer.json["lease"]


def show(at: Sandboxed, lease: Any, user: str = "demo", headers: Any = VERSION) -> Any:
    return ask(at, "GET", f"{LEASES}/{lease['id']}", user, headers=headers).json["lease"]


def test_a_lease_is_normal_unless_its_user_says(at: Sandboxed) -> None:
    assert made(at)["priority"] == "normal"
    low = made(at, priority="low")
    assert low["priority"] == show(at, low)["priority"] == "low"
    listed = ask(at, "GET", f"{LEASES}?priority=low&fields=id,priority").json["leases"]
    assert listed == [{"id": low["id"], "priority": "low"}]
    assert len(ask(at, "GET", f"{LEASES}?priority=normal").json["leases"]) == 1
    assert ask(at, "GET", f"{LEASES}?priority=high").json["leases"] == []


def test_versions_before_show_and_read_nothing_of_it(at: Sandboxed) -> None:
    answer = create(at, priority="high", headers=BEFORE)
    assert answer.status_code == 201
    lease = answer.json["lease"]
    assert "priority" not in lease
    assert "priority" not in show(at, lease, headers=BEFORE)
    assert show(at, lease)["priority"] == "normal"
    for query in ("priority=low", "fields=priority"):
        assert ask(at, "GET", f"{LEASES}?{query}", headers=BEFORE).status_code == 400
    path = f"{LEASES}/{lease['id']}"
    assert ask(at, "PUT", path, json={"priority": "low"}, headers=BEFORE).status_code == 200
    assert show(at, lease)["priority"] == "normal"


def test_the_high_class_needs_a_right(at: Sandboxed) -> None:
    for answer in (create(at, priority="high"), create(at, priority="high", dry_run=True)):
        assert answer.status_code == 403
        assert "blazar:leases:put_high_priority" in answer.json["error_message"]
    assert made(at, "admin", priority="high")["priority"] == "high"


def test_it_changes_by_an_update(at: Sandboxed) -> None:
    lease = made(at)
    path = f"{LEASES}/{lease['id']}"
    assert ask(at, "PUT", path, json={"priority": "low"}).json["lease"]["priority"] == "low"
    assert ask(at, "PUT", path, json={"priority": "high"}).status_code == 403
    assert ask(at, "PUT", path, "admin", json={"priority": "high"}).json["lease"]["priority"] == "high"
    # It is so already, and nothing is given.
    assert ask(at, "PUT", path, json={"priority": "high", "name": "b"}).json["lease"]["priority"] == "high"
    shown = ask(at, "PUT", path, json={"priority": "normal", "dry_run": True}).json["lease"]
    assert shown["priority"] == "normal"
    assert show(at, lease)["priority"] == "high"
    assert ask(at, "PUT", path, json={"end_date": "2050-01-01 13:00"}).json["lease"]["priority"] == "high"


@pytest.mark.parametrize("value", ["urgent", "HIGH", "", None, 1, [], {}])
def test_what_is_no_class_is_refused(at: Sandboxed, value: Any) -> None:
    answer = create(at, priority=value)
    assert answer.status_code == 400
    assert answer.json["error_message"] == "priority is one of low, normal, high."


def test_a_filter_of_no_class_is_refused(at: Sandboxed) -> None:
    answer = ask(at, "GET", f"{LEASES}?priority=urgent")
    assert answer.status_code == 400
    assert "one of low, normal, high" in answer.json["error_message"]


def test_an_offer_becomes_a_normal_lease(at: Sandboxed) -> None:
    answer = ask(at, "POST", LEASES, json={"name": "ours", "offer": "x", "priority": "low"})
    assert answer.status_code == 400
    assert "normal priority" in answer.json["error_message"]


DISPLACE = {"displace": True}


def test_a_higher_lease_displaces_a_lower_one(at: Sandboxed) -> None:
    low = made(at, priority="low", hosts=2)
    assert create(at, priority="normal").status_code == 409
    high = made(at, priority="normal", on_shortage=DISPLACE)
    assert (high["status"], high["priority"]) == ("PENDING", "normal")
    found = show(at, low)
    assert found["status"] == "WAITING"
    assert found["waiting"]["until"] == low["start_date"]
    assert "displaced by a lease of a higher priority" in found["status_reason"]
    assert at.send("DELETE", f"{LEASES}/{high['id']}", "demo").status_code == 204
    assert until(lambda: show(at, low)["status"] == "PENDING")


def test_a_dry_run_tells_who_would_give_way_as_far_as_one_may_know(at: Sandboxed) -> None:
    low = made(at, priority="low", hosts=2, name="theirs")
    what = {"priority": "normal", "effect": "waits"}
    for user, is_known in (("demo", True), ("admin", True), ("alt", False)):
        answer = create(at, user, priority="normal", on_shortage=DISPLACE, dry_run=True)
        assert answer.status_code == 200, answer.text
        (displaced,) = answer.json["lease"]["displaced"]
        assert displaced["effect"] == what["effect"]
        assert displaced["priority"] == "low"
        assert displaced["start_date"] == low["start_date"]
        names = [displaced[name] for name in ("lease_id", "name", "project_id", "user_id")]
        known = [low["id"], "theirs", low["project_id"], low["user_id"]]
        assert names == (known if is_known else [None] * 4)
    assert show(at, low)["status"] == "PENDING"
    fits = create(
        at,
        priority="normal",
        on_shortage=DISPLACE,
        dry_run=True,
        start_date="2051-01-01 10:00",
        end_date="2051-01-01 11:00",
    )
    assert fits.json["lease"]["displaced"] == []
    refused = create(at, priority="low", on_shortage=DISPLACE, dry_run=True)
    assert refused.status_code == 409


class ForetellingLeases(CannedLeases):
    """Tell that a lease of another project would give way."""

    def preview_displacing(self, command: CreateLease, caller: Caller, **asked: Any) -> DisplacingPreview:
        other = replace(LEASE, project_id="another", priority=Priority.LOW)
        return DisplacingPreview(LEASE, (DisplacedLease(other, replace(other, name="moved")),))


class Foretelling(Canned):
    @property
    def leases(self) -> CannedLeases:
        return ForetellingLeases(self)


@pytest.mark.parametrize(
    ("user", "details", "names"),
    [("member", "all", [None]), ("member", "admin", []), ("admin", "admin", [LEASE.name])],
)
def test_where_shortages_are_not_told_leases_of_others_are_left_out(
    tmp_path: Path, user: str, details: str, names: list[str | None]
) -> None:
    send = edge(Foretelling(), configured(tmp_path, f"[api]\nshortage_details = {details}\n"))
    body = {"name": "a", "start_date": "2050-01-01 10:00", "end_date": "2050-01-01 11:00"}
    body |= {"reservations": [HOST], "on_shortage": DISPLACE, "dry_run": True}  # type: ignore[dict-item]
    shown = send("POST", "/v1/leases", user, json=body, headers=VERSION)
    assert shown.status_code == 200, shown.text
    displaced = shown.json["lease"]["displaced"]
    assert [each["name"] for each in displaced] == names
    assert all(each["effect"] == "moves" for each in displaced)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"on_shortage": {}}, "on_shortage needs wait_until, or displace, or both."),
        ({"on_shortage": {"displace": False}}, "on_shortage needs wait_until, or displace, or both."),
        (
            {"start_date": "earliest", "end_date": None, "duration": 60, "on_shortage": DISPLACE},
            "displaces no others",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(at: Sandboxed, more: Any, sentence: str) -> None:
    answer = create(at, **more)
    assert answer.status_code == 400
    assert sentence in answer.json["error_message"]


def test_versions_before_displace_nothing(at: Sandboxed) -> None:
    low = made(at, priority="low", hosts=2)
    answer = create(at, on_shortage={"displace": True, "wait_until": "2049-01-01 10:00"}, headers=BEFORE)
    assert answer.status_code == 400  # it is too long to wait, and displace is not read
    assert show(at, low)["status"] == "PENDING"
