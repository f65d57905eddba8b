"""What becomes of leases, as a program of the operator hears it from the lab's RabbitMQ."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import kombu
import pytest
from labtests.processes import LabProcesses
from labtests.reservations import Reservations
from labtests.waiting import SOON, boundary, text, until
from openstack.connection import Connection

EXCHANGE = "openstack"
TOPIC = "notifications"
PUBLISHER = "blazar.lease"
SLACK = 10
MINUTE = 60
HOUR = 3600


class Receiver:
    """A queue of its own on the topic: other receivers, and stories beside this one, get the same."""

    def __init__(self, connection: kombu.Connection) -> None:
        self._connection = connection
        self.heard: list[dict[str, Any]] = []
        exchange = kombu.Exchange(EXCHANGE, type="topic", passive=True)
        queue = kombu.Queue("", exchange, routing_key=f"{TOPIC}.info", exclusive=True)
        consumer = connection.Consumer([queue], callbacks=[self._take], no_ack=True)
        consumer.consume()

    def _take(self, body: Any, message: Any) -> None:
        self.heard.append(json.loads(body["oslo.message"]))

    def types(self, lease_id: str) -> list[str]:
        """Return which notifications of a lease have come, in their order."""
        with suppress(socket.timeout):
            while True:
                self._connection.drain_events(timeout=0.1)
        return [each["event_type"] for each in self.heard if each["payload"].get("lease_id") == lease_id]


@pytest.fixture
def receiver(processes: LabProcesses) -> Iterator[Receiver]:
    url = processes.settings.transport_url().replace("rabbit:", "amqp:")
    with kombu.Connection(url) as connection:
        yield Receiver(connection)


@pytest.mark.minutes(1)
def test_a_program_hears_what_becomes_of_leases(
    hosts: dict[str, str], demo: Connection, receiver: Receiver, name: str
) -> None:
    service = Reservations(demo)
    warning, start = boundary(SLACK), boundary(HOUR)
    lives = service.post_hosts(f"{name}-lives", "now", warning + 2 * HOUR)
    deleted = service.post_hosts(f"{name}-deleted", start, start + HOUR)
    assert (lives.status, deleted.status) == (201, 201), (lives, deleted)
    first, second = (answer.body["lease"]["id"] for answer in (lives, deleted))
    service.await_status(first, "ACTIVE", SOON)
    told = {"before_end_date": text(warning)}
    assert service.call("PUT", f"/leases/{first}", told).status == 200
    assert service.call("PUT", f"/leases/{second}", {"end_date": text(start + 2 * HOUR)}).status == 200
    assert service.delete(second).status == 204
    expected = ["lease.create", "lease.update", "lease.delete"]
    until("all of the second lease", SOON, lambda: receiver.types(second) == expected)

    expected = ["lease.create", "lease.event.start_lease", "lease.update", "lease.event.before_end_lease"]
    until("the warning", SLACK + MINUTE + SOON, lambda: receiver.types(first) == expected)
    assert service.call("PUT", f"/leases/{first}", {"end_date": "now"}).status == 200
    service.await_status(first, "TERMINATED", SOON)
    until("the end", SOON, lambda: "lease.event.end_lease" in receiver.types(first))
    later = receiver.types(first)[len(expected) :]
    assert [each for each in later if each != "lease.event.before_end_lease.stop"] == [
        "lease.update",
        "lease.event.end_lease",
    ]

    last = [each for each in receiver.heard if each["payload"].get("lease_id") == first][-1]
    assert (last["publisher_id"], last["priority"]) == (PUBLISHER, "INFO")
    assert last["payload"]["status"] == "TERMINATED"
    assert last["payload"]["project_id"] == demo.session.get_project_id()
    assert last["payload"]["reservations"][0]["resource_type"] == "physical:host"
