"""Fixtures of the sandbox's tests: a served cloud, new for each test, and callers of it."""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keystoneauth1.session
import openstack
import pytest
import requests
from keystoneauth1.identity import v3

from blazar_sandbox.cloud import Cloud
from blazar_sandbox.compute.servers import Delays
from blazar_sandbox.server import SandboxServer

sys.path.insert(0, str(Path(__file__).parent / "support"))


@dataclass
class Answer:
    status: int
    body: Any
    headers: Any


class Caller:
    """A user with a token, and bare HTTP calls to the services."""

    def __init__(self, url: str, user: str, project: str | None = None, password: str = "sandbox") -> None:
        self.url = url
        self.http = requests.Session()
        identity: Any = {
            "methods": ["password"],
            "password": {"user": {"name": user, "domain": {"id": "default"}, "password": password}},
        }
        scope: Any = {"project": {"name": project or user, "domain": {"id": "default"}}}
        answer = self.http.post(
            f"{url}/v3/auth/tokens", json={"auth": {"identity": identity, "scope": scope}}
        )
        assert answer.status_code == 201, answer.text
        self.token = answer.headers["X-Subject-Token"]
        self.token_body = answer.json()["token"]
        self.http.headers["X-Auth-Token"] = self.token

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        version: str = "",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        headers = dict(headers or {})
        if version:
            service = path.split("/")[1]
            headers["OpenStack-API-Version"] = f"{service} {version}"
        answer = self.http.request(method, self.url + path, json=body, headers=headers, timeout=20)
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        return Answer(
            answer.status_code, answer.json() if is_json and answer.content else None, answer.headers
        )

    def ok(self, method: str, path: str, body: Any = None, *, version: str = "") -> Any:
        answer = self.call(method, path, body, version=version)
        assert answer.status < 300, (answer.status, answer.body)
        return answer.body

    def nova(self, method: str, path: str, body: Any = None, version: str = "2.90") -> Any:
        return self.ok(method, "/compute/v2.1" + path, body, version=version)

    def placement(self, method: str, path: str, body: Any = None, version: str = "1.39") -> Any:
        return self.ok(method, "/placement" + path, body, version=version)

    def boot(self, cloud: Cloud, name: str = "vm", flavor: str = "1", count: int = 1, **more: Any) -> Any:
        """Boot a server without network and wait until it is no longer in status BUILD."""
        image = next(iter(cloud.images.table)).id
        hints = more.pop("hints", {})
        server = {
            "name": name,
            "imageRef": image,
            "flavorRef": flavor,
            "networks": "none",
            "max_count": count,
            **more,
        }
        body = {"server": server, "os:scheduler_hints": hints}
        made = self.nova("POST", "/servers", body)["server"]
        return self.wait_until_built(made["id"])

    def wait_until_built(self, server_id: str) -> Any:
        return until(
            lambda: self.nova("GET", f"/servers/{server_id}")["server"],
            lambda server: server["status"] != "BUILD",
        )

    def aggregate(self, name: str, zone: str | None, metadata: dict[str, str], *hosts: str) -> int:
        """Create an aggregate with hosts."""
        body = {"aggregate": {"name": name, "availability_zone": zone}}
        number: int = self.nova("POST", "/os-aggregates", body)["aggregate"]["id"]
        if metadata:
            self.nova("POST", f"/os-aggregates/{number}/action", {"set_metadata": {"metadata": metadata}})
        for host in hosts:
            self.nova("POST", f"/os-aggregates/{number}/action", {"add_host": {"host": host}})
        return number


def until(look: Callable[[], Any], good: Callable[[Any], bool], seconds: float = 10) -> Any:
    """Call ``look`` until its result is ``good``; return the result."""
    end = time.monotonic() + seconds
    while True:
        seen = look()
        if good(seen):
            return seen
        assert time.monotonic() < end, f"still {seen}"
        time.sleep(0.01)


@pytest.fixture(scope="session")
def served() -> Iterator[SandboxServer]:
    with SandboxServer(Cloud(hosts=1)) as server:
        yield server


@pytest.fixture
def cloud(served: SandboxServer) -> Cloud:
    fresh = Cloud(hosts=8, delays=Delays(boot=0.0, delete=0.0, shelve=0.0, offload=0.0, leave=0.0))
    served.replace(fresh)
    return fresh


@pytest.fixture
def server(served: SandboxServer, cloud: Cloud) -> SandboxServer:
    assert served.cloud is cloud
    return served


@pytest.fixture
def caller(server: SandboxServer) -> Callable[..., Caller]:
    return lambda user, project=None, password="sandbox": Caller(server.url, user, project, password)


@pytest.fixture
def admin(caller: Callable[..., Caller]) -> Caller:
    return caller("admin")


@pytest.fixture
def demo(caller: Callable[..., Caller]) -> Caller:
    return caller("demo")


@pytest.fixture
def alt(caller: Callable[..., Caller]) -> Caller:
    return caller("alt")


@pytest.fixture
def connect(server: SandboxServer) -> Iterator[Callable[[str], Any]]:
    """Connect the SDK as a user of the initial content."""
    opened: list[Any] = []

    def connection(user: str) -> Any:
        password = v3.Password(
            auth_url=server.auth_url,
            username=user,
            password="sandbox",
            project_name="service" if user == "blazar" else user,
            user_domain_name="Default",
            project_domain_name="Default",
        )
        session = keystoneauth1.session.Session(auth=password)
        opened.append(openstack.connection.Connection(session=session, region_name="RegionOne"))
        return opened[-1]

    yield connection
    for one in opened:
        one.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignore the warnings that the SDK and WebOb cause themselves; all other warnings stay errors."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            for kind in ("_RemovedInSDKWarning", "OpenStackDeprecationWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::openstack.warnings.{kind}"))
            item.add_marker(pytest.mark.filterwarnings("ignore:'cgi' is deprecated:DeprecationWarning"))
