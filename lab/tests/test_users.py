"""Leases end and are deleted although their user is no longer in Keystone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from labtests.reservations import Reservations
from labtests.waiting import boundary, until
from openstack.connection import Connection

PASSWORD = "passing-through"


@pytest.fixture
def guest(admin: Connection, connect: Callable[..., Connection], name: str) -> Iterator[Connection]:
    """Yield a connection of a temporary member of project demo."""
    keystone: Any = admin.identity
    project = keystone.find_project("demo", ignore_missing=False)
    user = keystone.create_user(name=name, password=PASSWORD, domain_id="default")
    member = keystone.find_role("member", ignore_missing=False)
    keystone.assign_project_role_to_user(project, user, member)
    connection = connect("lab-demo", auth={"username": name, "password": PASSWORD})
    assert connection.session.get_user_id() == user.id
    yield connection
    keystone.delete_user(user, ignore_missing=True)


def remove(admin: Connection, name: str) -> None:
    keystone: Any = admin.identity
    keystone.delete_user(keystone.find_user(name, ignore_missing=False))


@pytest.mark.thorough
@pytest.mark.minutes(1)
def test_the_lease_of_a_deleted_user_ends_and_is_deleted(
    hosts: dict[str, str], admin: Connection, guest: Connection, boot: Callable[..., Any], name: str
) -> None:
    created = Reservations(guest).post_hosts(name, "now", boundary(20))
    assert created.status == 201, created
    lease_id = created.body["lease"]["id"]
    operator = Reservations(admin)
    lease = operator.await_status(lease_id, "ACTIVE", 30)
    assert boot(guest, lease["reservations"][0]["id"]).status == "ACTIVE"

    remove(admin, name)

    operator.await_status(lease_id, "TERMINATED", 180)
    assert operator.delete(lease_id).status == 204
    assert operator.call("GET", f"/leases/{lease_id}").status == 404


def test_the_active_lease_of_a_deleted_user_can_be_deleted(
    hosts: dict[str, str], admin: Connection, guest: Connection, boot: Callable[..., Any], name: str
) -> None:
    created = Reservations(guest).post_hosts(name, "now", boundary(600))
    assert created.status == 201, created
    lease_id = created.body["lease"]["id"]
    operator = Reservations(admin)
    lease = operator.await_status(lease_id, "ACTIVE", 30)
    assert boot(guest, lease["reservations"][0]["id"]).status == "ACTIVE"

    remove(admin, name)

    assert operator.delete(lease_id).status == 204
    operator.await_gone(lease_id, 120)
    until("no servers", 60, lambda: name not in {s.name for s in admin.compute.servers(all_projects=True)})
