"""Fixtures of the stories: a healthy lab, three users, registered hosts, and a cleanup after each story."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from blazar_lab.settings import Settings
from labtests import leftovers, occupancy, traits, workers
from labtests.clients import Program, User
from labtests.processes import LabProcesses
from labtests.reservations import Json, Reservations
from labtests.waiting import text, until
from openstack.config import OpenStackConfig
from openstack.connection import Connection

API_TIMEOUT = 90
CLEAN_SECONDS = 120


def pytest_configure(config: pytest.Config) -> None:
    for marker in (
        "alone: no other story can run at the same time, most often because it stops or fails something",
        "minutes(number): waits for so many full minutes",
        "any_address: takes any free floating IP, so that other stories must not have any",
    ):
        config.addinivalue_line("markers", marker)
    # openstacksdk warns of changes to come within itself
    config.addinivalue_line("filterwarnings", "ignore::PendingDeprecationWarning")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let each worker begin with the stories that wait longest.

    xdist gives each worker a block of the list, so the sorted stories are dealt to the blocks in turn."""
    if workers.COUNT > 1:
        items.sort(key=_minutes, reverse=True)
        items[:] = [item for number in range(workers.COUNT) for item in items[number :: workers.COUNT]]


def _minutes(item: pytest.Item) -> int:
    marker = item.get_closest_marker("minutes")
    return int(marker.args[0]) if marker else 0


@pytest.fixture(scope="session")
def processes() -> LabProcesses:
    found = LabProcesses(Settings.load())
    # lab/suite.py has looked before it started several workers, which keep the lab busy as soon as they start
    unhealthy = found.unhealthy() if workers.COUNT == 1 else []
    if unhealthy:
        pytest.exit(f"the lab is not healthy (python3 lab/lab.py up): {'; '.join(unhealthy)}", returncode=2)
    return found


@pytest.fixture(scope="session")
def connect(processes: LabProcesses) -> Callable[..., Connection]:
    """Return a function that connects as a user of clouds.yaml; `auth` has what is otherwise."""
    config = OpenStackConfig(config_files=[str(processes.settings.clouds_yaml)], load_envvars=False)

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
def official_clients(processes: LabProcesses) -> Iterator[Program]:
    with closing(Program(processes.settings.venv_clients, processes.settings)) as program:
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
def modern_user(processes: LabProcesses) -> Iterator[User]:
    """The member of project demo with the client of this repository."""
    with closing(Program(Path(sys.prefix), processes.settings)) as program:
        yield User(program, "lab-demo")


@pytest.fixture(scope="session", autouse=True)
def as_found(admin: Connection) -> Iterator[None]:
    """Fail when the session leaves the cloud changed. For parallel workers, lab/suite.py compares instead."""
    if workers.COUNT > 1:
        yield
        return
    if message := occupancy.refusal(occupancy.found(admin)):
        pytest.exit(message, returncode=2)
    before = leftovers.snapshot(admin)
    yield
    found = leftovers.after(admin, before)
    if found:
        pytest.fail("\n".join(found), pytrace=False)


@pytest.fixture(scope="session")
def hosts(as_found: None, admin: Connection, processes: LabProcesses) -> Iterator[dict[str, str]]:
    """Register the hosts of this worker, and return their ids by name."""
    service = Reservations(admin)
    names = workers.hosts(processes.settings.computes)
    traits.add(admin, names)
    for name in names:
        answer = service.call("POST", "/os-hosts", workers.registration(name))
        assert answer.status == 201, answer
    listed = {h["hypervisor_hostname"]: h["id"] for h in service.call("GET", "/os-hosts").body["hosts"]}
    ids = {name: listed[name] for name in names}
    yield ids
    for name in names:
        answer = service.call("DELETE", f"/os-hosts/{ids[name]}")
        assert answer.status == 204, answer
    traits.remove(admin, names)


@pytest.fixture
def kept(hosts: dict[str, str], admin: Connection) -> Iterator[str]:
    """Leave the service one host, whose name is returned, for the time of the story."""
    service, (first, *others) = Reservations(admin), sorted(hosts)
    for name in others:
        assert service.call("DELETE", f"/os-hosts/{hosts[name]}").status == 204
    yield first
    for name in others:
        answer = service.call("POST", "/os-hosts", workers.registration(name))
        assert answer.status == 201, answer
        hosts[name] = str(answer.body["host"]["id"])


