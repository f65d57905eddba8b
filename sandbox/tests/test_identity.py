"""Tests of Keystone: authentication, authorisation and collections."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests

from blazar_sandbox.cloud import Cloud
from blazar_sandbox.server import SandboxServer


def auth(server: SandboxServer, identity: dict[str, Any], scope: Any = None) -> requests.Response:
    body: dict[str, Any] = {"auth": {"identity": identity}}
    if scope is not None:
        body["auth"]["scope"] = scope
    return requests.post(server.auth_url + "/auth/tokens", json=body, timeout=10)


def password(user: str, word: str = "sandbox") -> dict[str, Any]:
    return {
        "methods": ["password"],
        "password": {"user": {"name": user, "domain": {"name": "Default"}, "password": word}},
    }


def token(token_id: str) -> dict[str, Any]:
    return {"methods": ["token"], "token": {"id": token_id}}


def role_id(cloud: Cloud, name: str) -> str:
    role = cloud.identity.role_named(name)
    assert role is not None
    return role.id


def project(name: str) -> dict[str, Any]:
    return {"project": {"name": name, "domain": {"id": "default"}}}


@pytest.mark.parametrize("path", ["/", "/v3", "/v3/"])
def test_versions_need_no_token(server: SandboxServer, path: str) -> None:
    answer = requests.get(server.url + path, timeout=10)
    assert answer.status_code == (300 if path == "/" else 200)
    body = answer.json()
    version = body["versions"]["values"][0] if path == "/" else body["version"]
    assert version["id"].startswith("v3.")
    assert version["links"][0]["href"] == f"{server.url}/v3/"


def test_project_scope_brings_implied_roles_and_catalog(server: SandboxServer, cloud: Cloud) -> None:
    body = auth(server, password("admin"), project("admin")).json()["token"]
    assert {role["name"] for role in body["roles"]} == {"admin", "member", "reader"}
    assert body["project"]["id"] == cloud.project_id("admin")
    urls = {one["type"]: one["endpoints"][0]["url"] for one in body["catalog"]}
    assert urls["compute"] == f"{server.url}/compute/v2.1"
    assert urls["reservation"] == "http://127.0.0.1:1234/v1"


def test_without_scope_the_default_project_counts(server: SandboxServer, cloud: Cloud) -> None:
    assert auth(server, password("demo")).json()["token"]["project"]["id"] == cloud.project_id("demo")
    unscoped = auth(server, password("demo"), "unscoped").json()["token"]
    assert "project" not in unscoped
    assert "catalog" not in unscoped


@pytest.mark.parametrize(
    ("identity", "scope", "status"),
    [
        (password("demo", "wrong"), project("demo"), 401),
        (password("unknown"), project("demo"), 401),
        (password("demo"), project("alt"), 401),
        (password("demo"), project("nowhere"), 401),
        (password("demo"), {"system": {"all": True}}, 401),
        (password("admin"), {"system": {"all": True}}, 201),
        (password("admin"), {"domain": {"id": "default"}}, 201),
        (token("nonsense"), project("demo"), 401),
        ({"methods": "password"}, None, 400),
        ({"methods": ["password"]}, None, 400),
        ({"methods": ["mind-reading"], "mind-reading": {}}, None, 401),
    ],
)
def test_who_gets_a_token(server: SandboxServer, identity: dict[str, Any], scope: Any, status: int) -> None:
    answer = auth(server, identity, scope)
    assert answer.status_code == status
    assert ("X-Subject-Token" in answer.headers) == (status == 201)
    if status == 401:
        assert answer.json()["error"]["code"] == 401
        assert "Keystone" in answer.headers["WWW-Authenticate"]


@pytest.mark.parametrize("body", ["", "no json", "[]", '{"auth": 5}'])
def test_a_body_that_is_none_is_refused(server: SandboxServer, body: str) -> None:
    assert requests.post(server.auth_url + "/auth/tokens", data=body, timeout=10).status_code == 400


def test_a_token_is_rescoped_and_does_not_live_longer(server: SandboxServer, admin: Any) -> None:
    admin.ok("PUT", f"/v3/projects/{server.cloud.project_id('alt')}/users/{admin.token_body['user']['id']}"
             f"/roles/{role_id(server.cloud, 'member')}")  # fmt: skip
    answer = auth(server, token(admin.token), project("alt"))
    assert answer.status_code == 201
    assert answer.json()["token"]["project"]["name"] == "alt"
    assert set(answer.json()["token"]["methods"]) == {"token", "password"}
    assert answer.json()["token"]["expires_at"] == admin.token_body["expires_at"]


def test_validation_by_a_service_and_by_the_bearer(admin: Any, demo: Any, alt: Any) -> None:
    subject = {"X-Subject-Token": demo.token}
    seen = admin.call("GET", "/v3/auth/tokens", headers=subject)
    assert seen.status == 200
    assert seen.headers["X-Subject-Token"] == demo.token
    assert seen.body["token"]["user"]["name"] == "demo"
    assert "catalog" in seen.body["token"]
    assert "catalog" not in admin.call("GET", "/v3/auth/tokens?nocatalog", headers=subject).body["token"]
    assert demo.call("GET", "/v3/auth/tokens", headers=subject).status == 200
    assert admin.call("HEAD", "/v3/auth/tokens", headers=subject).status == 200
    assert admin.call("GET", "/v3/auth/tokens", headers={"X-Subject-Token": "nonsense"}).status == 404
    assert admin.call("DELETE", "/v3/auth/tokens", headers=subject).status == 204
    assert demo.call("GET", "/v3/auth/projects").status == 401


class ManualClock:
    def __init__(self) -> None:
        self.moment = datetime(2030, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment


def test_tokens_expire_and_may_be_shown_for_a_while(served: SandboxServer) -> None:
    clock = ManualClock()
    cloud = Cloud(clock=clock, token_lifetime=timedelta(minutes=5))
    served.replace(cloud)
    body = {"identity": password("demo"), "scope": project("demo")}
    old = cloud.tokens.authenticate(body).token.id
    clock.moment += timedelta(minutes=5)
    fresh = cloud.tokens.authenticate({"identity": password("admin"), "scope": project("admin")}).token.id
    url, headers = served.auth_url + "/auth/tokens", {"X-Auth-Token": fresh, "X-Subject-Token": old}
    assert requests.get(url, headers=headers, timeout=10).status_code == 404
    assert requests.get(url + "?allow_expired=1", headers=headers, timeout=10).status_code == 200
    clock.moment += timedelta(days=2)
    fresh = cloud.tokens.authenticate({"identity": password("admin"), "scope": project("admin")}).token.id
    headers["X-Auth-Token"] = fresh
    assert requests.get(url + "?allow_expired=1", headers=headers, timeout=10).status_code == 404
    assert old not in cloud.identity.tokens, "tokens that have expired for good are deleted"


def test_a_token_ends_with_what_it_stands_for(caller: Callable[..., Any], admin: Any, cloud: Cloud) -> None:
    user = admin.ok(
        "POST", "/v3/users", {"user": {"name": "ann", "password": "p", "default_project_id": None}}
    )["user"]
    where = f"/v3/projects/{cloud.project_id('demo')}/users/{user['id']}/roles/{role_id(cloud, 'member')}"
    admin.ok("PUT", where)
    ann = caller("ann", "demo", "p")
    assert ann.call("GET", "/compute/v2.1/servers").status == 200
    admin.ok("DELETE", where)
    assert ann.call("GET", "/compute/v2.1/servers").status == 401
    admin.ok("PUT", where)
    assert ann.call("GET", "/compute/v2.1/servers").status == 200
    admin.ok("PATCH", f"/v3/users/{user['id']}", {"user": {"password": "q"}})
    assert ann.call("GET", "/compute/v2.1/servers").status == 401
    ann = caller("ann", "demo", "q")
    admin.ok("PATCH", f"/v3/users/{user['id']}", {"user": {"enabled": False}})
    assert ann.call("GET", "/compute/v2.1/servers").status == 401
    admin.ok("PATCH", f"/v3/users/{user['id']}", {"user": {"enabled": True}})
    assert ann.call("GET", "/compute/v2.1/servers").status == 200
    admin.ok("DELETE", f"/v3/users/{user['id']}")
    assert ann.call("GET", "/compute/v2.1/servers").status == 401
    assert admin.call("GET", f"/v3/users/{user['id']}").status == 404


def test_users_change_their_own_password(caller: Callable[..., Any], demo: Any, cloud: Cloud) -> None:
    body = {"user": {"original_password": "wrong", "password": "new"}}
    assert demo.call("POST", f"/v3/users/{cloud.user_id('demo')}/password", body).status == 401
    body["user"]["original_password"] = "sandbox"
    assert demo.call("POST", f"/v3/users/{cloud.user_id('demo')}/password", body).status == 204
    assert caller("demo", password="new").token


@pytest.mark.parametrize("path", ["users", "projects", "role_assignments", "services", "endpoints"])
def test_members_do_not_list_what_is_the_operators(demo: Any, path: str) -> None:
    assert demo.call("GET", f"/v3/{path}").status == 403


def test_members_see_themselves(demo: Any, cloud: Cloud) -> None:
    assert demo.ok("GET", f"/v3/users/{cloud.user_id('demo')}")["user"]["name"] == "demo"
    assert demo.ok("GET", f"/v3/projects/{cloud.project_id('demo')}")["project"]["name"] == "demo"
    assert [one["name"] for one in demo.ok("GET", "/v3/auth/projects")["projects"]] == ["demo"]


def test_role_assignments_are_filtered_and_named(admin: Any, cloud: Cloud) -> None:
    path = f"/v3/role_assignments?user.id={cloud.user_id('demo')}&scope.project.id={cloud.project_id('demo')}"
    direct = admin.ok("GET", path + "&include_names=True")["role_assignments"]
    assert {(one["role"]["name"], one["scope"]["project"]["name"]) for one in direct} == {
        ("member", "demo"),
        ("reader", "demo"),
    }
    path = f"/v3/role_assignments?user.id={cloud.user_id('blazar')}&effective&include_names=True"
    effective = {one["role"]["name"] for one in admin.ok("GET", path)["role_assignments"]}
    assert effective == {"admin", "service", "member", "reader"}


def test_the_sdk_manages_users_projects_and_roles(connect: Callable[[str], Any]) -> None:
    identity = connect("admin").identity
    made = identity.create_project(name="new", domain_id="default")
    user = identity.create_user(name="bob", password="x", domain_id="default", default_project_id=made.id)
    role = identity.find_role("member")
    identity.assign_project_role_to_user(made, user, role)
    assert identity.validate_user_has_project_role(made, user, role)
    assert identity.find_user("bob", domain_id="default").id == user.id
    assert [one.name for one in identity.user_projects(user)] == ["new"]
    service = identity.create_service(name="dns", type="dns")
    identity.create_endpoint(
        service_id=service.id, interface="public", url="http://dns.test", region_id="RegionOne"
    )
    assert [one.url for one in identity.endpoints(service_id=service.id)] == ["http://dns.test"]
    identity.delete_service(service)
    assert [one for one in identity.endpoints() if one.service_id == service.id] == []
    identity.delete_user(user)
    identity.delete_project(made)
    assert identity.find_project("new") is None
