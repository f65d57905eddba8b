"""Leases that recur over HTTP, with everything real but the hardware, since version 1.27."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import House, configured
from .sandboxed import Sandboxed
from .wishes import HOST, INSTANCES

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.27"}
NEWEST = {"OpenStack-API-Version": "reservation 1.33"}
BEFORE = {"OpenStack-API-Version": "reservation 1.26"}
PATH = "/v1/series"
RULE = {"rule": "FREQ=WEEKLY;BYDAY=MO;COUNT=3", "time_zone": "Europe/Berlin"}
BODY = {
    "name": "class",
    "start_date": "2050-03-21T22:00+01:00",
    "end_date": "2050-03-22T06:00+01:00",
    "reservations": [HOST],
    "recurrence": RULE,
}
"""Three nights from Monday on. In the second week summer time begins."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    at = Sandboxed(tmp_path_factory.mktemp("series"))
    assert at.send("POST", "/v1/os-hosts", "admin", json={"name": "compute-01"}).status_code == 201
    yield at
    at.stop()


@pytest.fixture
def at(site: Sandboxed) -> Iterator[Sandboxed]:
    yield site
    for each in ask(site, "GET", PATH, "admin").json["series"]:
        assert ask(site, "DELETE", f"{PATH}/{each['id']}", "admin").status_code == 204
    for lease in site.send("GET", "/v1/leases", "admin").json["leases"]:
        assert site.send("DELETE", f"/v1/leases/{lease['id']}", "admin").status_code == 204


def ask(at: Sandboxed, method: str, path: str, user: str = "demo", json: Any = None, **headers: str) -> Any:
    return at.send(method, path, user, json=json, headers={**VERSION, **headers})


def make(at: Sandboxed, user: str = "demo", **more: Any) -> Any:
    made = ask(at, "POST", PATH, user, json={**BODY, **more})
    assert made.status_code == 201, made.text
    return made.json["series"]


def leases(at: Sandboxed) -> list[Any]:
    found = ask(at, "GET", "/v1/leases?sort=start_date").json["leases"]
    return sorted(found, key=lambda each: str(each["start_date"]))


