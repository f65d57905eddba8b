"""Tests of application credentials: through the SDK and keystoneauth, and of every rule through "
"bare calls."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import keystoneauth1.session
import openstack
import pytest
import requests
from keystoneauth1.exceptions import Unauthorized
from keystoneauth1.identity import v3

from blazar_sandbox.cloud import Cloud
from blazar_sandbox.persistence import Persistence
from blazar_sandbox.server import SandboxServer
from blazar_sandbox.snapshot import snapshot


def path(user: Any, credential_id: str = "") -> str:
    base = f"/v3/users/{user.token_body['user']['id']}/application_credentials"
    return f"{base}/{credential_id}" if credential_id else base


def create(user: Any, name: str = "ci", **more: Any) -> Any:
    return user.call("POST", path(user), {"application_credential": {"name": name, **more}})


def made(user: Any, name: str = "ci", **more: Any) -> Any:
    answer = create(user, name, **more)
    assert answer.status == 201, answer.body
    return answer.body["application_credential"]


def login(server: SandboxServer, credential: Any, **more: Any) -> requests.Response:
    """Ask for a token with the id and the secret of an application credential."""
    data = {"id": credential["id"], "secret": credential["secret"]}
    return login_with(server, data, **more)


def login_with(
    server: SandboxServer, data: Any, methods: tuple[str, ...] = (), **auth: Any
) -> requests.Response:
    identity = {"methods": ["application_credential", *methods], "application_credential": data}
    body = {"auth": {"identity": identity, **auth}}
    return requests.post(server.auth_url + "/auth/tokens", json=body, timeout=10)


def bearer(server: SandboxServer, user: Any, credential: Any) -> Any:
    """Let a caller go on with the token of an application credential."""
    answer = login(server, credential)
    assert answer.status_code == 201, answer.text
    user.http.headers["X-Auth-Token"] = user.token = answer.headers["X-Subject-Token"]
    return user


def role_names(answer: requests.Response) -> set[str]:
    assert answer.status_code == 201, answer.text
    return {role["name"] for role in answer.json()["token"]["roles"]}


@pytest.fixture
def sdk_session() -> Iterator[Callable[[Any], Any]]:
    """Connect the SDK with any keystoneauth plugin."""
    opened: list[Any] = []

    def connection(plugin: Any) -> Any:
        session = keystoneauth1.session.Session(auth=plugin)
        opened.append(openstack.connection.Connection(session=session, region_name="RegionOne"))
        return opened[-1]

    yield connection
    for one in opened:
        one.close()


def test_the_sdk_from_creation_to_deletion(
    server: SandboxServer, cloud: Cloud, connect: Callable[[str], Any], sdk_session: Callable[[Any], Any]
) -> None:
    demo, user_id = connect("demo"), cloud.user_id("demo")
    credential = demo.identity.create_application_credential(
        user=user_id, name="ci", description="for tests", roles=[{"name": "reader"}]
    )
    assert credential.secret
    assert (credential.project_id, credential.unrestricted) == (cloud.project_id("demo"), False)
    by_id = v3.ApplicationCredential(
        auth_url=server.auth_url,
        application_credential_id=credential.id,
        application_credential_secret=credential.secret,
    )
    by_name = v3.ApplicationCredential(
        auth_url=server.auth_url,
        application_credential_name="ci",
        application_credential_secret=credential.secret,
        username="demo",
        user_domain_name="Default",
    )
    for plugin in (by_id, by_name):
        connection = sdk_session(plugin)
        assert connection.current_project_id == cloud.project_id("demo")
        assert connection.current_user_id == user_id
        assert list(connection.compute.servers()) == []
        assert [zone.name for zone in connection.compute.availability_zones()] == ["nova"]
    found = list(demo.identity.application_credentials(user=user_id))
    assert [(one.name, one.secret, one.roles[0]["name"]) for one in found] == [("ci", None, "reader")]
    assert demo.identity.find_application_credential(user_id, "ci").id == credential.id
    demo.identity.delete_application_credential(user_id, credential.id, ignore_missing=False)
    assert list(demo.identity.application_credentials(user=user_id)) == []
    by_id.invalidate()
    with pytest.raises(Unauthorized):
        sdk_session(by_id).session.get_token()


def test_the_token_says_what_it_was_made_of(server: SandboxServer, cloud: Cloud, demo: Any) -> None:
    credential = made(demo, roles=[{"name": "member"}])
    answer = login(server, credential)
    body = answer.json()["token"]
    assert body["methods"] == ["application_credential"]
    assert body["project"]["id"] == cloud.project_id("demo")
    assert body["user"]["id"] == cloud.user_id("demo")
    assert body["application_credential"] == {"id": credential["id"], "name": "ci", "restricted": True}
    assert role_names(answer) == {"member", "reader"}
    assert {one["type"] for one in body["catalog"]} >= {"compute", "reservation"}
    open_one = made(demo, "open", unrestricted=True)
    assert login(server, open_one).json()["token"]["application_credential"]["restricted"] is False


def test_roles_are_those_of_the_token_or_fewer(server: SandboxServer, cloud: Cloud, demo: Any) -> None:
    assert role_names(login(server, made(demo, "all"))) == {"member", "reader"}
    reader = cloud.identity.role_named("reader")
    assert reader is not None
    assert role_names(login(server, made(demo, "less", roles=[{"id": reader.id}]))) == {"reader"}
    assert create(demo, "more", roles=[{"name": "admin"}]).status == 400
    assert create(demo, "unknown", roles=[{"name": "juggler"}]).status == 404


def test_a_reader_cannot_write(server: SandboxServer, demo: Any) -> None:
    reader = bearer(server, demo, made(demo, roles=[{"name": "reader"}]))
    assert reader.call("GET", "/compute/v2.1/servers").status == 200
    group = {"server_group": {"name": "g", "policies": ["affinity"]}}
    assert reader.call("POST", "/compute/v2.1/os-server-groups", group).status == 403


def test_the_secret_is_shown_once_and_may_be_chosen(server: SandboxServer, cloud: Cloud, demo: Any) -> None:
    credential = made(demo, secret="my own words")
    assert credential["secret"] == "my own words"
    assert login(server, credential).status_code == 201
    assert "secret" not in demo.ok("GET", path(demo, credential["id"]))["application_credential"]
    assert "secret" not in demo.ok("GET", path(demo))["application_credentials"][0]
    kept = cloud.identity.application_credentials[credential["id"]]
    assert "my own words" not in kept.secret
    assert "secret" not in snapshot(cloud)["application_credentials"][credential["id"]]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({"id": "{id}", "secret": "right"}, 201),
        ({"id": "{id}", "secret": "wrong"}, 401),
        ({"id": "{id}"}, 401),
        ({"id": "unknown", "secret": "right"}, 401),
        ({"name": "ci", "secret": "right", "user": {"name": "demo", "domain": {"name": "Default"}}}, 201),
        ({"name": "ci", "secret": "right", "user": {"id": "{user}"}}, 201),
        ({"name": "ci", "secret": "right", "user": {"name": "alt", "domain": {"id": "default"}}}, 401),
        ({"name": "ci", "secret": "right"}, 401),
        ({"name": "cd", "secret": "right", "user": {"id": "{user}"}}, 401),
        ("right", 400),
    ],
)
def test_authentication(server: SandboxServer, cloud: Cloud, demo: Any, data: Any, status: int) -> None:
    credential = made(demo, secret="right")
    if isinstance(data, dict):
        data = data | ({"id": credential["id"]} if data.get("id") == "{id}" else {})
        data = data | (
            {"user": {"id": cloud.user_id("demo")}} if data.get("user") == {"id": "{user}"} else {}
        )
    assert login_with(server, data).status_code == status


def test_neither_another_scope_nor_another_method(server: SandboxServer, cloud: Cloud, demo: Any) -> None:
    credential = made(demo)
    for scope in ({"project": {"id": cloud.project_id("demo")}}, {"system": {"all": True}}, "unscoped"):
        assert login(server, credential, scope=scope).status_code == 401
    assert login(server, credential, methods=("token",)).status_code == 401
    token = login(server, credential).headers["X-Subject-Token"]
    identity = {"methods": ["token"], "token": {"id": token}}
    body = {"auth": {"identity": identity, "scope": {"project": {"id": cloud.project_id("demo")}}}}
    assert demo.call("POST", "/v3/auth/tokens", body).status == 403


@pytest.mark.parametrize(("unrestricted", "status"), [(False, 403), (True, 201)])
def test_only_an_unrestricted_one_makes_and_deletes_delegations(
    server: SandboxServer, cloud: Cloud, demo: Any, unrestricted: bool, status: int
) -> None:
    other = made(demo, "other")
    user = bearer(server, demo, made(demo, unrestricted=unrestricted))
    assert create(user, "next").status == status
    trust = {
        "trustor_user_id": cloud.user_id("demo"),
        "trustee_user_id": cloud.user_id("blazar"),
        "project_id": cloud.project_id("demo"),
        "impersonation": True,
        "roles": [{"name": "member"}],
    }
    assert user.call("POST", "/v3/OS-TRUST/trusts", {"trust": trust}).status == status
    assert user.call("GET", path(user, other["id"])).status == 200
    assert user.call("DELETE", path(user, other["id"])).status == (204 if unrestricted else 403)


def test_a_restricted_one_deletes_no_trust(server: SandboxServer, cloud: Cloud, demo: Any) -> None:
    trust = {
        "trustor_user_id": cloud.user_id("demo"),
        "trustee_user_id": cloud.user_id("blazar"),
        "project_id": cloud.project_id("demo"),
        "impersonation": True,
        "roles": [{"name": "member"}],
    }
    trust_id = demo.ok("POST", "/v3/OS-TRUST/trusts", {"trust": trust})["trust"]["id"]
    user = bearer(server, demo, made(demo))
    assert user.call("DELETE", f"/v3/OS-TRUST/trusts/{trust_id}").status == 403
    assert trust_id in cloud.identity.trusts


def test_users_manage_their_own_and_administrators_all(admin: Any, demo: Any, alt: Any) -> None:
    credential = made(demo)
    assert alt.call("GET", path(demo)).status == 403
    assert alt.call("GET", path(demo, credential["id"])).status == 403
    assert alt.call("DELETE", path(demo, credential["id"])).status == 403
    assert alt.call("GET", path(alt, credential["id"])).status == 404
    assert admin.call("POST", path(demo), {"application_credential": {"name": "x"}}).status == 403
    assert admin.ok("GET", path(demo))["application_credentials"][0]["id"] == credential["id"]
    assert admin.call("DELETE", path(demo, credential["id"])).status == 204
    assert admin.call("DELETE", path(demo, credential["id"])).status == 404


def test_names_are_unique_for_each_user(demo: Any, alt: Any) -> None:
    made(demo, "ci")
    assert create(demo, "ci").status == 409
    made(alt, "ci")
    made(demo, "cd")
    listed = demo.ok("GET", path(demo) + "?name=cd")["application_credentials"]
    assert [one["name"] for one in listed] == ["cd"]


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"expires_at": "2001-01-01T00:00:00Z"},
        {"expires_at": "soon"},
        {"roles": "member"},
        {"unrestricted": "perhaps"},
        {"access_rules": [{"path": "/v2.1/servers", "method": "GET", "service": "compute"}]},
    ],
)
def test_bad_requests(cloud: Cloud, demo: Any, fields: dict[str, Any]) -> None:
    assert create(demo, **{"name": "ci", **fields}).status == 400
    assert len(cloud.identity.application_credentials) == 0


def test_a_token_without_a_project_makes_none(server: SandboxServer, cloud: Cloud, admin: Any) -> None:
    who = {"id": cloud.user_id("admin"), "password": "sandbox"}
    identity = {"methods": ["password"], "password": {"user": who}}
    body = {"auth": {"identity": identity, "scope": {"system": {"all": True}}}}
    answer = requests.post(server.auth_url + "/auth/tokens", json=body, timeout=10)
    admin.http.headers["X-Auth-Token"] = answer.headers["X-Subject-Token"]
    assert create(admin).status == 400


class ManualClock:
    def __init__(self) -> None:
        self.moment = datetime(2030, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment


def test_it_expires_with_its_tokens(served: SandboxServer, caller: Callable[..., Any]) -> None:
    clock = ManualClock()
    served.replace(Cloud(clock=clock))
    user = caller("demo")
    credential = made(user, expires_at="2030-01-01T00:30:00")
    assert credential["expires_at"] == "2030-01-01T00:30:00.000000"
    answer = login(served, credential)
    assert answer.json()["token"]["expires_at"] == "2030-01-01T00:30:00.000000Z"
    headers = {"X-Auth-Token": answer.headers["X-Subject-Token"]}
    url = served.url + "/compute/v2.1/servers"
    clock.moment += timedelta(minutes=29)
    assert requests.get(url, headers=headers, timeout=10).status_code == 200
    clock.moment += timedelta(minutes=1)
    assert requests.get(url, headers=headers, timeout=10).status_code == 401
    assert login(served, credential).status_code == 401
    assert [one["id"] for one in user.ok("GET", path(user))["application_credentials"]] == [credential["id"]]


def _delete(admin: Any, cloud: Cloud, user: Any, credential: Any) -> None:
    user.ok("DELETE", path(user, credential["id"]))


def _disable_user(admin: Any, cloud: Cloud, user: Any, credential: Any) -> None:
    admin.ok("PATCH", f"/v3/users/{cloud.user_id('demo')}", {"user": {"enabled": False}})


def _delete_user(admin: Any, cloud: Cloud, user: Any, credential: Any) -> None:
    admin.ok("DELETE", f"/v3/users/{cloud.user_id('demo')}")
    assert credential["id"] not in cloud.identity.application_credentials


def _disable_project(admin: Any, cloud: Cloud, user: Any, credential: Any) -> None:
    admin.ok("PATCH", f"/v3/projects/{cloud.project_id('demo')}", {"project": {"enabled": False}})


def _delete_project(admin: Any, cloud: Cloud, user: Any, credential: Any) -> None:
    admin.ok("DELETE", f"/v3/projects/{cloud.project_id('demo')}")
    assert credential["id"] not in cloud.identity.application_credentials


def _unassign_a_role(admin: Any, cloud: Cloud, user: Any, credential: Any) -> None:
    role = cloud.identity.role_named("reader")
    assert role is not None
    where = f"/v3/projects/{cloud.project_id('demo')}/users/{cloud.user_id('demo')}/roles/{role.id}"
    admin.ok("DELETE", where)
    assert credential["id"] not in cloud.identity.application_credentials


def _delete_the_role(admin: Any, cloud: Cloud, user: Any, credential: Any) -> None:
    role = cloud.identity.role_named("member")
    assert role is not None
    admin.ok("DELETE", f"/v3/roles/{role.id}")


@pytest.mark.parametrize(
    "end",
    [
        _delete,
        _disable_user,
        _delete_user,
        _disable_project,
        _delete_project,
        _unassign_a_role,
        _delete_the_role,
    ],
)
def test_what_ends_it_and_its_tokens(
    server: SandboxServer,
    admin: Any,
    demo: Any,
    cloud: Cloud,
    end: Callable[[Any, Cloud, Any, Any], None],
) -> None:
    credential = made(demo, roles=[{"name": "member"}])
    headers = {"X-Auth-Token": login(server, credential).headers["X-Subject-Token"]}
    url = server.url + "/compute/v2.1/servers"
    assert requests.get(url, headers=headers, timeout=10).status_code == 200
    end(admin, cloud, demo, credential)
    assert requests.get(url, headers=headers, timeout=10).status_code == 401
    assert login(server, credential).status_code == 401


def test_it_outlives_a_new_password(server: SandboxServer, admin: Any, demo: Any, cloud: Cloud) -> None:
    credential = made(demo)
    admin.ok("PATCH", f"/v3/users/{cloud.user_id('demo')}", {"user": {"password": "new"}})
    assert login(server, credential).status_code == 201


def test_it_survives_a_restart(tmp_path: Path, served: SandboxServer, caller: Callable[..., Any]) -> None:
    file = tmp_path / "cloud.db"
    first = Cloud()
    kept = Persistence(first, file).open()
    served.replace(first)
    user = caller("demo")
    credential, gone = made(user, "ci", description="for tests"), made(user, "gone")
    user.ok("DELETE", path(user, gone["id"]))
    token = login(served, credential).headers["X-Subject-Token"]
    shown = user.ok("GET", path(user))
    kept.close()
    second = Cloud()
    kept = Persistence(second, file).open()
    served.replace(second)
    assert login(served, credential).status_code == 201
    assert login(served, gone).status_code == 401
    assert second.tokens.access(token).application_credential is not None
    assert caller("demo").ok("GET", path(user)) == shown
    kept.close()
