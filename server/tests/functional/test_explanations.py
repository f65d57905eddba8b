"""What a shortage tells over HTTP since version 1.6: what could be had instead, and what stands in the way;
and answers to questions for availability that are held."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blazar.api.explanations import is_explained
from blazar.api.microversion import MAXIMUM
from blazar.domain.errors import BlazarError, Busy, NotAuthorized, NotEnoughResources, QuotaExceeded
from blazar.service.commands import CreateLease
from blazar.service.context import Caller
from blazar.service.explanations import Explanation

from .canned import Canned
from .conftest import configured, edge
from .sandboxed import Sandboxed
from .wishes import HOST, INSTANCES

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.6"}
BEFORE = {"OpenStack-API-Version": "reservation 1.5"}
DATES = {"start_date": "2050-01-01 10:00", "end_date": "2050-01-01 12:00"}
IN_R1 = {**HOST, "resource_properties": '["==", "$rack", "r1"]'}
TWO = {**HOST, "min": 2, "max": 2}
SUGGESTED, WAY = "suggestions", "blocking"


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    at = Sandboxed(tmp_path_factory.mktemp("sandboxed"))
    for name, rack in (("compute-01", "r1"), ("compute-02", "r2")):
        body = {"name": name, "rack": rack, "secret": "1"}
        assert at.send("POST", "/v1/os-hosts", "admin", json=body).status_code == 201
    at.send("PATCH", "/v1/os-hosts/properties/secret", "admin", json={"private": True})
    yield at
    at.stop()


@pytest.fixture
def taken(at: Sandboxed) -> Iterator[dict[str, Any]]:
    """A lease of the project demo on the host in r1, from 10 to 12."""
    made = create(at, IN_R1, name="mine")
    assert made.status_code == 201, made.text
    yield made.json["lease"]
    delete(at, made)


def create(
    at: Sandboxed, *reservations: dict[str, Any], user: str = "demo", headers: Any = VERSION, **body: Any
) -> Any:
    sent = {"name": "a", **DATES, "reservations": list(reservations), **body}
    return at.send("POST", "/v1/leases", user, json=sent, headers=headers)


def delete(at: Sandboxed, made: Any, user: str = "demo") -> None:
    assert at.send("DELETE", f"/v1/leases/{made.json['lease']['id']}", user).status_code == 204


def test_a_shortage_tells_what_could_be_had_and_each_of_it_can_be(at: Sandboxed, taken: Any) -> None:
    refusal = create(at, IN_R1)
    assert refusal.status_code == 409
    assert next(iter(refusal.json)) == "error_message"
    answers = refusal.json[SUGGESTED]["answers"]
    assert [(each["changes"], each["description"]) for each in answers] == [
        (["start"], "starts 2 hours later"),
        (["requirement"], '["==", "$rack", "r2"] instead of ["==", "$rack", "r1"]'),
    ]
    assert answers[1] == {
        "start_date": "2050-01-01T10:00:00.000000",
        "end_date": "2050-01-01T12:00:00.000000",
        "duration": 120,
        "changes": ["requirement"],
        "description": '["==", "$rack", "r2"] instead of ["==", "$rack", "r1"]',
        "reservations": [{"resource_type": "physical:host", "units": 1}],
        "lease": {**DATES, "reservations": [{**HOST, "resource_properties": '["==", "$rack", "r2"]'}]},
        "replaced": [
            {
                "reservation": 0,
                "parameter": "resource_properties",
                "part": '["==", "$rack", "r1"]',
                "instead": '["==", "$rack", "r2"]',
            }
        ],
    }
    assert refusal.json[SUGGESTED]["cut_short"] is False
    for each in answers:
        made = create(at, headers={}, **each["lease"])
        assert made.status_code == 201, made.text
        delete(at, made)


def test_dry_runs_and_offers_tell_the_same(at: Sandboxed, taken: Any) -> None:
    told = create(at, IN_R1).json
    assert create(at, IN_R1, dry_run=True).json == told
    offer = at.send("POST", "/v1/offers", "demo", json={**DATES, "reservations": [IN_R1]}, headers=VERSION)
    assert (offer.status_code, offer.json) == (409, told)
    earliest = create(
        at, IN_R1, start_date="earliest", end_date=None, duration=60, latest_end="2049-12-31 00:00"
    )
    assert SUGGESTED not in earliest.json


def test_versions_before_tell_nothing_of_it(at: Sandboxed, taken: Any) -> None:
    told = create(at, IN_R1, headers=BEFORE).json
    assert told.keys() == {"error_message", "error_code", "error_name", "reasons", "first_possible_start"}
    assert create(at, IN_R1, headers={}).json.keys() == {"error_message", "error_code", "error_name"}
    after = create(at, IN_R1).json
    assert {name: value for name, value in after.items() if name not in (SUGGESTED, WAY)} == told


@pytest.mark.parametrize(
    ("user", "sees"), [("demo", True), ("colleague", True), ("admin", True), ("alt", False)]
)
def test_each_persona_sees_its_own_leases_in_the_way(
    at: Sandboxed, taken: Any, user: str, sees: bool
) -> None:
    refusal = create(at, IN_R1, user=user)
    assert refusal.status_code == 409
    known = {
        "lease_id": taken["id"],
        "name": "mine",
        "project_id": taken["project_id"],
        "user_id": taken["user_id"],
    }
    assert refusal.json[WAY] == {
        "leases": [
            {
                **(known if sees else dict.fromkeys(known)),
                "is_offer": False,
                "start_date": "2050-01-01T10:00:00.000000",
                "end_date": "2050-01-01T12:00:00.000000",
                "resources": 1,
            }
        ],
        "more": 0,
    }


def test_an_offer_in_the_way_is_told_as_one(at: Sandboxed) -> None:
    body = {**DATES, "reservations": [TWO], "hold": 5}
    offer = at.send("POST", "/v1/offers", "alt", json=body, headers=VERSION).json["offer"]
    for user, lease_id in (("demo", None), ("alt", offer["id"]), ("admin", offer["id"])):
        (told,) = create(at, HOST, user=user).json[WAY]["leases"]
        assert (told["lease_id"], told["is_offer"], told["resources"]) == (lease_id, True, 2)
    at.send("DELETE", f"/v1/offers/{offer['id']}", "alt", headers=VERSION)


def test_a_private_property_is_told_as_one_that_no_host_has(at: Sandboxed, taken: Any) -> None:
    answers = [
        create(at, {**HOST, "resource_properties": f'["==", "${name}", "1"]'}).text.replace(name, "NAME")
        for name in ("secret", "absent")
    ]
    assert answers[0] == answers[1]
    assert f'"{SUGGESTED}": {{"answers": [], "cut_short": false}}' in answers[0]


def test_a_question_for_a_private_property_is_answered_as_for_one_that_no_host_has(at: Sandboxed) -> None:
    answers = []
    for name in ("secret", "absent"):
        asked = {**HOST, "resource_properties": f'["==", "${name}", "1"]'}
        answer = ask(at, asked)
        answers.append((answer.status_code, answer.text.replace(name, "NAME")))
    assert answers[0] == answers[1]
    assert answers[0][0] == 200


def test_a_change_tells_what_it_could_be_and_each_of_it_can_be(at: Sandboxed, taken: Any) -> None:
    later = create(at, IN_R1, start_date="2050-01-01 13:00", end_date="2050-01-01 14:00")
    path, wish = f"/v1/leases/{taken['id']}", {"end_date": "2050-01-01 14:00"}
    refusal = at.send("PUT", path, "demo", json=wish, headers=VERSION)
    assert refusal.status_code == 409
    assert [each["lease_id"] for each in refusal.json[WAY]["leases"]] == [later.json["lease"]["id"]]
    assert at.send("PUT", path, "demo", json={**wish, "dry_run": True}, headers=VERSION).json == refusal.json
    answers = refusal.json[SUGGESTED]["answers"]
    assert [each["description"] for each in answers] == [
        "starts 4 hours later",
        "lasts 3 hours instead of 4 hours",
        '["==", "$rack", "r2"] instead of ["==", "$rack", "r1"]',
    ]
    reservation_id = taken["reservations"][0]["id"]
    assert [each["lease"]["reservations"] for each in answers] == [
        [],
        [],
        [{"id": reservation_id, "resource_properties": '["==", "$rack", "r2"]'}],
    ]
    for each in answers:
        changed = at.send("PUT", path, "demo", json=each["lease"])
        assert changed.status_code == 200, changed.text
        back = {**DATES, "reservations": [{"id": reservation_id, **IN_R1}]}
        assert at.send("PUT", path, "demo", json=back).status_code == 200
    assert SUGGESTED not in at.send("PUT", path, "demo", json=wish, headers=BEFORE).json
    delete(at, later)


def test_the_policy_says_who_sees_what_stands_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text('"blazar:leases:get_blocking": "role:admin"\n')
    at = Sandboxed(tmp_path)
    try:
        assert at.send("POST", "/v1/os-hosts", "admin", json={"name": "compute-01"}).status_code == 201
        assert create(at, HOST).status_code == 201
        seen = [create(at, HOST, user=user).json[WAY]["leases"][0]["name"] for user in ("demo", "admin")]
        assert seen == [None, "a"]
    finally:
        at.stop()


class Refusing(Canned):
    """Refuses every lease, and explains it, or does not."""

    explanation: Explanation | None = None

    def noun(self, name: str) -> Any:
        return self if name == "explanations" else super().noun(name)

    def explain_create(self, command: CreateLease, caller: Caller) -> Explanation:
        if self.explanation is None:
            raise Busy()
        return self.explanation


def refused(tmp_path: Path, explanation: Explanation | None, user: str, details: str) -> Any:
    service = Refusing()
    service.failure = NotEnoughResources(noun="hosts", reason="2 match.")
    service.explanation = explanation
    send = edge(service, configured(tmp_path, f"[api]\nshortage_details = {details}\n"))
    return send(
        "POST", "/v1/leases", user, json={"name": "a", **DATES, "reservations": [HOST]}, headers=VERSION
    )


@pytest.mark.parametrize(("user", "is_told"), [("member", False), ("admin", True)])
def test_where_shortages_are_not_told_only_administrators_are_told_more(
    tmp_path: Path, user: str, is_told: bool
) -> None:
    told = refused(tmp_path, Explanation(more=3), user, "admin")
    assert (told.status_code, WAY in told.json, SUGGESTED in told.json) == (409, is_told, is_told)


def test_a_refusal_that_cannot_be_explained_now_is_told_without(tmp_path: Path) -> None:
    told = refused(tmp_path, None, "member", "all")
    assert told.status_code == 409
    assert told.json[SUGGESTED] == {"answers": [], "cut_short": True}
    assert told.json[WAY] == {"leases": [], "more": 0}


# answers that are held


def ask(at: Sandboxed, *reservations: Any, user: str = "demo", headers: Any = VERSION, **more: Any) -> Any:
    body = {
        "lease": {"reservations": list(reservations)},
        "start": {"earliest": DATES["start_date"]},
        "duration": {"wanted": 120},
        **more,
    }
    return at.send("POST", "/v1/availability", user, json=body, headers=headers)


def test_answers_are_held_as_far_as_they_can_be(at: Sandboxed, taken: Any) -> None:
    answer = ask(at, TWO, hold=7)
    later, fewer = answer.json["availability"]["answers"]
    assert [later["description"], fewer["description"]] == [
        "starts 2 hours later",
        "physical:host: 1 instead of 2",
    ]
    assert (later["not_held"], fewer["not_held"]) == (None, None)
    for each in (later, fewer):
        offer = at.send("GET", f"/v1/offers/{each['offer_id']}", "demo", headers=VERSION).json["offer"]
        assert (offer["start_date"], offer["expires_at"]) == (each["start_date"], each["expires_at"])
    claimed = at.send(
        "POST", "/v1/leases", "demo", json={"name": "c", "offer": fewer["offer_id"]}, headers=VERSION
    )
    assert claimed.status_code == 201
    delete(at, claimed)
    assert at.send("DELETE", f"/v1/offers/{later['offer_id']}", "demo", headers=VERSION).status_code == 204


def test_what_one_answer_holds_another_one_cannot(at: Sandboxed) -> None:
    found = ask(at, {**HOST, "min": 1, "max": 2}, user="alt", hold=5).json["availability"]["answers"]
    assert [each["not_held"] for each in found] == [None]
    again = ask(at, HOST, user="demo", hold=5).json["availability"]["answers"]
    assert again[0]["start_date"] == "2050-01-01T12:00:00.000000"
    for user, each in (("alt", found[0]), ("demo", again[0])):
        at.send("DELETE", f"/v1/offers/{each['offer_id']}", user, headers=VERSION)


def test_the_limit_of_offers_leaves_the_others_unheld(at: Sandboxed, taken: Any) -> None:
    start, end = "2050-03-01 10:00", "2050-03-01 11:00"
    held = [
        at.send(
            "POST",
            "/v1/offers",
            "demo",
            json={"start_date": start, "end_date": end, "reservations": [{**INSTANCES, "disk_gb": 0}]},
            headers=VERSION,
        ).json["offer"]["id"]
        for _ in range(4)
    ]
    found = ask(at, TWO, hold=5).json["availability"]["answers"]
    assert [each["offer_id"] is None for each in found] == [False, True]
    assert str(found[1]["not_held"]).startswith("Quota exceeded for offers: the limit is 5")
    for offer_id in (*held, found[0]["offer_id"]):
        at.send("DELETE", f"/v1/offers/{offer_id}", "demo", headers=VERSION)


def test_hold_is_of_1_6_and_of_those_who_may_hold(at: Sandboxed) -> None:
    (answer,) = ask(at, HOST, headers=BEFORE, hold=5).json["availability"]["answers"]
    assert "offer_id" not in answer and "replaced" not in answer
    (answer,) = ask(at, HOST).json["availability"]["answers"]
    assert "offer_id" not in answer and answer["replaced"] == []
    assert at.send("GET", "/v1/offers", "demo", headers=VERSION).json["offers"] == []
    assert ask(at, HOST, hold=0).status_code == 400
    refused = ask(at, HOST, hold=100_000).json["availability"]["answers"][0]
    assert refused["not_held"] == "An offer may be held for at most 60 minutes."


def test_another_flavor_is_an_answer(at: Sandboxed) -> None:
    huge = {"resource_type": "flavor:instance", "flavor_id": "2", "amount": 2000, "affinity": None}
    found = ask(at, huge).json["availability"]["answers"]
    sizes = [each for each in found if each["changes"] == ["size"]]
    for each in sizes:
        assert each["replaced"][0]["parameter"] == "flavor_id"


QUOTAS = {"OpenStack-API-Version": "reservation 1.15"}


@pytest.fixture
def limited(at: Sandboxed) -> Iterator[str]:
    """The path of the quota of the project demo, which may have one host for three hours."""
    made = create(at, HOST)
    project = made.json["lease"]["project_id"]
    delete(at, made)
    path = f"/v1/quotas/{project}"
    limits = {"hosts": 1, "longest_lease_hours": 3}
    assert at.send("PUT", path, "admin", json={"limits": limits}).status_code == 200
    yield path
    assert at.send("DELETE", path, "admin").status_code == 204


@pytest.mark.parametrize("more", [{}, {"dry_run": True}], ids=["create", "dry run"])
def test_a_refusal_by_a_quota_tells_what_the_quota_allows(
    at: Sandboxed, limited: str, more: dict[str, Any]
) -> None:
    refused = create(at, TWO, headers=QUOTAS, **more)
    assert (refused.status_code, refused.json["reasons"][0]["limit_name"]) == (403, "hosts")
    (fewer,) = refused.json[SUGGESTED]["answers"]
    assert (fewer["changes"], fewer["reservations"][0]["units"]) == (["amount"], 1)
    made = create(at, headers=QUOTAS, **fewer["lease"])
    assert made.status_code == 201, "what is suggested could be had"
    later = create(at, HOST, headers=QUOTAS)
    assert later.status_code == 403
    starts = [each["start_date"] for each in later.json[SUGGESTED]["answers"] if each["changes"] == ["start"]]
    assert starts == ["2050-01-01T12:00:00.000000"]
    delete(at, made)


def test_a_lease_that_is_too_long_could_be_shorter(at: Sandboxed, limited: str) -> None:
    refused = create(at, HOST, headers=QUOTAS, end_date="2050-01-01 14:00")
    assert refused.json["reasons"][0]["limit_name"] == "longest_lease_hours"
    (shorter,) = refused.json[SUGGESTED]["answers"]
    assert (shorter["changes"], shorter["duration"]) == (["duration"], 180)


def test_an_update_and_an_offer_tell_what_the_quota_allows(at: Sandboxed, limited: str) -> None:
    made = create(at, HOST)
    path = f"/v1/leases/{made.json['lease']['id']}"
    longer = {"end_date": "2050-01-01 14:00"}
    refused = at.send("PUT", path, "demo", json=longer, headers=QUOTAS)
    assert (refused.status_code, SUGGESTED in refused.json) == (403, True)
    delete(at, made)
    asked = {**DATES, "reservations": [TWO]}
    refused = at.send("POST", "/v1/offers", "demo", json=asked, headers=QUOTAS)
    assert (refused.status_code, len(refused.json[SUGGESTED]["answers"])) == (403, 1)


def test_before_1_15_a_quota_tells_its_reasons_alone(at: Sandboxed, limited: str) -> None:
    refused = create(at, TWO)
    assert (refused.status_code, SUGGESTED in refused.json) == (403, False)


@pytest.mark.parametrize(
    ("refusal", "since"),
    [
        (NotEnoughResources(noun="hosts", reason="none."), (1, 6)),
        (QuotaExceeded("hosts", 1, 0, 2), (1, 15)),
        (NotAuthorized(action="blazar:leases:post"), None),
    ],
    ids=["shortage", "quota", "policy"],
)
def test_which_refusals_are_explained(refusal: BlazarError, since: tuple[int, int] | None) -> None:
    explained = [minor for minor in range(MAXIMUM[1] + 1) if is_explained(refusal, (1, minor))]
    assert explained == ([] if since is None else [*range(since[1], MAXIMUM[1] + 1)])
