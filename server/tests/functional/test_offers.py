"""Offers over HTTP, with everything real but the hardware, since version 1.4."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from blazar.adapters.clock import SystemClock
from blazar.adapters.db import tables

from .sandboxed import Sandboxed
from .wishes import HOST, INSTANCES

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.4"}
BEFORE = {"OpenStack-API-Version": "reservation 1.3"}
TIMES = {"start_date": "2050-01-01 10:00", "end_date": "2050-01-01 12:00"}
TWO = {**HOST, "min": 2, "max": 2}
PATH = "/v1/offers"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    at = Sandboxed(tmp_path_factory.mktemp("sandboxed"))
    for name in ("compute-01", "compute-02"):
        assert at.send("POST", "/v1/os-hosts", "admin", json={"name": name}).status_code == 201
    yield at
    at.stop()


@pytest.fixture
def at(site: Sandboxed) -> Iterator[Sandboxed]:
    yield site
    for user in ("demo", "alt"):
        for offer in ask(site, "GET", PATH, user).json["offers"]:
            assert ask(site, "DELETE", f"{PATH}/{offer['id']}", user).status_code == 204
        for lease in site.send("GET", "/v1/leases", user).json["leases"]:
            assert site.send("DELETE", f"/v1/leases/{lease['id']}", user).status_code == 204


def ask(
    at: Sandboxed, method: str, path: str, user: str = "demo", json: Any = None, headers: Any = VERSION
) -> Any:
    return at.send(method, path, user, json=json, headers=headers)


def hold(at: Sandboxed, *reservations: Any, user: str = "demo", **more: Any) -> Any:
    body = {**TIMES, "reservations": list(reservations) or [TWO], **more}
    return ask(at, "POST", PATH, user, json=body)


def claim(at: Sandboxed, held: Any, user: str = "demo", **more: Any) -> Any:
    body = {"name": "mine", "offer": held["id"], **more}
    return ask(at, "POST", "/v1/leases", user, json=body)


def expire(at: Sandboxed, offer: Any) -> None:
    """Have the offer expire now. As where it is stored, the generations of what it holds are raised."""
    now, r = SystemClock().now(), tables.resources.c
    with at.manager._database.engine.begin() as connection:  # type: ignore[attr-defined]
        mine = tables.leases.c.id == offer["id"]
        connection.execute(update(tables.leases).where(mine).values(expires_at=now - timedelta(seconds=1)))
        held = select(tables.allocations.c.resource_id).where(tables.allocations.c.lease_id == offer["id"])
        raised = {"generation": r.generation + 1, "touched_at": now}
        connection.execute(update(tables.resources).where(r.id.in_(held)).values(raised))


def test_an_answer_is_held_and_claimed(at: Sandboxed) -> None:
    question = {
        "lease": {"reservations": [TWO]},
        "start": {"earliest": "2050-01-01 10:00"},
        "duration": {"wanted": 120},
    }
    (answer,) = ask(at, "POST", "/v1/availability", json=question).json["availability"]["answers"]
    made = ask(at, "POST", PATH, json={**answer["lease"], "hold": 10})
    assert made.status_code == 201, made.text
    offer = made.json["offer"]
    expiry = datetime.fromisoformat(f"{offer['expires_at']}+00:00")
    assert abs(expiry - SystemClock().now() - timedelta(minutes=10)) < timedelta(seconds=30)
    assert {key: offer[key] for key in ("start_date", "end_date", "reservations", "planned")} == {
        "start_date": "2050-01-01T10:00:00.000000",
        "end_date": "2050-01-01T12:00:00.000000",
        "reservations": [{**TWO, "before_end": "default"}],
        "planned": [{"resource_type": "physical:host", "units": 2}],
    }
    assert ask(at, "GET", PATH).json == {"offers": [offer]}
    assert ask(at, "GET", PATH, "alt").json == {"offers": []}
    assert ask(at, "GET", f"{PATH}/{offer['id']}").json == {"offer": offer}
    as_admin = ask(at, "GET", f"{PATH}/{offer['id']}", "admin").json["offer"]
    assert as_admin["planned"] == [{"resource_type": "physical:host", "units": 2, "resources": ["1", "2"]}]

    body = {"name": "faster", **TIMES, "reservations": [HOST]}
    refused = at.send("POST", "/v1/leases", "alt", json=body)
    assert (refused.status_code, "none of them are free" in refused.json["error_message"]) == (400, True)
    taken = at.send("GET", "/v1/os-hosts/allocations", "admin").json["allocations"]
    assert {r["lease_id"] for each in taken for r in each["reservations"]} == {offer["id"]}

    claimed = claim(at, offer, before_end_date="2050-01-01 11:00")
    assert claimed.status_code == 201, claimed.text
    lease = claimed.json["lease"]
    assert (lease["id"], lease["name"], lease["status"]) == (offer["id"], "mine", "PENDING")
    assert at.send("GET", f"/v1/leases/{lease['id']}", "demo").json["lease"] == lease
    assert ask(at, "GET", PATH).json == {"offers": []}
    again = claim(at, offer)
    assert again.status_code == 409
    assert again.json["error_message"] == f"Offer {offer['id']} has been claimed already: a lease has its id."


def test_no_list_and_no_path_of_leases_knows_an_offer(at: Sandboxed) -> None:
    offer = hold(at).json["offer"]
    for headers in ({}, BEFORE, VERSION):
        assert ask(at, "GET", "/v1/leases", headers=headers).json["leases"] == []
        for method in ("GET", "PUT", "DELETE"):
            body = {"name": "x"} if method == "PUT" else None
            answer = ask(at, method, f"/v1/leases/{offer['id']}", json=body, headers=headers)
            assert answer.status_code == 404
    usage = at.send("GET", f"/v1/quotas/{offer['project_id']}/usage", "demo").json["usage"]["limits"]
    assert {each["name"]: each["peak"] for each in usage}["hosts"] == 2


def test_what_has_expired_or_is_deleted_is_free(at: Sandboxed) -> None:
    for give_back in (expire, lambda at, offer: ask(at, "DELETE", f"{PATH}/{offer['id']}")):
        offer = hold(at).json["offer"]
        assert hold(at, HOST, user="alt").status_code == 409
        give_back(at, offer)
        refused = claim(at, offer)
        assert refused.status_code == 404
        words = f"There is no offer {offer['id']}: it has expired, was deleted, or never was."
        assert refused.json["error_message"] == words
        for method in ("GET", "DELETE"):
            assert ask(at, method, f"{PATH}/{offer['id']}").json["error_message"] == words
        other = hold(at, user="alt")
        assert other.status_code == 201
        assert ask(at, "DELETE", f"{PATH}/{other.json['offer']['id']}", "alt").status_code == 204


def test_another_project_cannot_claim(at: Sandboxed) -> None:
    offer = hold(at).json["offer"]
    for user in ("alt", "admin"):
        assert claim(at, offer, user).status_code == 404
    assert claim(at, offer, "viewer").status_code == 403
    assert claim(at, offer, "colleague").status_code == 201


def test_no_more_than_the_operator_allows(at: Sandboxed) -> None:
    too_long = hold(at, hold=61)
    assert (too_long.status_code, too_long.json["error_message"]) == (
        400,
        "An offer may be held for at most 60 minutes.",
    )
    for _ in range(5):
        assert hold(at, INSTANCES).status_code == 201
    refused = hold(at, INSTANCES)
    assert refused.status_code == 403
    assert refused.json["reasons"] == [
        {"reason": "quota", "limit_name": "offers", "limit": 5, "used": 5, "asked": 1}
    ]


def test_instances_with_affinity_get_their_group_at_the_claim(at: Sandboxed) -> None:
    offer = hold(at, {**INSTANCES, "amount": 2, "affinity": False}).json["offer"]
    assert offer["reservations"][0].get("server_group_id") is None
    lease = claim(at, offer).json["lease"]
    assert lease["reservations"][0]["server_group_id"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (TIMES, "An offer has dates and reservations: give only a name and before_end_date with it."),
        (
            {"duration": 60},
            "An offer has dates and reservations: give only a name and before_end_date with it.",
        ),
        ({"reservations": []}, "An offer has dates and reservations"),
        ({"dry_run": True}, "An offer has dates and reservations"),
        ({"before_end_date": "2050-01-01 13:00"}, "before_end_date must lie between start and end date"),
        ({"offer": "a b"}, "Malformed parameter offer"),
        ({"offer": 7}, "offer"),
        ({"offer": None}, "Missing parameter start_date"),
    ],
)
def test_a_claim_that_makes_no_sense(at: Sandboxed, more: Any, words: str) -> None:
    offer = hold(at).json["offer"]
    refused = claim(at, offer, **more)
    assert refused.status_code == 400, refused.text
    assert words in refused.json["error_message"]
    assert claim(at, offer).status_code == 201


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"reservations": []}, "reservations"),
        ({"hold": 0}, "A duration is a number of minutes"),
        ({"end_date": None}, "Give either end_date or duration."),
        ({"start_date": "2000-01-01 00:00"}, "Start date must be later than current date"),
    ],
)
def test_an_offer_that_makes_no_sense(at: Sandboxed, more: Any, words: str) -> None:
    refused = hold(at, **more)
    assert refused.status_code == 400, refused.text
    assert words in refused.json["error_message"]


def test_versions_before_do_not_have_it(at: Sandboxed) -> None:
    for headers in ({}, BEFORE):
        for method, path in (("GET", PATH), ("POST", PATH), ("GET", f"{PATH}/x"), ("DELETE", f"{PATH}/x")):
            assert ask(at, method, path, json={}, headers=headers).status_code == 404
    offer = hold(at).json["offer"]
    body = {"name": "x", **TIMES, "offer": offer["id"], "reservations": []}
    made = ask(at, "POST", "/v1/leases", json=body, headers=BEFORE).json["lease"]
    assert made["id"] != offer["id"]  # an unknown key is ignored, as any other
