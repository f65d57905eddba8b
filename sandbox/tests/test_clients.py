"""Tests with real OpenStack clients: keystonemiddleware, the openstack command and many threads."""

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import commands
import pytest
import requests

from blazar_sandbox.cloud import Cloud
from blazar_sandbox.compute.servers import Delays
from blazar_sandbox.server import SandboxServer
from blazar_sandbox.wsgi.request import Environ


@pytest.fixture
def guarded(server: SandboxServer) -> Callable[[str | None], tuple[str, dict[str, Any]]]:
    """Return a function that calls an application behind keystonemiddleware with a token.

    It returns the status, and the environment that the application got.
    """
    from keystonemiddleware import auth_token  # here, where the warnings of what it imports are known

    seen: dict[str, Any] = {}

    def application(environ: Environ, start_response: Callable[..., Any]) -> list[bytes]:
        seen.update(environ)
        start_response("200 OK", [])
        return [b""]

    options = {
        "auth_type": "password",
        "auth_url": server.url,
        "username": "blazar",
        "password": "sandbox",
        "user_domain_name": "Default",
        "project_domain_name": "Default",
        "project_name": "service",
        "www_authenticate_uri": server.url,
        "service_token_roles_required": True,
        "service_token_roles": "service",
    }
    middleware = auth_token.filter_factory({}, **options)(application)

    def call(token: str | None) -> tuple[str, dict[str, Any]]:
        seen.clear()
        statuses: list[str] = []
        environ: Environ = {
            "REQUEST_METHOD": "GET", "PATH_INFO": "/", "SERVER_NAME": "x", "SERVER_PORT": "80",
            "wsgi.url_scheme": "http", "wsgi.input": None,
        }  # fmt: skip
        if token is not None:
            environ["HTTP_X_AUTH_TOKEN"] = token
        list(middleware(environ, lambda status, headers, *rest: statuses.append(status)))
        return statuses[0], dict(seen)

    return call


def test_keystonemiddleware(
    guarded: Callable[[str | None], tuple[str, dict[str, Any]]], admin: Any, demo: Any, alt: Any
) -> None:
    status, seen = guarded(demo.token)
    assert status == "200 OK"
    assert seen["HTTP_X_USER_NAME"] == "demo"
    assert seen["HTTP_X_PROJECT_NAME"] == "demo"
    assert set(seen["HTTP_X_ROLES"].split(",")) == {"member", "reader"}
    assert {one["type"] for one in json.loads(seen["HTTP_X_SERVICE_CATALOG"])} >= {"compute", "reservation"}
    assert guarded("nonsense")[0].startswith("401")
    assert guarded(None)[0].startswith("401")
    admin.call("DELETE", "/v3/auth/tokens", headers={"X-Subject-Token": alt.token})
    assert guarded(alt.token)[0].startswith("401")


def test_keystonemiddleware_with_an_application_credential(
    guarded: Callable[[str | None], tuple[str, dict[str, Any]]], demo: Any, cloud: Cloud
) -> None:
    where = f"/v3/users/{cloud.user_id('demo')}/application_credentials"
    wanted = {"application_credential": {"name": "ci", "roles": [{"name": "reader"}]}}
    made = demo.ok("POST", where, wanted)["application_credential"]
    data = {"id": made["id"], "secret": made["secret"]}
    identity = {"methods": ["application_credential"], "application_credential": data}
    token = demo.call("POST", "/v3/auth/tokens", {"auth": {"identity": identity}}).headers["X-Subject-Token"]
    status, seen = guarded(token)
    assert status == "200 OK"
    assert (seen["HTTP_X_USER_NAME"], seen["HTTP_X_PROJECT_NAME"]) == ("demo", "demo")
    assert seen["HTTP_X_ROLES"] == "reader"


