"""Reserved volumes in the sandbox cloud's Cinder, over HTTP: the quota is raised, used, and lowered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from blazar.adapters.memory import MemoryDatabase
from blazar.adapters.memory.cloud import MemoryCloud
from blazar.conf.manager import SHIPPED
from blazar.kinds.volume.errors import VolumeTypeAlreadyRegistered
from blazar.kinds.volume.volume_types import OfferedVolumes, VolumeTypes, VolumeTypesInterface
from blazar.plugins import load_plugins
from blazar.rpc.codec import Codec
from blazar.rpc.proxy import remote_service
from blazar.service.ports import VolumeType
from blazar.service.ports.kind import Dependencies
from blazar.service.utilization import Sampling

from .sandboxed import Sandboxed, until
from .test_calls import StoppedClock, Wire

# openstacksdk warns of its own next releases with every connection and request.
pytestmark = pytest.mark.filterwarnings(
    "ignore::openstack.warnings.RemovedInSDK50Warning", "ignore::openstack.warnings.RemovedInSDK60Warning"
)
NEWEST = {"OpenStack-API-Version": "reservation 1.25"}
PATH = "/v1/volumetypes"


@pytest.fixture
def sandboxed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    plugins = ", ".join([*SHIPPED, "storage.volume.plugin"])
    sandboxed = Sandboxed(tmp_path_factory.mktemp("sandboxed"), hosts=0, plugins=plugins)
    yield sandboxed
    sandboxed.stop()


def ask(sandboxed: Sandboxed, method: str, path: str = PATH, user: str = "admin", **body: Any) -> Any:
    return sandboxed.send(method, path, user, headers=NEWEST, json=body or None)


def reserve(sandboxed: Sandboxed, user: str = "demo", **fields: Any) -> Any:
    asked = {"resource_type": "storage:volume", "volume_type": "fast", **fields}
    dates = {"start_date": "now", "end_date": "2050-01-01 11:00"}
    return ask(sandboxed, "POST", "/v1/leases", user, name="data", **dates, reservations=[asked])


def create_volume(sandboxed: Sandboxed, size: int) -> int:
    token = {"X-Auth-Token": sandboxed.token("demo")}
    body = {"volume": {"size": size, "volume_type": "fast"}}
    url = f"{sandboxed.cloud.url}/volume/v3/volumes"
    return sandboxed.http.post(url, json=body, headers=token, timeout=20).status_code


def limits(sandboxed: Sandboxed) -> tuple[int, int]:
    with sandboxed.state.lock:
        found = sandboxed.state.volumes.limits(sandboxed.state.project_id("demo"))
    return found["gigabytes_fast"], found["gigabytes"]


def test_capacity_is_promised_given_and_taken_back(sandboxed: Sandboxed) -> None:
    made = ask(sandboxed, "POST", volume_type="fast", gigabytes=100, volumes=10)
    assert made.status_code == 201
    volume_type = made.json["volumetype"]
    assert {**volume_type, "created_at": None} == {
        "id": volume_type["id"],
        "name": "fast",
        "gigabytes": 100,
        "volumes": 10,
        "created_at": None,
        "updated_at": None,
    }
    assert create_volume(sandboxed, 1) == 413

    lease = reserve(sandboxed, gigabytes=60, volumes=2).json["lease"]
    (reservation,) = lease["reservations"]
    assert (reservation["volume_type"], reservation["gigabytes"], reservation["volumes"]) == (
        volume_type["id"],
        60,
        2,
    )
    refused = reserve(sandboxed, "alt", gigabytes=41)
    assert refused.status_code == 409
    assert refused.json["error_message"].startswith("Not enough volume types available: ")
    told = ask(sandboxed, "GET", "/v1/capacity?resource_type=storage:volume", "demo").json["capacity"]
    assert [(each["name"], each["steps"][0]["available"]) for each in told["quantities"]] == [
        ("volume_gigabytes", 40),
        ("volumes", 8),
    ]

    path = f"/v1/leases/{lease['id']}"
    assert until(lambda: ask(sandboxed, "GET", path).json["lease"]["status"] == "ACTIVE")
    assert limits(sandboxed) == (60, 1060)
    assert [create_volume(sandboxed, size) for size in (50, 20, 10, 0)] == [202, 413, 202, 400]

    assert ask(sandboxed, "DELETE", path, "demo").status_code == 204
    # Cinder takes no quota below what is used
    assert until(lambda: limits(sandboxed) == (60, 1000))
    with sandboxed.state.lock:
        assert sorted(each.size for each in sandboxed.state.volumes.table) == [10, 50]
    assert create_volume(sandboxed, 1) == 413


def test_what_is_used_is_told_in_gigabytes_and_volumes(sandboxed: Sandboxed) -> None:
    ask(sandboxed, "POST", volume_type="fast", gigabytes=100, volumes=10)
    path = f"/v1/leases/{reserve(sandboxed, gigabytes=60, volumes=2).json['lease']['id']}"
    assert until(lambda: ask(sandboxed, "GET", path).json["lease"]["status"] == "ACTIVE")
    assert create_volume(sandboxed, 50) == 202

    def use(version: str) -> Any:
        headers = {"OpenStack-API-Version": f"reservation {version}"}
        answer = sandboxed.send("GET", path, "demo", headers=headers)
        return answer.json["lease"]["reservations"][0]["use"]

    assert use("1.42") == {"used": None, "left": None, "looked_at": None, "quantities": []}
    kinds = load_plugins(sandboxed.conf).kinds
    Sampling(Dependencies(sandboxed.database, sandboxed.service_cloud, kinds, sandboxed.clock)).look(
        lambda: None
    )
    found = use("1.42")
    assert (found["used"], found["left"], found["quantities"]) == (
        1,
        0,
        [{"name": "volume_gigabytes", "used": 50, "left": 10}, {"name": "volumes", "used": 1, "left": 1}],
    )
    assert use("1.41") == {name: found[name] for name in ("used", "left", "looked_at")}


def test_volumes_are_deleted_where_it_is_asked_for(sandboxed: Sandboxed) -> None:
    ask(sandboxed, "POST", volume_type="fast", gigabytes=100, volumes=10)
    lease = reserve(sandboxed, gigabytes=60, volumes=2, on_end="delete").json["lease"]
    path = f"/v1/leases/{lease['id']}"
    assert until(lambda: ask(sandboxed, "GET", path).json["lease"]["status"] == "ACTIVE")
    assert [create_volume(sandboxed, size) for size in (50, 10)] == [202, 202]
    with sandboxed.state.lock:
        kept, _ = sandboxed.state.volumes.table
        sandboxed.state.volumes.change(kept, status="in-use")
    assert ask(sandboxed, "DELETE", path, "demo").status_code == 204
    assert until(lambda: ask(sandboxed, "GET", path).status_code == 404)
    with sandboxed.state.lock:
        assert [each.id for each in sandboxed.state.volumes.table] == [kept.id]
    assert limits(sandboxed) == (50, 1000)


def test_administrators_say_how_much_can_be_reserved(sandboxed: Sandboxed) -> None:
    found = {"volume_type": "fast", "gigabytes": 100, "volumes": 10}
    path = f"{PATH}/{ask(sandboxed, 'POST', **found).json['volumetype']['id']}"
    again = ask(sandboxed, "POST", **found)
    assert (again.status_code, again.json["error_message"]) == (
        409,
        "Volume type fast is already registered.",
    )
    unknown = ask(sandboxed, "POST", **{**found, "volume_type": "nope"})
    assert (unknown.status_code, unknown.json["error_message"]) == (400, "Failed to find volume type nope")
    for wrong in ({"gigabytes": -1}, {"volumes": "3"}, {"volumes": True}, {"volume_type": ""}):
        assert ask(sandboxed, "POST", **{**found, **wrong}).status_code == 400

    reserve(sandboxed, gigabytes=60)
    kept = ask(sandboxed, "PUT", path, gigabytes=59, volumes=10)
    assert (kept.status_code, kept.json["error_message"]) == (
        409,
        "Volume type fast cannot be reduced so far. Promised at once: 60 GB; volumes: 1.",
    )
    changed = ask(sandboxed, "PUT", path, gigabytes=60, volumes=1).json["volumetype"]
    assert changed["updated_at"]
    assert ask(sandboxed, "GET", path, "demo").json == {"volumetype": changed}
    assert ask(sandboxed, "GET", PATH, "demo").json == {"volumetypes": [changed]}
    assert ask(sandboxed, "DELETE", path).status_code == 409


def test_versions_before_have_no_volume_types(sandboxed: Sandboxed) -> None:
    before = {"OpenStack-API-Version": "reservation 1.24"}
    assert sandboxed.send("GET", PATH, "admin", headers=before).status_code == 404


def test_calls_cross_the_broker() -> None:
    """blazar-api and blazar-manager are two processes: every argument and result becomes JSON."""

    class Manager:
        def __init__(self) -> None:
            cloud = MemoryCloud()
            cloud.state.volume_types.append(VolumeType("1", "fast"))
            self.volume_types = VolumeTypes(MemoryDatabase(), cloud, StoppedClock())

        def noun(self, name: str) -> Any:
            return {"volume_types": self.volume_types}[name]

    codec = Codec({"volume_types": VolumeTypesInterface})
    wire = Wire(Manager(), codec=codec)
    volume_types = remote_service(wire, codec).noun("volume_types")
    made = volume_types.register("fast", OfferedVolumes(5, 1))
    assert volume_types.get(made.id) == made
    assert volume_types.change(made.id, OfferedVolumes(6, 1)).inventory["VOLUME_GB"].capacity == 6
    with pytest.raises(VolumeTypeAlreadyRegistered, match="Volume type fast is already registered"):
        volume_types.register("fast", OfferedVolumes(5, 1))
    assert [each.name for each in volume_types.list()] == ["fast"]
    volume_types.unregister(made.id)
    assert [calling.repeatable for calling in wire.calls] == [False, True, True, False, True, True]


TEMPLATE = {"OpenStack-API-Version": "reservation 1.39"}


def boot(sandboxed: Sandboxed) -> str:
    """Boot a server of the user's, and return its id."""
    with sandboxed.state.lock:
        flavor = next(row.id for row in sandboxed.state.compute.flavors.table if row.name == "m1.tiny")
        image = next(iter(sandboxed.state.images.table)).id
    body = {"server": {"name": "web", "flavorRef": flavor, "imageRef": image, "networks": "none"}}
    headers = {"X-Auth-Token": sandboxed.token("demo"), "OpenStack-API-Version": "compute 2.90"}
    url = f"{sandboxed.cloud.url}/compute/v2.1/servers"
    server_id = str(sandboxed.http.post(url, json=body, headers=headers, timeout=20).json()["server"]["id"])

    def status() -> str:
        return str(sandboxed.http.get(f"{url}/{server_id}", headers=headers).json()["server"]["status"])

    assert until(lambda: status() == "ACTIVE")
    return server_id