def refusal(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.text
    return str(answer.json["error_message"])


def test_its_leases_are_leases_as_any_others(at: Sandboxed) -> None:
    series = make(at)
    made = leases(at)
    assert [each["start_date"][:16] for each in made] == [
        "2050-03-21T21:00",
        "2050-03-28T20:00",
        "2050-04-04T20:00",
    ]
    assert {each["series_id"] for each in made} == {series["id"]}
    assert [each["id"] for each in made] == [each["lease_id"] for each in series["occurrences"]]
    assert [each["date"] for each in series["occurrences"]] == ["2050-03-21", "2050-03-28", "2050-04-04"]
    assert {each["status"] for each in series["occurrences"]} == {"PENDING"}
    assert ask(at, "GET", f"{PATH}/{series['id']}").json == {"series": series}
    del series["occurrences"]
    assert ask(at, "GET", PATH).json == {"series": [series]}
    one = f"/v1/leases/{made[0]['id']}"
    assert ask(at, "PUT", one, json={"name": "exam"}).json["lease"]["series_id"] == series["id"]
    assert "series_id" not in at.send("GET", one, "demo", headers=BEFORE).json["lease"]
    assert at.send("GET", PATH, "demo", headers=BEFORE).status_code == 404


def test_all_or_nothing_and_best_effort(at: Sandboxed) -> None:
    taken = {"name": "taken", "start_date": "2050-03-28 22:00", "end_date": "2050-03-28 23:00"}
    assert at.send("POST", "/v1/leases", "alt", json={**taken, "reservations": [HOST]}).status_code == 201
    answer = ask(at, "POST", PATH, json=BODY)
    assert "on 2050-03-28: " in refusal(answer, 409)
    assert leases(at) == []
    series = make(at, on_conflict="skip")
    assert [each["lease_id"] is None for each in series["occurrences"]] == [False, True, False]
    assert series["occurrences"][1]["reason"].startswith("Not enough hosts available")
    assert len(leases(at)) == 2


def test_a_dry_run_tells_which_could_be_had_and_makes_nothing(at: Sandboxed) -> None:
    taken = {"name": "taken", "start_date": "2050-03-28 22:00", "end_date": "2050-03-28 23:00"}
    assert at.send("POST", "/v1/leases", "alt", json={**taken, "reservations": [HOST]}).status_code == 201
    before = at.stored()
    shown = ask(at, "POST", PATH, json={**BODY, "dry_run": True}, **NEWEST)
    assert shown.status_code == 200, shown.text
    series = shown.json["series"]
    assert "id" not in series
    assert series["granted"] is False
    assert [each["granted"] for each in series["occurrences"]] == [True, False, True]
    assert [each["reason"] is None for each in series["occurrences"]] == [True, False, True]
    assert series["occurrences"][1]["reason"].startswith("Not enough hosts available: ")
    assert series["occurrences"][0] == {
        "date": "2050-03-21",
        "start_date": "2050-03-21T21:00:00.000000",
        "end_date": "2050-03-22T05:00:00.000000",
        "granted": True,
        "reason": None,
    }
    best = ask(at, "POST", PATH, json={**BODY, "dry_run": True, "on_conflict": "skip"}, **NEWEST)
    assert best.json["series"]["granted"] is True
    assert at.stored() == before
    assert ask(at, "POST", PATH, "viewer", json={**BODY, "dry_run": True}, **NEWEST).status_code == 403
    too_many = {**BODY, "recurrence": {**RULE, "rule": "FREQ=DAILY;COUNT=101"}, "dry_run": True}
    assert "more than 100 days" in refusal(ask(at, "POST", PATH, json=too_many, **NEWEST), 400)
    assert at.stored() == before
    # A version before ignores it, as any key that it does not know.
    old = ask(at, "POST", PATH, json={**BODY, "dry_run": True, "on_conflict": "skip"})
    assert (old.status_code, len(leases(at))) == (201, 2)


@pytest.mark.parametrize(
    ("persona", "details", "is_told"),
    [("member", "all", True), ("member", "admin", False), ("admin", "admin", True)],
)
def test_a_dry_run_tells_no_more_of_a_shortage_than_a_refusal(
    tmp_path: Path, persona: str, details: str, is_told: bool
) -> None:
    database = f"[database]\nconnection = sqlite:///{tmp_path}/blazar.db\n"
    house = House(configured(tmp_path, f"{database}[api]\nshortage_details = {details}\n"), hosts=0)
    shown = house.send("POST", PATH, persona, json={**BODY, "dry_run": True}, headers=NEWEST)
    assert shown.status_code == 200, shown.text
    house.database.engine.dispose()
    reasons = {each["reason"] for each in shown.json["series"]["occurrences"]}
    assert all(each.startswith("Not enough hosts available") for each in reasons)
    assert (reasons != {"Not enough hosts available."}) == is_told


def test_some_are_cancelled_and_then_all(at: Sandboxed) -> None:
    series = make(at, recurrence={**RULE, "rule": "FREQ=DAILY;COUNT=5", "except": ["2050-03-22"]})
    path = f"{PATH}/{series['id']}"
    changed = ask(at, "PUT", path, json={"name": "lab", "except": ["2050-03-23"]}).json["series"]
    assert (changed["name"], changed["recurrence"]["except"]) == ("lab", ["2050-03-22", "2050-03-23"])
    assert len(leases(at)) == 3
    changed = ask(at, "PUT", path, json={"cancel_after": "2050-03-24"}).json["series"]
    assert [each["reason"] for each in changed["occurrences"]] == [
        None,
        "It was cancelled.",
        None,
        "It was cancelled.",
    ]
    assert "no occurrence on 2050-05-01" in refusal(
        ask(at, "PUT", path, json={"except": ["2050-05-01"]}), 400
    )
    assert ask(at, "DELETE", f"{path}?keep_started=true").status_code == 204
    assert leases(at) == []
    assert refusal(ask(at, "GET", path), 404) == f"There is no series {series['id']}."


def test_a_day_that_was_skipped_is_restored(at: Sandboxed) -> None:
    series = make(at)
    path, second = f"{PATH}/{series['id']}", series["occurrences"][1]
    ask(at, "PUT", path, json={"except": [second["date"]]})
    body = {"restore": [second["date"]]}
    assert ask(at, "PUT", path, "viewer", json=body, **NEWEST).status_code == 403
    # A version before ignores it, as any key that it does not know.
    assert ask(at, "PUT", path, json=body).json["series"]["occurrences"][1]["lease_id"] is None
    shown = ask(at, "PUT", path, json=body, **NEWEST).json["series"]
    again = shown["occurrences"][1]
    assert (again["status"], again["start_date"]) == ("PENDING", second["start_date"])
    assert shown["recurrence"]["except"] == []
    assert [each["id"] for each in leases(at)] == [each["lease_id"] for each in shown["occurrences"]]
    for wanted, told in (
        ({"restore": ["2050-05-01"]}, "no occurrence on 2050-05-01"),
        ({**body, "name": "x"}, "Send restore by itself."),
        ({"restore": ["tomorrow"]}, "YYYY-MM-DD"),
    ):
        assert told in refusal(ask(at, "PUT", path, json=wanted, **NEWEST), 400)
    ask(at, "PUT", path, json={"except": [second["date"]]})
    taken = {"name": "taken", "start_date": "2050-03-28 22:00", "end_date": "2050-03-28 23:00"}
    assert at.send("POST", "/v1/leases", "alt", json={**taken, "reservations": [HOST]}).status_code == 201
    before = at.stored()
    assert "on 2050-03-28: " in refusal(ask(at, "PUT", path, json=body, **NEWEST), 409)
    assert at.stored() == before


def test_series_are_found_by_name_and_leases_by_series(at: Sandboxed) -> None:
    lab = make(at, name="lab", recurrence={**RULE, "rule": "FREQ=WEEKLY;COUNT=2"}, on_conflict="skip")
    other = make(at, name="lab 2", start_date="2050-06-06 18:00", end_date="2050-06-06 19:00")
    newest = {"OpenStack-API-Version": "reservation 1.31"}
    for name, expected in (("lab", [lab["id"]]), ("lab 2", [other["id"]]), ("la", [])):
        found = ask(at, "GET", f"{PATH}?name={name.replace(' ', '%20')}", **newest).json["series"]
        assert [each["id"] for each in found] == expected
    found = ask(at, "GET", f"/v1/leases?series_id={lab['id']}", **newest).json["leases"]
    assert {each["id"] for each in found} == {each["lease_id"] for each in lab["occurrences"]}
    one = found[0]["start_date"].replace("T", " ")[:16].replace(" ", "%20")
    some = ask(at, "GET", f"/v1/leases?series_id={lab['id']}&starts_after={one}&limit=1", **newest).json
    assert len(some["leases"]) == 1
    assert ask(at, "GET", f"/v1/leases?series_id={lab['id']}", "alt", **newest).json["leases"] == []
    assert ask(at, "DELETE", f"{PATH}/{lab['id']}").status_code == 204
    assert ask(at, "GET", f"/v1/leases?series_id={lab['id']}", **newest).json["leases"] == []
    assert "series_id" in refusal(ask(at, "GET", "/v1/leases?series_id=x"), 400)
    assert "name" in refusal(ask(at, "GET", f"{PATH}?name=lab"), 400)


def test_a_request_that_is_made_again_is_answered_again(at: Sandboxed) -> None:
    key = {"Idempotency-Key": "monday"}
    first, again = (ask(at, "POST", PATH, json=BODY, **key) for _ in range(2))
    assert (again.status_code, again.json) == (201, first.json)
    assert "used for another request" in refusal(
        ask(at, "POST", PATH, json={**BODY, "name": "x"}, **key), 422
    )
    assert len(leases(at)) == 3


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"recurrence": {**RULE, "rule": "FREQ=SECONDLY"}}, "FREQ=SECONDLY is none of"),
        ({"recurrence": {**RULE, "rule": "FREQ=DAILY"}}, "has no end"),
        ({"recurrence": {**RULE, "rule": "FREQ=DAILY;COUNT=101"}}, "more than 100 days"),
        ({"recurrence": {**RULE, "rule": "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=1"}}, "beyond 366 days"),
        ({"recurrence": {**RULE, "time_zone": "../../etc/passwd"}}, "no time zone"),
        ({"recurrence": {**RULE, "except": ["2050-03-22"]}}, "has no 2050-03-22"),
        ({"recurrence": {**RULE, "except": ["tomorrow"]}}, "YYYY-MM-DD"),
        ({"recurrence": None}, "recurrence"),
        ({"on_conflict": "maybe"}, "on_conflict is one of refuse, skip"),
        ({"duration": 60}, "Give either end_date or duration"),
        ({"end_date": None}, "Give either end_date or duration"),
        ({"end_date": "2050-03-21 20:00"}, "End date must be later"),
        ({"start_date": "now"}, "invalid date"),
        ({"reservations": [{**INSTANCES, "affinity": True}]}, "cannot recur"),
        ({"recurrence": {**RULE, "rule": "FREQ=DAILY;COUNT=2"}, "end_date": "2050-03-23 00:00"}, "overlap"),
    ],
)
def test_what_cannot_be_is_refused_in_clear_words(at: Sandboxed, more: dict[str, Any], told: str) -> None:
    before = at.stored()
    assert told in refusal(ask(at, "POST", PATH, json={**BODY, **more}), 400)
    assert at.stored() == before


def test_a_high_priority_needs_its_right(at: Sandboxed) -> None:
    assert ask(at, "POST", PATH, json={**BODY, "priority": "high"}).status_code == 403
    make(at, "admin", priority="high", claim_by=30)
    found = ask(at, "GET", "/v1/leases", "admin").json["leases"]
    assert {(each["priority"], each["claim_by"]) for each in found} == {("high", 30)}
