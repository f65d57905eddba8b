"""Services that decide about leases, and are told of their ends; what they are told is of a real cloud."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from functional.enforcing import Answer, Asked, Credits, Deciding, Plain, deciding, yes
from labtests.processes import LabProcesses
from labtests.reservations import Reservations
from labtests.waiting import SOON, boundary, text, until
from openstack.connection import Connection

TOKEN = "a-token-of-the-lab"
HOUR = 3600
LONGEST = 4 * HOUR
BOOKS = ("/usage/create", "/usage/update")
FIRST = '["==", "$rack", "r1"]'
VCPUS_OF_FIRST = 8
pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def service(processes: LabProcesses) -> Iterator[Deciding]:
    """Have the manager ask a service, which gets the tokens of both dialects and is told what is booked."""
    with (
        deciding() as found,
        processes.configured(
            "enforcement",
            enabled_filters="MaxLeaseDurationFilter,ExternalServiceFilter",
            max_lease_duration=LONGEST,
            external_service_base_endpoint=found.url,
            external_service_commit_create_endpoint=f"{found.url}create",
            external_service_commit_update_endpoint=f"{found.url}update",
            external_service_token=TOKEN,
            external_service_bearer_token=TOKEN,
        ),
    ):
        yield found


@pytest.fixture
def asked(service: Deciding) -> Iterator[Deciding]:
    """Return the service as one that allows all, and was asked nothing yet."""
    service.decide = yes
    service.asked.clear()
    yield service
    service.decide = yes


def test_a_service_that_wants_what_upstream_sends(
    hosts: dict[str, str], asked: Deciding, demo: Connection, name: str
) -> None:
    plain = Plain(TOKEN, most_hosts=1)

    def without_books(question: Asked) -> Answer:
        return yes(question) if question.path in BOOKS else plain(question)

    asked.decide = without_books
    service, end = Reservations(demo), boundary(HOUR)
    refused = service.post_hosts(name, "now", end, count=2)
    assert (refused.status, refused.message) == (400, "2 hosts are more than 1.")
    assert name not in {lease["name"] for lease in service.call("GET", "/leases").body["leases"]}

    made = service.post_hosts(name, "now", end, properties=FIRST)
    assert made.status == 201, made
    lease_id = made.body["lease"]["id"]
    checks = [each for each in asked.asked if each.path == "/usage/check-create"]
    context, lease = (checks[-1].body[part] for part in ("context", "lease"))
    assert context["project_id"] == demo.session.get_project_id()
    assert context["auth_url"].rstrip("/") == demo.session.auth.auth_url.rstrip("/")
    (host,) = lease["reservations"][0]["allocations"]
    assert (host["hypervisor_hostname"], host["vcpus"]) == ("host1", VCPUS_OF_FIRST)

    service.await_status(lease_id, "ACTIVE", SOON)
    longer = service.call("PUT", f"/leases/{lease_id}", {"end_date": text(end + HOUR)})
    assert longer.status == 200, longer
    assert plain.ended == []
    assert service.delete(lease_id).status == 204
    until("the service told of the end", SOON, lambda: lease_id in plain.ended)


def test_a_service_that_counts_credits(
    hosts: dict[str, str], asked: Deciding, demo: Connection, name: str
) -> None:
    books = asked.decide = Credits(TOKEN, credits=2.5 * VCPUS_OF_FIRST)
    service, start = Reservations(demo), boundary(HOUR)

    def post(start: int) -> Any:
        return service.post_hosts(name, start, start + 2 * HOUR, properties=FIRST)

    made = post(start)
    assert made.status == 201, made
    lease_id = made.body["lease"]["id"]
    until("it is booked", SOON, lambda: books.spent == {lease_id: 2.0 * VCPUS_OF_FIRST})
    refused = post(start + 2 * HOUR)
    assert (refused.status, refused.message) == (400, "Insufficient credits.")
    assert service.delete(lease_id).status == 204
    until("the credits are given back", SOON, lambda: not books.spent)
    assert post(start + 2 * HOUR).status == 201
    assert books.complaints == []


def test_no_lease_is_longer_than_the_limit(
    hosts: dict[str, str], asked: Deciding, demo: Connection, name: str
) -> None:
    service, start = Reservations(demo), boundary(HOUR)
    refused = service.post_hosts(name, start, start + LONGEST + 60)
    assert (refused.status, refused.message) == (
        400,
        f"Lease duration of {LONGEST + 60} seconds must be less than or equal to the maximum lease duration "
        f"of {LONGEST} seconds.",
    )
    assert asked.asked == []
    assert service.post_hosts(name, start, start + LONGEST).status == 201