def reserve_made(sandboxed: Sandboxed, version: dict[str, str] = TEMPLATE, **fields: Any) -> Any:
    asked = {"resource_type": "storage:volume", "volume_type": "fast", "gigabytes": 60, "volumes": 2}
    asked |= {"volume_name": "data", **fields}
    body = {"name": "data", "start_date": "now", "end_date": "2050-01-01 11:00", "reservations": [asked]}
    return sandboxed.send("POST", "/v1/leases", "demo", headers=version, json=body)


def shown(sandboxed: Sandboxed, path: str, version: dict[str, str] = TEMPLATE) -> Any:
    lease = sandboxed.send("GET", path, "demo", headers=version).json["lease"]
    return lease["status"], lease["reservations"][0]


@pytest.fixture
def with_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    plugins = ", ".join([*SHIPPED, "storage.volume.plugin"])
    sandboxed = Sandboxed(tmp_path_factory.mktemp("sandboxed"), hosts=1, plugins=plugins)
    ask(sandboxed, "POST", volume_type="fast", gigabytes=100, volumes=10)
    yield sandboxed
    sandboxed.stop()


def test_volumes_are_made_attached_and_deleted_by_the_user_s_trust(with_hosts: Sandboxed) -> None:
    sandboxed, server = with_hosts, boot(with_hosts)
    with sandboxed.state.lock:
        image = next(iter(sandboxed.state.images.table)).id
    made = reserve_made(sandboxed, server_id=server, image_id=image, on_end=["delete", "detach"])
    assert made.status_code == 201, made.json
    assert made.json["lease"]["reservations"][0]["made_volumes"] == []
    path = f"/v1/leases/{made.json['lease']['id']}"
    assert until(lambda: shown(sandboxed, path)[0] == "ACTIVE")
    reservation = shown(sandboxed, path)[1]
    with sandboxed.state.lock:
        rows = list(sandboxed.state.volumes.table)
        assert {row.user_id for row in rows} == {sandboxed.state.user_id("demo")}
    assert [(row.name, row.size, row.status, row.image_id) for row in rows] == [
        ("data-1", 30, "in-use", image),
        ("data-2", 30, "in-use", image),
    ]
    assert {each.server_id for row in rows for each in row.attachments} == {server}
    assert reservation["made_volumes"] == [{"id": row.id, "status": "in-use"} for row in rows]
    assert (reservation["volume_size"], reservation["on_end"]) == (30, "detach,delete")
    older = shown(sandboxed, path, {"OpenStack-API-Version": "reservation 1.38"})[1]
    assert reservation.keys() - older.keys() == {
        "volume_name",
        "volume_size",
        "image_id",
        "snapshot_id",
        "server_id",
        "made_volumes",
    }

    assert ask(sandboxed, "DELETE", path, "demo").status_code == 204
    assert until(lambda: ask(sandboxed, "GET", path).status_code == 404)
    with sandboxed.state.lock:
        assert not list(sandboxed.state.volumes.table)
    assert limits(sandboxed) == (0, 1000)


