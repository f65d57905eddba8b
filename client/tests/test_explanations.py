"""What a refusal tells beside its reasons, as commands show it and as the library has it; answers that are
held."""

from __future__ import annotations

import json

import pytest
from clientkit import samples
from clientkit.recorder import RecordingCloud
from clientkit.runner import Blazar

from blazarclient.exception import BlazarClientException
from blazarclient.transport import TokenTransport
from blazarclient.v1.offers import Offers

LEASE = f"/leases/{samples.LEASE_ID}"
HOST = "--reservation resource_type=physical:host,min=1,max=1"
DATES = {"start_date": "2030-01-08T12:00:00.000000", "end_date": "2030-01-08T16:00:00.000000"}
BLOCKED = {"lease_id": None, "name": None, "is_offer": False, **DATES, "resources": 2}
EXPLAINED = {
    "error_message": "Not enough hosts available: 2 hosts match, none of them are free.",
    "suggestions": {"answers": [{**DATES, "description": "starts 3 hours later"}], "cut_short": True},
    "blocking": {
        "leases": [
            {**BLOCKED, "lease_id": samples.LEASE_ID, "name": "mine", "resources": 1},
            {**BLOCKED, "lease_id": samples.LEASE_ID, "name": "", "is_offer": True},
            BLOCKED,
            {**BLOCKED, "is_offer": True},
            BLOCKED,
            BLOCKED,
        ],
        "more": 4,
    },
}
ANSWER = {
    **DATES,
    "duration": 240,
    "description": "starts 3 hours later",
    "reservations": [{"resource_type": "physical:host", "units": 1}],
}
ANSWERS = {"answers": [ANSWER], "reason": None, "cut_short": False}
SHORT = {"error_message": "Not enough hosts available: 2 hosts match, none of them are free."}


@pytest.mark.parametrize(
    ("command", "method", "path"),
    [
        (f"lease-create {HOST} x", "POST", "/leases"),
        (f"lease-create {HOST} --dry-run x", "POST", "/leases"),
        (
            f"lease-update {samples.LEASE_ID} --end-date '2030-01-09 12:00'",
            "PUT",
            f"/leases/{samples.LEASE_ID}",
        ),
        (
            f"lease-update {samples.LEASE_ID} --end-date '2030-01-09 12:00' --dry-run",
            "PUT",
            f"/leases/{samples.LEASE_ID}",
        ),
    ],
)
def test_a_shortage_shows_what_could_be_had_and_what_stands_in_the_way(
    blazar: Blazar, cloud: RecordingCloud, command: str, method: str, path: str
) -> None:
    cloud.answer_in_turn(method, path, (400, SHORT), (409, EXPLAINED))
    cloud.answer("GET", LEASE, 200, {"lease": {"id": samples.LEASE_ID, **DATES}})
    ran = blazar(command)
    assert ran.code == 1
    assert ran.requests[-1].body["dry_run"] is True
    assert ran.requests[-1].headers["openstack-api-version"] == "reservation 1.6"
    times = "2030-01-08 12:00 to 2030-01-08 16:00"
    assert ran.err.splitlines()[:11] == [
        "ERROR: Not enough hosts available: 2 hosts match, none of them are free.",
        "What you could have instead (UTC):",
        f"  {times}  starts 3 hours later",
        "The search was cut short: there may be other or earlier ones.",
        "What stands in the way (UTC):",
        f"  {times}  lease mine ({samples.LEASE_ID}), 1 resource",
        f"  {times}  offer ({samples.LEASE_ID}), 2 resources",
        f"  {times}  a lease of another project, 2 resources",
        f"  {times}  an offer of another project, 2 resources",
        f"  {times}  a lease of another project, 2 resources",
        "  and 5 more",
    ]


QUOTA = {"error_message": "Quota exceeded for hosts: the limit is 1, 0 are in use, and 2 are asked for."}


@pytest.mark.parametrize(
    ("command", "method", "path"),
    [
        (f"lease-create {HOST} x", "POST", "/leases"),
        (f"lease-update {samples.LEASE_ID} --end-date '2030-01-09 12:00'", "PUT", LEASE),
    ],
)
def test_what_exceeds_a_quota_shows_what_the_quota_allows(
    blazar: Blazar, cloud: RecordingCloud, command: str, method: str, path: str
) -> None:
    cloud.answer_in_turn(method, path, (403, QUOTA), (403, {**EXPLAINED, **QUOTA}))
    cloud.answer("GET", LEASE, 200, {"lease": {"id": samples.LEASE_ID, **DATES}})
    ran = blazar(command)
    assert ran.code == 1
    assert ran.requests[-1].headers["openstack-api-version"] == "reservation 1.15"
    assert ran.err.splitlines()[:3] == [
        f"ERROR: {QUOTA['error_message']}",
        "What you could have instead (UTC):",
        "  2030-01-08 12:00 to 2030-01-08 16:00  starts 3 hours later",
    ]


def test_a_service_that_explains_nothing_leaves_the_refusal(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer_in_turn("POST", "/leases", (400, SHORT), (406, {"error_message": "Version 1.6 ..."}))
    ran = blazar(f"lease-create {HOST} x")
    assert (
        ran.err.splitlines()[0] == "ERROR: Not enough hosts available: 2 hosts match, none of them are free."
    )
    cloud.answer_in_turn("POST", "/leases", (400, SHORT), (200, {"lease": {}}))
    ran = blazar(f"lease-create {HOST} x")
    assert (ran.code, ran.err.splitlines()[1][:21]) == (1, "See when you could ha")


def test_the_error_of_an_offer_that_cannot_be_held_is_explained(cloud: RecordingCloud) -> None:
    offers = Offers(TokenTransport(cloud.endpoint, "token"))
    cloud.answer("POST", "/offers", 409, SHORT)
    cloud.answer("POST", "/leases", 409, EXPLAINED)
    with pytest.raises(BlazarClientException) as caught:
        offers.create([], "now", duration=60, hold=5)
    assert caught.value.suggestions == EXPLAINED["suggestions"]
    assert caught.value.blocking == EXPLAINED["blocking"]
    assert caught.value.reasons == []


def test_answers_are_held(blazar: Blazar, cloud: RecordingCloud) -> None:
    one, other = ({**ANSWER, "offer_id": each} for each in ("5e1f", None))
    answers = [{**one, "not_held": None}, {**other, "not_held": "Not enough hosts available."}]
    cloud.answer("POST", "/availability", 200, {"availability": {**ANSWERS, "answers": answers}})
    ran = blazar(f"availability-show {HOST} --hold 10m -f json")
    assert ran.requests[-1].body["hold"] == 10
    assert [each["offer_id"] for each in json.loads(ran.out)] == ["5e1f", ""]
    assert "Answer 2 is not held: Not enough hosts available." in ran.err


def test_an_older_service_is_asked_for_availability_without_alternatives(
    blazar: Blazar, cloud: RecordingCloud
) -> None:
    cloud.answer_in_turn("POST", "/availability", (406, {}), (200, {"availability": ANSWERS}))
    ran = blazar(f"availability-show {HOST}")
    assert (ran.code, len(ran.requests)) == (0, 2)
    assert ran.requests[-1].headers["openstack-api-version"] == "reservation 1.3"
    cloud.answer("POST", "/availability", 406, {"error_message": "Version 1.6 is not supported."})
    ran = blazar(f"availability-show {HOST} --hold 10m")
    assert (ran.code, len(ran.requests)) == (1, 1)
