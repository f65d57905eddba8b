"""What may every story rely on: a healthy lab, three users, registered hosts, and a clean end?"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

# blazar_lab and labtests are not installed anywhere: they belong to this folder
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from blazar_lab.settings import Settings
from labtests import lanes, leftovers
from labtests.clients import Program, User
from labtests.machinery import Machinery
from labtests.reservations import Reservations
from labtests.waiting import until
from openstack.config import OpenStackConfig
from openstack.connection import Connection

API_TIMEOUT = 90
CLEAN_SECONDS = 120


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "disturbing: does something to the lab that no other story could bear")
    # openstacksdk warns of changes to come within itself
    config.addinivalue_line("filterwarnings", "ignore::PendingDeprecationWarning")


@pytest.fixture(scope="session")
def machinery() -> Machinery:
    found = Machinery(Settings.load())
    ailing = found.ailing()
    if ailing:
        pytest.exit(f"the lab is not healthy (python3 lab/lab.py up): {'; '.join(ailing)}", returncode=2)
    return found


@pytest.fixture(scope="session")
def connect(machinery: Machinery) -> Callable[..., Connection]:
    """A connection as one of the users in clouds.yaml, or as somebody else by overriding parts of it."""
    config = OpenStackConfig(config_files=[str(machinery.settings.clouds_yaml)], load_envvars=False)

    def make(cloud: str, **overrides: Any) -> Connection:
        region = config.get_one(cloud=cloud, api_timeout=API_TIMEOUT, **overrides)
        return Connection(config=region)

    return make


@pytest.fixture(scope="session")
def admin(connect: Callable[..., Connection]) -> Iterator[Connection]:
    with connect("lab-admin") as connection:
        yield connection


@pytest.fixture(scope="session")
def demo(connect: Callable[..., Connection]) -> Iterator[Connection]:
    with connect("lab-demo") as connection:
        yield connection


@pytest.fixture(scope="session")
def alt(connect: Callable[..., Connection]) -> Iterator[Connection]:
    with connect("lab-alt") as connection:
        yield connection


@pytest.fixture(scope="session")
def official_clients(machinery: Machinery) -> Iterator[Program]:
    with closing(Program(machinery.settings.venv_clients, machinery.settings)) as program:
        yield program


@pytest.fixture(scope="session")
def operator(official_clients: Program) -> User:
    """The administrator with the official clients."""
    return User(official_clients, "lab-admin")


@pytest.fixture(scope="session")
def user(official_clients: Program) -> User:
    """A member of project demo with the official clients."""
    return User(official_clients, "lab-demo")


@pytest.fixture(scope="session")
def stranger(official_clients: Program) -> User:
    """A member of project alt with the official clients."""
    return User(official_clients, "lab-alt")


@pytest.fixture(scope="session")
def modern_user(machinery: Machinery) -> Iterator[User]:
    """The member of project demo with the client of this repository."""
    with closing(Program(Path(sys.prefix), machinery.settings)) as program:
        yield User(program, "lab-demo")


@pytest.fixture(scope="session", autouse=True)
def as_found(admin: Connection) -> Iterator[None]:
    """The whole session leaves the cloud as it found it. Among several lanes, whoever started them looks."""
    if lanes.LANES > 1:
        yield
        return
    before = leftovers.snapshot(admin)
    yield
    found = leftovers.after(admin, before)
    if found:
        pytest.fail("\n".join(found), pytrace=False)


@pytest.fixture(scope="session")
def hosts(as_found: None, admin: Connection, machinery: Machinery) -> Iterator[dict[str, str]]:
    """The computes of this lane in the care of the reservation service: name -> id."""
    service = Reservations(admin)
    names = lanes.hosts(machinery.settings.computes)
    for name in names:
        body = {"name": name, "rack": f"r{name[-1]}", "gpus": "2", lanes.PROPERTY: lanes.LANE}
        answer = service.call("POST", "/os-hosts", body)
        assert answer.status == 201, answer
    listed = {h["hypervisor_hostname"]: h["id"] for h in service.call("GET", "/os-hosts").body["hosts"]}
    yield {name: listed[name] for name in names}
    for name in names:
        answer = service.call("DELETE", f"/os-hosts/{listed[name]}")
        assert answer.status == 204, answer


@pytest.fixture(autouse=True)
def tidy(machinery: Machinery, admin: Connection) -> Iterator[None]:
    """After each story: everything runs, and no lease and no server is left for the next one."""
    yield
    machinery.mend()
    service = Reservations(admin)

    def leases() -> list[dict[str, Any]]:
        listed = until("a list of leases", 60, lambda: service.call("GET", "/leases").body)["leases"]
        return [lease for lease in listed if lanes.owns(lease["name"])]

    def servers() -> list[Any]:
        return [server for server in admin.compute.servers(all_projects=True) if lanes.owns(server.name)]

    for lease in leases():
        what = f"delete of lease {lease['name']} ({lease['status']}) accepted"
        until(what, CLEAN_SECONDS, partial(service.deleted, lease["id"]))
    for server in servers():
        admin.compute.delete_server(server)
    until("no leases", CLEAN_SECONDS, lambda: not leases())
    until("no servers", CLEAN_SECONDS, lambda: not servers())


@pytest.fixture
def name() -> str:
    """A name that no other lease or server has."""
    return f"{lanes.PREFIX}{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="session")
def image(admin: Connection) -> str:
    return str(admin.image.find_image("dummy", ignore_missing=False).id)


@pytest.fixture(scope="session")
def flavor(admin: Connection) -> str:
    return str(admin.compute.find_flavor("m1.tiny", ignore_missing=False).id)


@pytest.fixture
def boot(image: str, flavor: str, name: str) -> Callable[..., Any]:
    """Ask Nova for a server, on reserved hosts if a reservation is named; wait for its fate."""

    def make(user: Connection, reservation: str | None = None) -> Any:
        hints = {"scheduler_hints": {"reservation": reservation}} if reservation else {}
        server = user.compute.create_server(name=name, image_id=image, flavor_id=flavor, networks="none", **hints)

        def settled() -> Any:
            found = user.compute.get_server(server.id)
            return found if found.status in ("ACTIVE", "ERROR") else None

        return until("the server's fate", 90, settled)

    return make
