"""The service's user has the roles of the page on hardening, with which all other stories run, and is refused
what these are to keep from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from blazar_lab.settings import PASSWORD
from labtests.processes import LabProcesses
from openstack.connection import Connection

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operator" / "hardening.md"
ROLE = re.compile(r"^\$ openstack role add --user blazar --project service (\w+)$", re.MULTILINE)
POLICY = re.compile(r"```yaml\n# policy.yaml of Neutron\n(.*?)```", re.DOTALL)
WITH_CONSOLES = "2.6"
WITHOUT_THE_RULE = '"context_is_admin": "role:admin"\n'
"""To take it out of the file would change nothing before a restart."""


@pytest.fixture(scope="module")
def service(connect: Callable[..., Connection]) -> Iterator[Connection]:
    own = {"username": "blazar", "password": PASSWORD, "project_name": "service"}
    with connect("lab-admin", auth=own) as connection:
        yield connection


@pytest.fixture
def private_image(demo: Connection, name: str) -> Iterator[str]:
    made = demo.image.create_image(name, data=b"0", disk_format="raw", container_format="bare")
    yield str(made.id)
    demo.image.delete_image(made)


@pytest.fixture
def router(demo: Connection, name: str) -> Iterator[str]:
    made = demo.network.create_router(name=name)
    yield str(made.id)
    demo.network.delete_router(made)


@pytest.fixture
def volume(demo: Connection, name: str) -> Iterator[str]:
    storage = demo.block_storage
    made = storage.create_volume(name=name, size=1, volume_type="standard")
    storage.wait_for_status(made, "available", interval=0.3)
    yield str(made.id)
    storage.delete_volume(made)
    storage.wait_for_delete(made, interval=0.3)


def test_it_has_the_roles_of_the_page(admin: Connection, service: Connection) -> None:
    keystone: Any = admin.identity
    names = {role.id: role.name for role in keystone.roles()}
    user, project = service.session.get_user_id(), service.session.get_project_id()
    given = [each.role["id"] for each in keystone.role_assignments(user_id=user, scope_project_id=project)]
    assert sorted(names[each] for each in given) == sorted(ROLE.findall(PAGE.read_text()))


def test_it_changes_nothing_in_keystone(service: Connection, admin: Connection) -> None:
    user, project = service.session.get_user_id(), service.session.get_project_id()
    keystone: Any = admin.identity
    role = keystone.find_role("admin", ignore_missing=False).id
    for method, path in (
        ("GET", "/users"),
        ("POST", "/users"),
        ("GET", "/projects"),
        ("POST", "/projects"),
        ("GET", "/role_assignments"),
        ("PUT", f"/projects/{project}/users/{user}/roles/{role}"),
    ):
        body = {path[1:-1]: {"name": "forged"}} if method == "POST" else None
        assert status(service.identity, method, path, body) == 403, path


def test_in_neutron_it_reaches_what_the_rules_for_networks_open(
    service: Connection, admin: Connection, router: str
) -> None:
    public = admin.network.find_network("public", ignore_missing=False).id
    neutron: Any = service.network
    assert not list(neutron.security_groups())
    assert status(neutron, "PUT", f"/networks/{public}", {"network": {"name": "public"}}) == 403
    assert status(neutron, "PUT", f"/networks/{public}", {"network": {"shared": True}}) == 403
    assert router in [each.id for each in neutron.routers()]


@pytest.mark.alone
def test_without_the_rules_for_networks_and_ports_it_reaches_none_of_them(
    service: Connection, admin: Connection, demo: Connection, processes: LabProcesses, router: str
) -> None:
    public = admin.network.find_network("public", ignore_missing=False).id
    neutron: Any = service.network
    usual, for_networks, for_ports = POLICY.findall(PAGE.read_text())
    assert for_networks.count("role:reservation") == 15
    quota = f"/quotas/{demo.current_project_id}"
    assert status(neutron, "GET", quota) == 200
    with processes.rules("neutron", usual + closed(for_networks + for_ports)):
        assert status(neutron, "GET", quota) == 403
        assert status(neutron, "PUT", quota, {"quota": {"port": -1}}) == 403
        assert router not in [each.id for each in neutron.routers()]
        assert status(neutron, "POST", "/networks", {"network": {"name": "forged"}}) == 403
        assert status(neutron, "DELETE", f"/networks/{public}") == 403


def test_in_cinder_it_reads_volumes_of_others_and_makes_or_changes_none(
    service: Connection, volume: str, demo: Connection
) -> None:
    cinder: Any = service.block_storage
    project = f"/os-quota-sets/{demo.current_project_id}"
    path = f"/volumes/{volume}"
    assert status(cinder, "GET", path) == status(cinder, "GET", project) == 200
    for method, where, body in (
        ("POST", "/volumes", {"volume": {"size": 1}}),
        ("PUT", path, {"volume": {"name": "forged"}}),
        ("POST", f"{path}/action", {"os-extend": {"new_size": 2}}),
        ("POST", f"{path}/action", {"os-reset_status": {"status": "error"}}),
        ("POST", "/snapshots", {"snapshot": {"volume_id": volume}}),
        ("POST", "/types", {"volume_type": {"name": "forged"}}),
        ("DELETE", project, None),
    ):
        assert status(cinder, method, where, body) == 403, (method, where)
    assert status(demo.block_storage, "PUT", project, {"quota_set": {"gigabytes": 5000}}) == 403


def test_it_gets_into_no_server(
    service: Connection, boot: Callable[..., Any], demo: Connection, image: str
) -> None:
    """Its owner is not refused: the server has no host, so that is what is wrong then."""
    path = f"/servers/{boot(demo).id}"
    console = {"remote_console": {"protocol": "vnc", "type": "novnc"}}
    for method, end, body in (
        ("POST", "/action", {"os-getConsoleOutput": {}}),
        ("POST", "/action", {"changePassword": {"adminPass": "forged"}}),
        ("POST", "/action", {"rescue": {}}),
        ("POST", "/action", {"rebuild": {"imageRef": image}}),
        ("POST", "/remote-consoles", console),
        ("GET", "/os-server-password", None),
    ):
        asked = (method, path + end, body, WITH_CONSOLES)
        assert status(service.compute, *asked) == 403, body
        assert status(demo.compute, *asked) != 403, body
    assert status(service.compute, "GET", path) == 200


@pytest.mark.alone
def test_in_glance_and_nova_it_needs_the_rule_of_an_administrator(
    processes: LabProcesses,
    service: Connection,
    private_image: str,
    boot: Callable[..., Any],
    demo: Connection,
) -> None:
    image, server = f"/images/{private_image}", f"/servers/{boot(demo).id}"
    assert status(service.image, "GET", image) == status(service.compute, "GET", server) == 200
    with processes.rules("glance", WITHOUT_THE_RULE), processes.rules("nova", WITHOUT_THE_RULE):
        for method in ("GET", "DELETE"):
            assert status(service.image, method, image) == 404
            assert status(service.compute, method, server) == 404


def closed(rules: str) -> str:
    """Return rules as they are without the service's role: what is taken out of the file counts on."""
    return rules.replace(" or role:reservation", "")


def status(api: Any, method: str, path: str, body: Any = None, version: str | None = None) -> int:
    answer = api.request(path, method, raise_exc=False, json=body, microversion=version)
    return int(answer.status_code)