@pytest.fixture
def openstack(server: SandboxServer, tmp_path: Path) -> Callable[..., Any]:
    """Return a function that runs the openstack command."""

    def run(user: str, line: str, *, good: bool = True, credential: dict[str, str] | None = None) -> Any:
        """Run a line as a user with a password, or with an application credential of ``OS_...`` variables."""
        login = {
            "OS_USERNAME": user,
            "OS_PASSWORD": "sandbox",
            "OS_PROJECT_NAME": user,
            "OS_USER_DOMAIN_NAME": "Default",
            "OS_PROJECT_DOMAIN_NAME": "Default",
        }
        env = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ.get("HOME", "/"),
            "OS_AUTH_URL": server.auth_url,
            "OS_IDENTITY_API_VERSION": "3",
            "OS_REGION_NAME": "RegionOne",
            **(login if credential is None else {"OS_AUTH_TYPE": "v3applicationcredential", **credential}),
        }
        code, output, errors = commands.openstack(line.split(), env, tmp_path)
        assert (code == 0) is good, (line, output, errors)
        return json.loads(output) if "-f json" in line and good else output + errors

    return run


def test_the_openstack_command_of_an_operator(openstack: Callable[..., Any]) -> None:
    hosts = openstack("admin", "hypervisor list -f json")
    assert [one["Hypervisor Hostname"] for one in hosts][:2] == ["compute-01", "compute-02"]
    openstack("admin", "aggregate create --zone blazar_r1 r1")
    openstack("admin", "aggregate add host r1 compute-01")
    openstack("admin", "aggregate set --property blazar:owner=x r1")
    shown = openstack("admin", "aggregate show r1 -f json")
    assert (shown["hosts"], shown["properties"]) == (["compute-01"], {"blazar:owner": "x"})
    assert "compute-02" in openstack("admin", "aggregate remove host r1 compute-02", good=False)
    openstack("admin", "compute service set --disable compute-08 nova-compute")
    services = openstack("admin", "compute service list --host compute-08 -f json")
    assert services[0]["Status"] == "disabled"
    openstack(
        "admin", "flavor create --private --vcpus 1 --ram 64 --disk 0 --project demo --property a=b mine"
    )
    assert "mine" in {one["Name"] for one in openstack("demo", "flavor list -f json")}


def test_the_openstack_command_of_a_member(openstack: Callable[..., Any], cloud: Cloud) -> None:
    cloud.compute.servers.delays = Delays(boot=0.5, delete=0.5)
    line = "server create --image dummy --flavor m1.tiny --nic none --wait one -f json"
    assert openstack("demo", line)["status"] == "ACTIVE"
    line = "server create --image dummy --flavor m1.tiny --network private --wait two -f json"
    assert "private" in openstack("demo", line)["addresses"]
    line = "server create --image dummy --flavor m1.tiny --nic none --hint reservation=r1 --wait three"
    assert "Error creating server" in openstack("demo", line, good=False)
    listed = {one["Name"]: one["Status"] for one in openstack("demo", "server list -f json")}
    assert listed == {"one": "ACTIVE", "two": "ACTIVE", "three": "ERROR"}
    address = openstack("demo", "floating ip create public -f json")["floating_ip_address"]
    openstack("demo", f"server add floating ip two {address}")
    assert address in openstack("demo", "server show two -f json")["addresses"]["private"]
    openstack("demo", "server delete --wait one two three")
    assert openstack("demo", "server list -f json") == []
    assert "os-hypervisors" in openstack("demo", "hypervisor list", good=False)