@pytest.fixture(autouse=True)
def tidy(processes: LabProcesses, admin: Connection) -> Iterator[None]:
    """After each story, bring all processes back and delete the leases and servers of this worker."""
    yield
    processes.restore()
    service = Reservations(admin)

    def leases() -> list[dict[str, Any]]:
        listed = until("a list of leases", 60, lambda: service.call("GET", "/leases").body)["leases"]
        return [lease for lease in listed if workers.owns(lease["name"])]

    def servers() -> list[Any]:
        return [server for server in admin.compute.servers(all_projects=True) if workers.owns(server.name)]

    for lease in leases():
        what = f"delete of lease {lease['name']} ({lease['status']}) accepted"
        until(what, CLEAN_SECONDS, partial(service.deleted, lease["id"]))
    for server in servers():
        admin.compute.delete_server(server)
    until("no leases", CLEAN_SECONDS, lambda: not leases())
    until("no servers", CLEAN_SECONDS, lambda: not servers())


@pytest.fixture
def name() -> str:
    """Return a unique name for a lease or a server."""
    return f"{workers.PREFIX}{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="session")
def image(admin: Connection) -> str:
    return str(admin.image.find_image("dummy", ignore_missing=False).id)


@pytest.fixture(scope="session")
def flavor(admin: Connection, hosts: dict[str, str]) -> Iterator[str]:
    """Return the id of a small flavor whose servers fit on this worker's hosts only.

    Other workers' hosts are in the freepool only while their stories run."""
    made = admin.compute.create_flavor(name=f"{workers.PREFIX}tiny", vcpus=1, ram=256, disk=1)
    admin.compute.create_flavor_extra_specs(made, traits.REQUIRED)
    yield str(made.id)
    admin.compute.delete_flavor(made)


@pytest.fixture
def special(admin: Connection, hosts: dict[str, str], name: str) -> Iterator[Callable[..., str]]:
    """Return a function that creates a flavor for the worker's hosts, and returns its id.

    The flavors are deleted when the story ends."""
    made: list[Any] = []

    def make(**fields: Any) -> str:
        specs = traits.REQUIRED | fields.pop("extra_specs", {})
        sizes = {"vcpus": 1, "ram": 256, "disk": 1, **fields}
        flavor = admin.compute.create_flavor(name=f"{name}-{len(made)}", **sizes)
        made.append(flavor)
        admin.compute.create_flavor_extra_specs(flavor, specs)
        return str(flavor.id)

    yield make
    for flavor in made:
        admin.compute.delete_flavor(flavor)


@pytest.fixture
def boot(image: str, flavor: str, name: str) -> Callable[..., Any]:
    """Return a function that creates a server and waits until it is ACTIVE or in ERROR.

    With a reservation, the server asks for reserved hosts."""

    def make(user: Connection, reservation: str | None = None, flavor_id: str = flavor) -> Any:
        hints = {"scheduler_hints": {"reservation": reservation}} if reservation else {}
        server = user.compute.create_server(
            name=name, image_id=image, flavor_id=flavor_id, networks="none", **hints
        )

        def settled() -> Any:
            found = user.compute.get_server(server.id)
            return found if found.status in ("ACTIVE", "ERROR") else None

        return until("the server ACTIVE or in ERROR", 90, settled)

    return make


@pytest.fixture
def start(image: str, name: str) -> Callable[..., Any]:
    """Return a function that creates a server of a reservation of instances, and waits until it is ACTIVE or
    in ERROR."""

    def make(user: Connection, reservation: Json) -> Any:
        hints = {"group": reservation["server_group_id"]} if reservation["server_group_id"] else {}
        more = {"scheduler_hints": hints} if hints else {}
        flavor_id = reservation["flavor_id"]
        server = user.compute.create_server(
            name=name, image_id=image, flavor_id=flavor_id, networks="none", **more
        )

        def settled() -> Any:
            found = user.compute.get_server(server.id)
            return found if found.status in ("ACTIVE", "ERROR") else None

        return until("the server ACTIVE or in ERROR", 90, settled)

    return make


@pytest.fixture
def fill(image: str, flavor: str, name: str) -> Callable[..., Any]:
    """Return a function that boots a server which ends then, and tells what became of it."""

    def make(user: Connection, end: int) -> Any:
        wanted = {"name": f"{name}-fill", "end": text(end)}
        server = user.compute.create_server(
            name=name,
            image_id=image,
            flavor_id=flavor,
            networks="none",
            scheduler_hints={"lease_params": json.dumps(wanted)},
        )

        def settled() -> Any:
            found = user.compute.get_server(server.id)
            return found if found.status in ("ACTIVE", "ERROR") else None

        return until("the server ACTIVE or in ERROR", 90, settled)

    return make
