"""Reserved ports in the sandbox cloud's Neutron, over HTTP: the quota is raised, used, and lowered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from blazar.adapters.memory import MemoryDatabase
from blazar.conf.manager import SHIPPED
from blazar.kinds.port.errors import PortPoolNotFound
from blazar.kinds.port.port_pool import PortPool, PortPoolInterface
from blazar.rpc.codec import Codec
from blazar.rpc.proxy import remote_service

from .sandboxed import Sandboxed, until
from .test_calls import StoppedClock, Wire

# openstacksdk warns of its own next releases with every connection and request.
pytestmark = pytest.mark.filterwarnings(
    "ignore::openstack.warnings.RemovedInSDK50Warning", "ignore::openstack.warnings.RemovedInSDK60Warning"
)
NEWEST = {"OpenStack-API-Version": "reservation 1.42"}
PATH = "/v1/portpool"


@pytest.fixture
def sandboxed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    plugins = ", ".join([*SHIPPED, "network.port.plugin"])
    sandboxed = Sandboxed(tmp_path_factory.mktemp("sandboxed"), hosts=0, plugins=plugins)
    with sandboxed.state.lock:
        sandboxed.state.network.set_limits(sandboxed.state.project_id("demo"), {"port": 1})
    yield sandboxed
    sandboxed.stop()


def ask(sandboxed: Sandboxed, method: str, path: str = PATH, user: str = "admin", **body: Any) -> Any:
    return sandboxed.send(method, path, user, headers=NEWEST, json=body or None)


def reserve(sandboxed: Sandboxed, user: str = "demo", **fields: Any) -> Any:
    asked = {"resource_type": "network:port", **fields}
    dates = {"start_date": "now", "end_date": "2050-01-01 11:00"}
    return ask(sandboxed, "POST", "/v1/leases", user, name="lab", **dates, reservations=[asked])


def active(sandboxed: Sandboxed, **fields: Any) -> str:
    """The path of a lease of ports that has begun."""
    path = f"/v1/leases/{reserve(sandboxed, **fields).json['lease']['id']}"
    assert until(lambda: ask(sandboxed, "GET", path).json["lease"]["status"] == "ACTIVE")
    return path


def create_port(sandboxed: Sandboxed) -> int:
    token = {"X-Auth-Token": sandboxed.token("demo")}
    with sandboxed.state.lock:
        network_id = next(net.id for net in sandboxed.state.network.networks if net.name == "private")
    url = f"{sandboxed.cloud.url}/network/v2.0/ports"
    body = {"port": {"network_id": network_id}}
    return sandboxed.http.post(url, json=body, headers=token, timeout=20).status_code


def quota(sandboxed: Sandboxed) -> tuple[int, int]:
    """The limit, and what is used."""
    with sandboxed.state.lock:
        network, project_id = sandboxed.state.network, sandboxed.state.project_id("demo")
        return network.limits(project_id)["port"], network.in_use(project_id)["port"]


def test_ports_are_promised_given_and_taken_back(sandboxed: Sandboxed) -> None:
    made = ask(sandboxed, "PUT", ports=10)
    assert made.status_code == 200
    assert {**made.json["portpool"], "created_at": None} == {
        "ports": 10,
        "created_at": None,
        "updated_at": None,
    }
    assert [create_port(sandboxed) for _ in range(2)] == [201, 409]

    lease = reserve(sandboxed, amount=3).json["lease"]
    (reservation,) = lease["reservations"]
    assert (reservation["amount"], reservation["on_end"]) == (3, "keep")
    refused = reserve(sandboxed, "alt", amount=8)
    assert refused.status_code == 409
    assert refused.json["error_message"].startswith("Not enough ports available: ")
    told = ask(sandboxed, "GET", "/v1/capacity?resource_type=network:port", "demo").json["capacity"]
    assert [(each["name"], each["steps"][0]["available"]) for each in told["quantities"]] == [("ports", 7)]

    path = f"/v1/leases/{lease['id']}"
    assert until(lambda: ask(sandboxed, "GET", path).json["lease"]["status"] == "ACTIVE")
    (shown,) = ask(sandboxed, "GET", path).json["lease"]["reservations"]
    assert shown["units"] == 3
    assert [create_port(sandboxed) for _ in range(4)] == [201, 201, 201, 409]

    assert ask(sandboxed, "DELETE", path, "demo").status_code == 204
    assert until(lambda: quota(sandboxed) == (1, 4))
    assert create_port(sandboxed) == 409


def test_ports_are_deleted_where_it_is_asked_for(sandboxed: Sandboxed) -> None:
    ask(sandboxed, "PUT", ports=10)
    path = active(sandboxed, amount=3, on_end="delete")
    assert [create_port(sandboxed) for _ in range(4)] == [201] * 4
    assert ask(sandboxed, "DELETE", path, "demo").status_code == 204
    assert until(lambda: ask(sandboxed, "GET", path).status_code == 404)
    assert quota(sandboxed) == (1, 1)


def test_an_offer_tells_how_many_ports_there_are_instead(sandboxed: Sandboxed) -> None:
    ask(sandboxed, "PUT", ports=10)
    asked = {"resource_type": "network:port", "amount": 12}
    question = {
        "lease": {"reservations": [asked]},
        "start": {"earliest": "2050-01-01 10:00"},
        "duration": {"wanted": 60},
    }
    found = ask(sandboxed, "POST", "/v1/availability", "demo", **question).json["availability"]
    assert [each["lease"]["reservations"][0]["amount"] for each in found["answers"]] == [10]


def test_administrators_say_how_many_can_be_reserved(sandboxed: Sandboxed) -> None:
    absent = ask(sandboxed, "GET")
    assert (absent.status_code, absent.json["error_message"]) == (
        404,
        "No ports can be reserved: their number was not set.",
    )
    assert ask(sandboxed, "DELETE").status_code == 404
    for wrong in ({"ports": -1}, {"ports": "3"}, {"ports": True}, {"names": 3}):
        assert ask(sandboxed, "PUT", **wrong).status_code == 400
    ask(sandboxed, "PUT", ports=10)
    reserve(sandboxed, amount=6)
    kept = ask(sandboxed, "PUT", ports=5)
    assert (kept.status_code, kept.json["error_message"]) == (
        409,
        "The number of ports cannot be reduced so far. Promised at once: 6.",
    )
    changed = ask(sandboxed, "PUT", ports=6).json["portpool"]
    assert changed["updated_at"]
    assert ask(sandboxed, "GET", user="demo").json == {"portpool": changed}
    assert ask(sandboxed, "DELETE").status_code == 409


def test_versions_before_have_no_port_pool(sandboxed: Sandboxed) -> None:
    before = {"OpenStack-API-Version": "reservation 1.41"}
    assert sandboxed.send("GET", PATH, "admin", headers=before).status_code == 404


def test_calls_cross_the_broker() -> None:
    """blazar-api and blazar-manager are two processes: every argument and result becomes JSON."""

    class Manager:
        def __init__(self) -> None:
            self.port_pool = PortPool(MemoryDatabase(), StoppedClock())

        def noun(self, name: str) -> Any:
            return {"port_pool": self.port_pool}[name]

    codec = Codec({"port_pool": PortPoolInterface})
    wire = Wire(Manager(), codec=codec)
    port_pool = remote_service(wire, codec).noun("port_pool")
    made = port_pool.set(5)
    assert port_pool.get() == made
    port_pool.remove()
    with pytest.raises(PortPoolNotFound, match="their number was not set"):
        port_pool.get()
    assert all(calling.repeatable for calling in wire.calls)
