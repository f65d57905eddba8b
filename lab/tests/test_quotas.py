"""Quotas whose limits are in a real Keystone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from blazar_lab.settings import PASSWORD
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from labtests.processes import LabProcesses
from labtests.reservations import Reservations
from labtests.waiting import boundary
from openstack.connection import Connection

HOUR = 3600
pytestmark = pytest.mark.alone


@pytest.fixture
def limits(processes: LabProcesses, demo: Connection) -> Iterator[Any]:
    """Have the manager take its limits from Keystone; return Keystone for who keeps them."""
    auth_url = demo.session.auth.auth_url
    of_system = {"user_domain_id": "default", "system_scope": "all"}
    auth = Password(auth_url, username="admin", password=PASSWORD, **of_system)
    with (
        Connection(session=Session(auth), interface="public") as operator,
        processes.configured("quota", source="keystone"),
    ):
        yield operator.identity
        for remove, listed in (
            (operator.identity.delete_limit, operator.identity.limits),
            (operator.identity.delete_registered_limit, operator.identity.registered_limits),
        ):
            for found in listed():
                remove(found)


def test_limits_of_keystone_hold(
    hosts: dict[str, str], limits: Any, demo: Connection, alt: Connection, name: str
) -> None:
    (service,) = limits.services(type="reservation")
    of_hosts = {"service_id": service.id, "resource_name": "hosts"}
    limits.create_registered_limit(**of_hosts, default_limit=0)
    project = demo.session.get_project_id()
    limits.create_limit(**of_hosts, project_id=project, resource_limit=1)
    start = boundary(HOUR)

    stranger = Reservations(alt).post_hosts(name, start, start + HOUR)
    assert (stranger.status, stranger.message) == (
        403,
        "Quota exceeded for hosts: the limit is 0, 0 are in use, and 1 are asked for.",
    )
    assert Reservations(demo).post_hosts(name, start, start + HOUR).status == 201
    again = Reservations(demo).post_hosts(name, start, start + HOUR)
    assert again.status == 403
    assert "hosts: the limit is 1, 1 are in use" in again.message
    shown = Reservations(demo).call("GET", f"/quotas/{project}").body["quota"]
    assert (shown["limits"]["hosts"], shown["own"]) == (1, ["hosts"])