def test_snapshots_are_made_at_the_end(with_hosts: Sandboxed) -> None:
    sandboxed = with_hosts
    made = reserve_made(sandboxed, volume_size=15, on_end="snapshot")
    path = f"/v1/leases/{made.json['lease']['id']}"
    assert until(lambda: shown(sandboxed, path)[0] == "ACTIVE")
    assert ask(sandboxed, "DELETE", path, "demo").status_code == 204
    assert until(lambda: ask(sandboxed, "GET", path).status_code == 404)
    with sandboxed.state.lock:
        volumes = {row.id for row in sandboxed.state.volumes.table}
        snapshots = list(sandboxed.state.volumes.snapshots)
    assert {row.volume_id for row in snapshots} == volumes
    assert sorted(row.name for row in snapshots) == [f"data-{n} at the end of lease data" for n in (1, 2)]
    assert {row.user_id for row in snapshots} == {sandboxed.state.user_id("demo")}
    assert limits(sandboxed) == (60, 1000)


def test_a_start_that_cinder_cannot_make_tells_why(with_hosts: Sandboxed) -> None:
    sandboxed, why = with_hosts, "schedule allocate volume:Could not find any available weighted backend."
    with sandboxed.state.lock:
        sandboxed.state.volumes.create_fails = why
    path = f"/v1/leases/{reserve_made(sandboxed).json['lease']['id']}"

    def reason() -> str:
        return str(sandboxed.send("GET", path, "demo", headers=TEMPLATE).json["lease"].get("status_reason"))

    assert until(lambda: why in reason())
    with sandboxed.state.lock:
        sandboxed.state.volumes.create_fails = ""
    assert until(lambda: shown(sandboxed, path)[0] == "ACTIVE")
    with sandboxed.state.lock:
        assert [(row.name, row.status) for row in sandboxed.state.volumes.table] == [
            ("data-1", "available"),
            ("data-2", "available"),
        ]


def test_versions_before_make_no_volumes(with_hosts: Sandboxed) -> None:
    before = {"OpenStack-API-Version": "reservation 1.38"}
    made = reserve_made(with_hosts, before, server_id="ignored")
    assert made.status_code == 201
    path = f"/v1/leases/{made.json['lease']['id']}"
    assert until(lambda: shown(with_hosts, path)[0] == "ACTIVE")
    assert "made_volumes" not in shown(with_hosts, path)[1]
    with with_hosts.state.lock:
        assert not list(with_hosts.state.volumes.table)


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        (
            {"server_id": "99999999-9999-4999-8999-999999999999"},
            404,
            "Server 99999999-9999-4999-8999-999999999999 could not be found.",
        ),
        ({"on_end": "snapshot,delete"}, 400, "Cinder deletes no volume that has a snapshot"),
        ({"volume_size": 31}, 400, "has to be 62 at least for 2 volumes"),
    ],
)
def test_what_cannot_be_is_refused_at_once(
    with_hosts: Sandboxed, fields: dict[str, Any], status: int, message: str
) -> None:
    refused = reserve_made(with_hosts, **fields)
    assert refused.status_code == status
    assert message in refused.json["error_message"]