def test_the_openstack_command_with_an_application_credential(
    openstack: Callable[..., Any], cloud: Cloud
) -> None:
    line = "application credential create --role member --expiration 2100-01-01T00:00:00 ci -f json"
    # Versions of the command differ in how they write the columns' names.
    made = {key.lower().replace(" ", "_"): value for key, value in openstack("demo", line).items()}
    assert made["project_id"] == cloud.project_id("demo")
    assert made["expires_at"] == "2100-01-01T00:00:00.000000"
    by_id = {"OS_APPLICATION_CREDENTIAL_ID": made["id"], "OS_APPLICATION_CREDENTIAL_SECRET": made["secret"]}
    assert openstack("demo", "server list -f json", credential=by_id) == []
    by_name = {
        "OS_APPLICATION_CREDENTIAL_NAME": "ci",
        "OS_APPLICATION_CREDENTIAL_SECRET": made["secret"],
        "OS_USERNAME": "demo",
        "OS_USER_DOMAIN_NAME": "Default",
    }
    shown = openstack("demo", "token issue -f json", credential=by_name)
    assert (shown["project_id"], shown["user_id"]) == (cloud.project_id("demo"), cloud.user_id("demo"))
    refused = openstack("demo", "application credential create more", good=False, credential=by_id)
    assert "403" in refused
    assert [one["Name"] for one in openstack("demo", "application credential list -f json")] == ["ci"]
    shown = openstack("demo", "application credential show ci -f json")
    assert made["secret"] not in json.dumps(shown)
    openstack("demo", "application credential delete ci")
    assert openstack("demo", "application credential list -f json") == []
    assert "401" in openstack("demo", "server list", good=False, credential=by_id)


def test_many_at_once(server: SandboxServer, admin: Any, cloud: Cloud) -> None:
    """Forty threads create and delete aggregates and servers; no update is lost, and no object stays."""
    image = next(iter(cloud.images.table)).id

    def story(number: int) -> list[int]:
        with requests.Session() as http:
            http.headers["X-Auth-Token"] = admin.token
            http.headers["OpenStack-API-Version"] = "compute 2.90"
            base = server.url + "/compute/v2.1"
            made = http.post(base + "/os-aggregates", json={"aggregate": {"name": f"a{number}"}})
            where = f"{base}/os-aggregates/{made.json()['aggregate']['id']}"
            host = f"compute-0{number % 8 + 1}"
            calls = [
                made,
                http.post(where + "/action", json={"add_host": {"host": host}}),
                http.post(
                    base + "/servers",
                    json={"server": {"name": "x", "imageRef": image, "flavorRef": "1", "networks": "none"}},
                ),
            ]
            vm = calls[-1].json()["server"]["id"]
            calls += [
                http.get(f"{base}/servers/{vm}"),
                http.delete(f"{base}/servers/{vm}"),
                http.post(where + "/action", json={"remove_host": {"host": host}}),
                http.delete(where),
            ]
            return [call.status_code for call in calls]

    with ThreadPoolExecutor(40) as pool:
        results = list(pool.map(story, range(120)))
    assert {tuple(one) for one in results} == {(200, 200, 202, 200, 204, 200, 200)}
    assert [row.name for row in cloud.compute.aggregates.table] == ["freepool"]
    assert len(cloud.compute.server_table) == 0
    assert len(cloud.placement.consumers) == 0
    assert not any(host.aggregates for host in cloud.compute.hosts.table)


def test_ten_thousand_hosts(served: SandboxServer, caller: Callable[..., Any]) -> None:
    cloud = Cloud(hosts=10_000, traits=40, delays=Delays(0.0, 0.0))
    served.replace(cloud)
    admin = caller("admin")
    assert (
        admin.nova("GET", "/os-hypervisors/statistics", version="2.50")["hypervisor_statistics"]["count"]
        == 10_000
    )
    freepool = cloud.compute.aggregates.aggregate("1")
    for host in list(cloud.compute.hosts.table):
        freepool = cloud.compute.aggregates.add_host(freepool, host.name)
    assert admin.boot(cloud)["status"] == "ERROR"
    admin.nova("POST", "/os-aggregates/1/action", {"remove_host": {"host": "compute-7777"}})
    assert admin.boot(cloud)["OS-EXT-SRV-ATTR:host"] == "compute-7777"
    found = admin.nova("GET", "/os-hypervisors?hypervisor_hostname_pattern=compute-777")["hypervisors"]
    assert len(found) == 11
