"""Tests of Keystone's unified limits, through the SDK and bare calls."""

from typing import Any

import openstack
import pytest
from keystoneauth1.identity import v3
from keystoneauth1.session import Session

from blazar_sandbox.server import SandboxServer


def service_id(admin: Any) -> str:
    (found,) = admin.call("GET", "/v3/services?type=reservation").body["services"]
    return str(found["id"])


def register(admin: Any, name: str = "hosts", limit: int = 3, **more: Any) -> Any:
    body = {"service_id": service_id(admin), "resource_name": name, "default_limit": limit, **more}
    return admin.call("POST", "/v3/registered_limits", {"registered_limits": [body]})


def limit(admin: Any, project_id: str, name: str = "hosts", number: int = 5, **more: Any) -> Any:
    where = {"service_id": service_id(admin), "resource_name": name, "project_id": project_id}
    return admin.call("POST", "/v3/limits", {"limits": [{**where, "resource_limit": number, **more}]})


def test_the_sdk_makes_changes_and_removes_limits(server: SandboxServer) -> None:
    auth = v3.Password(
        server.auth_url, username="admin", password="sandbox", user_domain_id="default", system_scope="all"
    )
    with openstack.connection.Connection(session=Session(auth), identity_interface="public") as cloud:
        (service,) = cloud.identity.services(type="reservation")
        project = cloud.identity.find_project("demo")
        where = {"service_id": service.id, "resource_name": "hosts"}
        registered = cloud.identity.create_registered_limit(**where, default_limit=3)
        assert [each.default_limit for each in cloud.identity.registered_limits()] == [3]
        made = cloud.identity.create_limit(**where, project_id=project.id, resource_limit=5)
        cloud.identity.update_limit(made.id, resource_limit=-1)
        (found,) = cloud.identity.limits(project_id=project.id)
        assert found.resource_limit == -1
        cloud.identity.delete_limit(made.id)
        cloud.identity.delete_registered_limit(registered.id)
        assert not list(cloud.identity.limits())


def test_who_sees_which_limits(admin: Any, demo: Any) -> None:
    project = demo.token_body["project"]["id"]
    register(admin)
    assert limit(admin, project).status == 201
    other = admin.token_body["project"]["id"]
    assert limit(admin, other).status == 201
    assert len(demo.call("GET", "/v3/registered_limits").body["registered_limits"]) == 1
    seen = demo.call("GET", "/v3/limits").body["limits"]
    assert [each["project_id"] for each in seen] == [project]
    assert demo.call("GET", "/v3/limits/model").body["model"]["name"] == "flat"
    body = {"service_id": "any", "resource_name": "hosts", "project_id": project, "resource_limit": 9}
    assert demo.call("POST", "/v3/limits", {"limits": [body]}).status == 403


@pytest.mark.parametrize("number", [-2, "many", True, None, 2**31])
def test_what_is_no_limit_is_refused(admin: Any, number: Any) -> None:
    assert register(admin, limit=number).status == 400


def test_a_limit_needs_a_registered_one_and_is_there_once(admin: Any) -> None:
    project = admin.token_body["project"]["id"]
    assert limit(admin, project).status == 403
    (registered,) = register(admin).body["registered_limits"]
    assert register(admin).status == 409
    assert limit(admin, project).status == 201
    assert limit(admin, project).status == 409
    assert admin.call("DELETE", f"/v3/registered_limits/{registered['id']}").status == 403
