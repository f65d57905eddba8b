"""Roles that a real Keystone gives, and an operator's rules that change while the API runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from labtests.processes import LabProcesses
from labtests.reservations import Answer, Reservations
from labtests.waiting import boundary, until
from openstack.connection import Connection

PASSWORD = "only-reads"
HOUR = 3600
SOON = 15
MAKE_LEASE = "blazar:leases:post"
SEE_ALLOCATIONS = "blazar:oshosts:get_allocations"


@pytest.fixture
def reader(admin: Connection, connect: Callable[..., Connection], name: str) -> Iterator[Connection]:
    """Yield a connection of a user who may only read in project demo."""
    keystone: Any = admin.identity
    project = keystone.find_project("demo", ignore_missing=False)
    user = keystone.create_user(name=name, password=PASSWORD, domain_id="default")
    role = keystone.find_role("reader", ignore_missing=False)
    keystone.assign_project_role_to_user(project, user, role)
    with connect("lab-demo", auth={"username": name, "password": PASSWORD}) as connection:
        yield connection
    keystone.delete_user(user)


def refusal(rule: str) -> tuple[int, str]:
    return 403, f"Policy doesn't allow {rule} to be performed"


def told(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.message


def test_each_role_may_do_what_the_page_says(
    hosts: dict[str, str], admin: Connection, demo: Connection, alt: Connection, reader: Connection, name: str
) -> None:
    start = boundary(HOUR)
    looks, member, stranger = Reservations(reader), Reservations(demo), Reservations(alt)
    assert told(looks.post_hosts(name, start, start + HOUR)) == refusal(MAKE_LEASE)
    made = member.post_hosts(name, start, start + HOUR)
    assert made.status == 201, made
    lease_id = made.body["lease"]["id"]

    assert looks.lease(lease_id)["name"] == name
    assert told(looks.delete(lease_id)) == refusal("blazar:leases:delete")
    assert stranger.call("GET", f"/leases/{lease_id}").status == 404
    for service in (looks, member):
        assert told(service.call("GET", "/os-hosts/allocations")) == refusal(SEE_ALLOCATIONS)
    operator = Reservations(admin)
    assert operator.call("GET", "/os-hosts/allocations").status == 200
    assert operator.delete(lease_id).status == 204


@pytest.mark.alone
def test_a_rule_changes_while_the_api_runs(
    processes: LabProcesses, hosts: dict[str, str], admin: Connection, demo: Connection, name: str
) -> None:
    start = boundary(HOUR)
    member, operator = Reservations(demo), Reservations(admin)

    def asked(service: Reservations) -> tuple[int, str]:
        answer = service.post_hosts(name, start, start + HOUR)
        if answer.status == 201:
            assert operator.delete(answer.body["lease"]["id"]).status == 204
        return told(answer)

    def complaints() -> list[str]:
        return [line for line in processes.log("blazar-api")[before:].splitlines() if "policy_file" in line]

    assert asked(member) == (201, "")
    with processes.policies(f'"{MAKE_LEASE}": "role:admin"\n') as path:
        until("the member refused", SOON, lambda: asked(member) == refusal(MAKE_LEASE))
        assert asked(operator) == (201, "")

        before = len(processes.log("blazar-api"))
        path.write_text("a: [\n")
        assert asked(member) == refusal(MAKE_LEASE)
        until("a complaint", SOON, lambda: asked(member) == refusal(MAKE_LEASE) and complaints())
        (line,) = complaints()
        assert "The policies stay as they are, for policy_file makes no sense" in line
    until("the member allowed again", SOON, lambda: asked(member) == (201, ""))
