"""Reservations that are added to a lease and removed from it over HTTP, since version 1.12."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .sandboxed import Sandboxed, until
from .wishes import HOST, INSTANCES

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
BODY = {
    "name": "a",
    "start_date": "2050-01-01 10:00",
    "end_date": "2050-01-01 11:00",
    "reservations": [HOST, INSTANCES],
}


def at_version(minor: int, **more: str) -> dict[str, str]:
    return {"OpenStack-API-Version": f"reservation 1.{minor}", **more}


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    at = Sandboxed(tmp_path_factory.mktemp("sandboxed"))
    for name in ("compute-01", "compute-02"):
        assert at.send("POST", "/v1/os-hosts", "admin", json={"name": name}).status_code == 201
    yield at
    at.stop()


@pytest.fixture
def lease(at: Sandboxed) -> Iterator[dict[str, Any]]:
    made = at.send("POST", "/v1/leases", "demo", json=BODY)
    assert made.status_code == 201
    yield made.json["lease"]
    at.send("DELETE", f"/v1/leases/{made.json['lease']['id']}", "demo")


def update(at: Sandboxed, lease: Any, *reservations: Any, minor: int = 12, tag: str = "", **more: Any) -> Any:
    headers = at_version(minor, **({"If-Match": tag} if tag else {}))
    body = {"reservations": [*reservations], **more}
    return at.send("PUT", f"/v1/leases/{lease['id']}", "demo", json=body, headers=headers)


def ids(answer: Any) -> list[str]:
    return [each["id"] for each in answer.json["lease"]["reservations"]]


def removed(lease: Any, number: int) -> dict[str, Any]:
    return {"id": lease["reservations"][number]["id"], "remove": True}


def test_one_update_changes_adds_and_removes(at: Sandboxed, lease: Any) -> None:
    first, second = (each["id"] for each in lease["reservations"])
    changed = update(
        at,
        lease,
        {"id": first, "before_end": "snapshot"},
        {**INSTANCES, "amount": 2},
        removed(lease, 1),
        name="b",
        end_date="2050-01-01 12:00",
    )
    assert changed.status_code == 200, changed.json
    shown = changed.json["lease"]
    assert (shown["name"], shown["end_date"]) == ("b", "2050-01-01T12:00:00.000000")
    assert shown["reservations"][0]["before_end"] == "snapshot"
    assert ids(changed)[0] == first
    assert second not in ids(changed)
    assert shown["reservations"][1]["amount"] == 2
    stored = at.send("GET", f"/v1/leases/{lease['id']}", "demo").json["lease"]
    assert stored == {key: value for key, value in shown.items() if not key.startswith("claim_by")}


def test_a_refusal_changes_nothing(at: Sandboxed, lease: Any) -> None:
    refused = update(at, lease, {**HOST, "min": 2, "max": 2}, removed(lease, 1), name="b")
    assert refused.status_code == 409
    found = refused.json["suggestions"]["answers"]
    for each in found:
        sent = each["lease"]["reservations"]
        assert removed(lease, 1) in sent
        assert [one["resource_type"] for one in sent if "id" not in one] == ["physical:host"]
    assert at.send("GET", f"/v1/leases/{lease['id']}", "demo").json["lease"] == lease


def test_a_suggestion_can_be_sent_as_it_is(at: Sandboxed, lease: Any) -> None:
    """One host is left when the instances are gone, and two are asked for."""
    refused = update(at, lease, {**HOST, "min": 2, "max": 2}, removed(lease, 1))
    assert refused.status_code == 409
    best = next(
        each["lease"] for each in refused.json["suggestions"]["answers"] if "amount" in each["changes"]
    )
    done = at.send("PUT", f"/v1/leases/{lease['id']}", "demo", json=best, headers=at_version(12))
    assert done.status_code == 200, (best, done.json)
    shown = done.json["lease"]["reservations"]
    assert [(each["resource_type"], each["max"]) for each in shown] == [("physical:host", 1)] * 2


def test_a_dry_run_tells_what_would_be(at: Sandboxed, lease: Any) -> None:
    would = update(at, lease, INSTANCES, dry_run=True)
    assert would.status_code == 200
    assert [each["units"] for each in would.json["lease"]["planned"]] == [1, 1, 1]
    assert at.send("GET", f"/v1/leases/{lease['id']}", "demo").json["lease"] == lease


def test_the_second_of_two_editors_adds_nothing(at: Sandboxed, lease: Any) -> None:
    tag = at.send("GET", f"/v1/leases/{lease['id']}", "demo", headers=at_version(12)).headers["etag"]
    first = update(at, lease, INSTANCES, tag=tag)
    assert first.status_code == 200
    # The same request again, for its answer was lost, and it was made with the tag that was read.
    assert update(at, lease, INSTANCES, tag=tag).status_code == 412
    assert len(ids(first)) == 3


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"remove": True}, "A reservation that is removed needs its id."),
        ({"min": 1}, "A reservation needs an id, or the resource_type of a new one."),
        ({"id": "x", "remove": True, "min": 1}, "A reservation that is removed has no other parameters."),
        ({"id": "x", "remove": True}, "Please enter valid reservation IDs. Invalid reservation IDs are: x"),
        ({"id": "x", "min": 1}, "Please enter valid reservation IDs. Invalid reservation IDs are: x"),
        ({"id": "x", "remove": "yes"}, "Malformed parameter reservations.0.remove: "),
    ],
)
def test_what_is_malformed_is_told(at: Sandboxed, lease: Any, entry: Any, message: str) -> None:
    refused = update(at, lease, entry)
    assert refused.status_code == 400
    assert refused.json["error_message"].startswith(message)


def test_each_reservation_once_and_never_the_last(at: Sandboxed, lease: Any) -> None:
    twice = update(at, lease, removed(lease, 0), {"id": removed(lease, 0)["id"], "min": 1})
    assert twice.json["error_message"] == "Each reservation can be changed only once in a request."
    refused = update(at, lease, removed(lease, 0), removed(lease, 1))
    assert refused.status_code == 400
    assert refused.json["error_message"].startswith("The last reservation of a lease cannot be removed")
    assert update(at, lease, {"id": removed(lease, 0)["id"], "remove": False}).json["lease"] is not None
    assert len(ids(update(at, lease, INSTANCES, INSTANCES))) == 4


@pytest.mark.parametrize("minor", range(12))
def test_versions_before_know_nothing_of_it(at: Sandboxed, lease: Any, minor: int) -> None:
    refused = update(at, lease, INSTANCES, minor=minor)
    assert refused.status_code == 400
    assert refused.json["error_message"] == "Missing parameter reservation ID"
    same = update(at, lease, removed(lease, 1), minor=minor)
    assert same.status_code == 200
    assert ids(same) == [each["id"] for each in lease["reservations"]]


def test_an_active_lease(at: Sandboxed) -> None:
    body = {**BODY, "start_date": "now", "reservations": [INSTANCES]}
    lease = at.send("POST", "/v1/leases", "demo", json=body).json["lease"]
    path = f"/v1/leases/{lease['id']}"

    def shown() -> Any:
        return at.send("GET", path, "demo").json["lease"]

    assert until(lambda: shown()["status"] == "ACTIVE")
    grown = update(at, lease, {**HOST, "min": 1, "max": 1})
    assert [each["status"] for each in grown.json["lease"]["reservations"]] == ["active", "pending"]
    assert until(lambda: [each["status"] for each in shown()["reservations"]] == ["active"] * 2)
    less = update(at, grown.json["lease"], removed(grown.json["lease"], 0))
    assert less.json["lease"]["status"] == "ACTIVE"
    assert ids(less) == ids(grown)[1:]
    listed = at.send("GET", "/v1/leases", "demo").json["leases"]
    assert [[r["id"] for r in each["reservations"]] for each in listed if each["id"] == lease["id"]] == [
        ids(less)
    ]
    assert until(lambda: removed(lease, 0)["id"] not in at.aggregates())
    at.send("DELETE", path, "demo")
