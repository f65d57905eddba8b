"""What a user asks before a lease is there: how much there is, when it can be had, and that it is kept until
the decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from labtests import workers
from labtests.reservations import Reservations, instances
from labtests.reservations import hosts as whole_hosts
from labtests.waiting import SOON, boundary, text
from openstack.connection import Connection

HOUR = 3600


def free(service: Reservations, start: int, end: int) -> tuple[int, int]:
    """Return how many hosts of this worker there are, and how many are available throughout."""
    query = {
        "start_date": text(start),
        "end_date": text(end),
        "quantity": "hosts",
        "resource_properties": workers.requirement(),
    }
    answer = service.call("GET", f"/capacity?{urlencode(query)}", version="1.2")
    assert answer.status == 200, answer
    (quantity,) = answer.body["capacity"]["quantities"]
    return max(step["total"] for step in quantity["steps"]), quantity["throughout"]


def test_from_the_question_to_servers_on_what_was_held(
    hosts: dict[str, str],
    demo: Connection,
    alt: Connection,
    boot: Callable[..., Any],
    name: str,
) -> None:
    mine, theirs = Reservations(demo), Reservations(alt)
    now, end = boundary(0), boundary(HOUR)
    number = len(hosts)
    assert free(mine, now, end) == (number, number)

    question = {
        "lease": {"reservations": [whole_hosts(number)]},
        "start": {"earliest": "now", "latest": text(now + 12 * HOUR)},
        "duration": {"wanted": 60},
        "hold": 10,
    }
    asked = mine.call("POST", "/availability", question, version="1.6")
    assert asked.status == 200, asked
    best = asked.body["availability"]["answers"][0]
    assert best["changes"] == []
    try:
        assert free(theirs, now, end)[1] == 0
        later = theirs.call("POST", "/availability", question | {"hold": None}, version="1.6")
        assert later.body["availability"]["answers"][0]["start_date"] >= best["end_date"]
        wish = {
            "name": name,
            "start_date": "now",
            "end_date": text(end),
            "reservations": [whole_hosts(number)],
        }
        refused = theirs.call("POST", "/leases", wish | {"dry_run": True}, version="1.6")
        assert refused.status == 409, refused
        assert refused.body["reasons"][0]["free"] == 0
        assert [each["is_offer"] for each in refused.body["blocking"]["leases"]] == [True]
        assert refused.body["suggestions"]["answers"]

        claimed = mine.call("POST", "/leases", {"name": name, "offer": best["offer_id"]}, version="1.6")
        assert claimed.status == 201, claimed
    finally:
        for each in mine.call("GET", "/offers", version="1.6").body["offers"]:
            assert mine.call("DELETE", f"/offers/{each['id']}", version="1.6").status == 204
    lease = mine.await_status(claimed.body["lease"]["id"], "ACTIVE", SOON)
    assert boot(demo, lease["reservations"][0]["id"]).status == "ACTIVE"


def test_the_earliest_start_is_taken_in_one_step(
    hosts: dict[str, str], demo: Connection, alt: Connection, name: str
) -> None:
    first = boundary(HOUR)
    taken = Reservations(alt).post_hosts(name, first, first + HOUR, count=len(hosts))
    assert taken.status == 201, taken
    wish = {
        "name": name,
        "start_date": "earliest",
        "duration": 120,
        "latest_end": text(first + 12 * HOUR),
        "reservations": [whole_hosts()],
    }
    made = Reservations(demo).call("POST", "/leases", wish, version="1.3")
    assert made.status == 201, made
    assert made.body["lease"]["start_date"] >= taken.body["lease"]["end_date"]


def test_several_leases_are_deleted_at_once(hosts: dict[str, str], demo: Connection, name: str) -> None:
    service, start = Reservations(demo), boundary(HOUR)
    runs = service.post_hosts(name, "now", start)
    waits = service.post_hosts(name, start, start + HOUR)
    service.await_status(runs.body["lease"]["id"], "ACTIVE", SOON)
    asked = f"/leases?{urlencode({'name': name})}"
    found = service.call("DELETE", f"{asked}&dry_run=true", version="1.18")
    assert sorted(each["outcome"] for each in found.body["leases"]) == ["found", "found"]
    deleted = service.call("DELETE", asked, version="1.18")
    assert sorted(each["outcome"] for each in deleted.body["leases"]) == ["deleted", "deleting"]
    for answer in (runs, waits):
        service.await_gone(answer.body["lease"]["id"], SOON)


def test_a_create_is_done_once_and_two_editors_do_not_overwrite_each_other(
    hosts: dict[str, str], demo: Connection, name: str
) -> None:
    service, start, version = Reservations(demo), boundary(HOUR), "1.20"
    wish = {
        "name": name,
        "start_date": text(start),
        "end_date": text(start + HOUR),
        "reservations": [whole_hosts()],
    }
    once = {"Idempotency-Key": name}
    made = service.call("POST", "/leases", wish, version, once)
    again = service.call("POST", "/leases", wish, version, once)
    assert (made.status, again.status) == (201, 201), (made, again)
    lease_id = made.body["lease"]["id"]
    assert again.body["lease"]["id"] == lease_id

    seen = {"If-Match": made.headers["ETag"]}
    more = {"reservations": [instances(1)]}
    added = service.call("PUT", f"/leases/{lease_id}", more, version, seen)
    assert added.status == 200, added
    assert len(added.body["lease"]["reservations"]) == 2
    late = service.call("PUT", f"/leases/{lease_id}", {"name": f"{name}-late"}, version, seen)
    assert late.status == 412, late
    gone = {"reservations": [{"id": added.body["lease"]["reservations"][0]["id"], "remove": True}]}
    left = service.call("PUT", f"/leases/{lease_id}", gone, version, {"If-Match": added.headers["ETag"]})
    assert left.status == 200, left
    assert [each["resource_type"] for each in left.body["lease"]["reservations"]] == ["virtual:instance"]
