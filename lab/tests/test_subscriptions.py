"""What becomes of leases, as a program hears it over a stream of the lab's API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from labtests.reservations import Reservations
from labtests.waiting import SOON, boundary, until
from openstack.connection import Connection

HOUR = 3600


def told(service: Reservations, subscription: str) -> list[dict[str, Any]]:
    """Return all that the stream has told."""
    answer = service.stream(f"/subscriptions/{subscription}/events", version="1.16")
    lines = [line.removeprefix("data: ") for line in answer.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines]


@pytest.mark.minutes(1)
def test_a_stream_tells_the_life_of_a_lease(hosts: dict[str, str], demo: Connection, name: str) -> None:
    service = Reservations(demo)
    made = service.call("POST", "/subscriptions", {"name": name}, version="1.16")
    assert made.status == 201, made
    subscription = made.body["subscription"]["id"]
    try:
        lease = service.post_hosts(name, "now", boundary(2 * HOUR)).body["lease"]
        service.await_status(lease["id"], "ACTIVE", SOON)
        assert service.call("PUT", f"/leases/{lease['id']}", {"end_date": "now"}).status == 200

        def events() -> list[str]:
            return [
                each["event"] for each in told(service, subscription) if each["lease"]["id"] == lease["id"]
            ]

        until("the end", 2 * SOON, lambda: "ended" in events())
        assert events() == ["created", "started", "updated", "end_soon", "ended"]
    finally:
        assert service.call("DELETE", f"/subscriptions/{subscription}", version="1.16").status == 204
