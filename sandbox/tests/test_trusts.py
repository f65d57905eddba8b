"""Tests of trusts: delegated roles, redelegation and their end."""

from collections.abc import Callable
from typing import Any

import pytest
import requests

from blazar_sandbox.cloud import Cloud
from blazar_sandbox.server import SandboxServer


def make_trust(owner: Any, cloud: Cloud, **more: Any) -> Any:
    body = {
        "trustor_user_id": owner.token_body["user"]["id"],
        "trustee_user_id": cloud.user_id("blazar"),
        "project_id": owner.token_body["project"]["id"],
        "impersonation": True,
        "roles": [{"name": "member"}],
        **more,
    }
    return owner.call("POST", "/v3/OS-TRUST/trusts", {"trust": body})


def trust_token(server: SandboxServer, trust_id: str, user: str = "blazar") -> requests.Response:
    who = {"name": user, "domain": {"id": "default"}, "password": "sandbox"}
    identity = {"methods": ["password"], "password": {"user": who}}
    body: Any = {"auth": {"identity": identity, "scope": {"OS-TRUST:trust": {"id": trust_id}}}}
    return requests.post(server.auth_url + "/auth/tokens", json=body, timeout=10)


@pytest.fixture
def trust_id(demo: Any, cloud: Cloud) -> str:
    made: str = make_trust(demo, cloud).body["trust"]["id"]
    return made


def test_the_trustee_acts_as_the_trustor(server: SandboxServer, cloud: Cloud, trust_id: str) -> None:
    answer = trust_token(server, trust_id)
    assert answer.status_code == 201
    body = answer.json()["token"]
    assert body["user"]["id"] == cloud.user_id("demo")
    assert body["project"]["id"] == cloud.project_id("demo")
    assert {role["name"] for role in body["roles"]} == {"member", "reader"}
    assert body["OS-TRUST:trust"]["trustee_user"]["id"] == cloud.user_id("blazar")
    headers = {"X-Auth-Token": answer.headers["X-Subject-Token"]}
    group = {"server_group": {"name": "g", "policies": ["affinity"]}}
    made = requests.post(
        server.url + "/compute/v2.1/os-server-groups", json=group, headers=headers, timeout=10
    )
    assert made.status_code == 200
    assert next(iter(cloud.compute.groups)).project_id == cloud.project_id("demo")


def test_without_impersonation_the_trustee_stays_who_they_are(
    server: SandboxServer, demo: Any, cloud: Cloud
) -> None:
    trust = make_trust(demo, cloud, impersonation=False).body["trust"]
    assert trust_token(server, trust["id"]).json()["token"]["user"]["id"] == cloud.user_id("blazar")


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"roles": [{"name": "admin"}]}, 404),
        ({"roles": []}, 403),
        ({"roles": [{"name": "king"}]}, 404),
        ({"trustee_user_id": "unknown"}, 404),
        ({"project_id": "nowhere"}, 404),
        ({"trustor_user_id": "another-user"}, 403),
        ({"expires_at": "2001-01-01T00:00:00Z"}, 400),
        ({"expires_at": "tomorrow"}, 400),
        ({"remaining_uses": 0}, 400),
        ({"roles": [{"name": "reader"}]}, 201),
    ],
)
def test_what_may_be_trusted(demo: Any, cloud: Cloud, more: dict[str, Any], status: int) -> None:
    assert make_trust(demo, cloud, **more).status == status
    assert len(cloud.identity.trusts) == (1 if status == 201 else 0)


def test_only_the_trustee_uses_it(server: SandboxServer, trust_id: str) -> None:
    assert trust_token(server, trust_id, "alt").status_code == 403


def test_a_deleted_trust_is_gone_with_its_tokens(server: SandboxServer, demo: Any, trust_id: str) -> None:
    token = trust_token(server, trust_id).headers["X-Subject-Token"]
    url, headers = server.url + "/compute/v2.1/servers", {"X-Auth-Token": token}
    assert requests.get(url, headers=headers, timeout=10).status_code == 200
    assert demo.call("DELETE", f"/v3/OS-TRUST/trusts/{trust_id}").status == 204
    assert requests.get(url, headers=headers, timeout=10).status_code == 401
    assert trust_token(server, trust_id).status_code == 404


def test_a_trust_dies_with_the_trustors_role(
    server: SandboxServer, admin: Any, cloud: Cloud, trust_id: str
) -> None:
    token = trust_token(server, trust_id).headers["X-Subject-Token"]
    project, user = cloud.project_id("demo"), cloud.user_id("demo")
    for role in ("member", "reader"):
        role_id = next(one.id for one in cloud.identity.roles if one.name == role)
        admin.ok("DELETE", f"/v3/projects/{project}/users/{user}/roles/{role_id}")
    assert trust_token(server, trust_id).status_code == 403
    answer = requests.get(server.url + "/compute/v2.1/servers", headers={"X-Auth-Token": token}, timeout=10)
    assert answer.status_code == 401


def test_a_trust_dies_with_the_trustor(
    server: SandboxServer, admin: Any, cloud: Cloud, trust_id: str
) -> None:
    admin.ok("DELETE", f"/v3/users/{cloud.user_id('demo')}")
    assert trust_token(server, trust_id).status_code == 401


def test_a_trust_token_is_not_rescoped_and_creates_no_trust(
    server: SandboxServer, caller: Callable[..., Any], cloud: Cloud, trust_id: str
) -> None:
    impostor = caller("blazar", "service")
    impostor.token = trust_token(server, trust_id).headers["X-Subject-Token"]
    impostor.http.headers["X-Auth-Token"] = impostor.token
    impostor.token_body = {"user": {"id": cloud.user_id("demo")}, "project": {"id": cloud.project_id("demo")}}
    assert make_trust(impostor, cloud).status == 403
    body = {"auth": {"identity": {"methods": ["token"], "token": {"id": impostor.token}}}}
    assert impostor.call("POST", "/v3/auth/tokens", body).status == 403


def test_uses_are_counted(server: SandboxServer, demo: Any, cloud: Cloud) -> None:
    trust = make_trust(demo, cloud, remaining_uses=2).body["trust"]
    assert [trust_token(server, trust["id"]).status_code for _ in range(3)] == [201, 201, 404]


def test_who_sees_a_trust(
    demo: Any, alt: Any, admin: Any, caller: Callable[..., Any], cloud: Cloud, trust_id: str
) -> None:
    path = f"/v3/OS-TRUST/trusts/{trust_id}"
    assert demo.ok("GET", path)["trust"]["roles"][0]["name"] == "member"
    assert caller("blazar", "service").call("GET", path).status == 200
    assert alt.call("GET", path).status == 403
    assert alt.call("DELETE", path).status == 403
    assert alt.call("GET", "/v3/OS-TRUST/trusts").status == 403
    assert [one["id"] for one in admin.ok("GET", "/v3/OS-TRUST/trusts")["trusts"]] == [trust_id]
    mine = demo.ok("GET", f"/v3/OS-TRUST/trusts?trustor_user_id={cloud.user_id('demo')}")
    assert [one["id"] for one in mine["trusts"]] == [trust_id]
    assert [one["name"] for one in demo.ok("GET", path + "/roles")["roles"]] == ["member"]
    assert admin.call("GET", "/v3/OS-TRUST/trusts/nonsense").status == 404


def test_a_deleted_project_takes_its_trusts_along(admin: Any, cloud: Cloud, trust_id: str) -> None:
    assert trust_id in cloud.identity.trusts
    admin.ok("DELETE", f"/v3/projects/{cloud.project_id('demo')}")
    assert trust_id not in cloud.identity.trusts
