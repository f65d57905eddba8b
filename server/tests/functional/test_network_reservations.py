"""Reserved networks in the sandbox cloud's Neutron, over HTTP: promised, made, used, and removed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from blazar.adapters.memory import MemoryDatabase
from blazar.adapters.memory.cloud import MemoryCloud
from blazar.conf.manager import SHIPPED
from blazar.kinds.network.errors import NetworkSegmentAlreadyRegistered
from blazar.kinds.network.names import NetworkType
from blazar.kinds.network.segments import NetworkSegments, NetworkSegmentsInterface, SegmentRange
from blazar.rpc.codec import Codec
from blazar.rpc.proxy import remote_service
from blazar.service.pages import ResourcePage

from .sandboxed import Sandboxed, until
from .test_calls import StoppedClock, Wire

# openstacksdk warns of its own next releases with every connection and request.
pytestmark = pytest.mark.filterwarnings(
    "ignore::openstack.warnings.RemovedInSDK50Warning", "ignore::openstack.warnings.RemovedInSDK60Warning"
)
NEWEST = {"OpenStack-API-Version": "reservation 1.28"}
PATH = "/v1/networksegments"
VLANS = {
    "network_type": "vlan",
    "physical_network": "physnet1",
    "segmentation_id": 101,
    "last_segmentation_id": 102,
}


@pytest.fixture
def sandboxed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    plugins = ", ".join([*SHIPPED, "network.plugin"])
    sandboxed = Sandboxed(tmp_path_factory.mktemp("sandboxed"), hosts=0, plugins=plugins)
    yield sandboxed
    sandboxed.stop()


def ask(sandboxed: Sandboxed, method: str, path: str = PATH, user: str = "admin", **body: Any) -> Any:
    return sandboxed.send(method, path, user, headers=NEWEST, json=body or None)


def reserve(sandboxed: Sandboxed, user: str = "demo", **fields: Any) -> Any:
    dates = {"start_date": "now", "end_date": "2050-01-01 11:00"}
    asked = {"resource_type": "network", **fields}
    return ask(sandboxed, "POST", "/v1/leases", user, name="lab", **dates, reservations=[asked])


def neutron(sandboxed: Sandboxed, method: str, path: str, user: str = "demo", **body: Any) -> Any:
    token = {"X-Auth-Token": sandboxed.token(user)}
    url = f"{sandboxed.cloud.url}/network/v2.0/{path}"
    answer = sandboxed.http.request(method, url, json=body or None, headers=token, timeout=20)
    assert answer.ok, answer.text
    return answer.json() if answer.content else None


def test_a_vlan_is_promised_given_and_taken_back(sandboxed: Sandboxed) -> None:
    made = ask(sandboxed, "POST", **VLANS)
    assert made.status_code == 201
    assert [each["segmentation_id"] for each in made.json["networksegments"]] == [101, 102]

    lease = reserve(sandboxed, network_name="vlan", network_type="vlan").json["lease"]
    (reservation,) = lease["reservations"]
    names = ("amount", "network_type", "physical_network", "network_name", "network_ids")
    assert [reservation[name] for name in names] == [1, "vlan", None, "vlan", []]
    refused = reserve(sandboxed, "alt", amount=2)
    assert (refused.status_code, refused.json["error_message"][:40]) == (
        409,
        "Not enough network segments available: 2",
    )
    told = ask(sandboxed, "GET", "/v1/capacity?resource_type=network", "demo").json["capacity"]
    (quantity,) = told["quantities"]
    assert (quantity["name"], quantity["steps"][0]["available"]) == ("network_segments", 1)

    path = f"/v1/leases/{lease['id']}"
    assert until(lambda: ask(sandboxed, "GET", path).json["lease"]["status"] == "ACTIVE")
    (network_id,) = ask(sandboxed, "GET", path, "demo").json["lease"]["reservations"][0]["network_ids"]
    network = neutron(sandboxed, "GET", f"networks/{network_id}")["network"]
    assert network["name"] == "vlan"
    seen = neutron(sandboxed, "GET", f"networks/{network_id}", "admin")["network"]
    assert (seen["provider:network_type"], seen["provider:segmentation_id"] in (101, 102)) == ("vlan", True)

    subnet = {"network_id": network_id, "cidr": "192.0.2.0/24", "ip_version": 4}
    subnet_id = neutron(sandboxed, "POST", "subnets", subnet=subnet)["subnet"]["id"]
    router = neutron(sandboxed, "POST", "routers", router={"name": "r"})["router"]["id"]
    neutron(sandboxed, "PUT", f"routers/{router}/add_router_interface", subnet_id=subnet_id)
    routes = [{"destination": "198.51.100.0/24", "nexthop": "192.0.2.9"}]
    neutron(sandboxed, "PUT", f"routers/{router}", router={"routes": routes})
    port = neutron(sandboxed, "POST", "ports", port={"network_id": network_id})["port"]["id"]
    public = {"floating_network_id": sandboxed.network_id("public"), "port_id": port}
    address = neutron(sandboxed, "POST", "floatingips", floatingip=public)["floatingip"]["id"]

    assert ask(sandboxed, "DELETE", path, "demo").status_code == 204
    assert until(lambda: ask(sandboxed, "GET", path).status_code == 404)
    assert neutron(sandboxed, "GET", f"networks?id={network_id}", "admin")["networks"] == []
    assert neutron(sandboxed, "GET", f"ports?network_id={network_id}", "admin")["ports"] == []
    assert neutron(sandboxed, "GET", f"routers/{router}")["router"]["routes"] == []
    assert neutron(sandboxed, "GET", f"floatingips/{address}")["floatingip"]["port_id"] is None


def test_administrators_say_what_can_be_reserved(sandboxed: Sandboxed) -> None:
    first, _ = ask(sandboxed, "POST", **VLANS).json["networksegments"]
    again = ask(sandboxed, "POST", **VLANS)
    assert (again.status_code, again.json["error_message"]) == (
        409,
        "Already registered, so none was: vlan 101 of physnet1, vlan 102 of physnet1",
    )
    for wrong in (
        {"network_type": "flat"},
        {"physical_network": None},
        {"physical_network": ""},
        {"segmentation_id": 0},
        {"segmentation_id": "103"},
        {"segmentation_id": 4095, "last_segmentation_id": None},
        {"last_segmentation_id": 100},
    ):
        refused = ask(sandboxed, "POST", **{**VLANS, **wrong})
        assert refused.status_code == 400, wrong
    page = ask(sandboxed, "GET", f"{PATH}?limit=1", "demo").json
    assert (len(page["networksegments"]), len(page["networksegments_links"])) == (1, 1)
    one = f"{PATH}/{first['id']}"
    assert ask(sandboxed, "GET", one, "demo").json == {"networksegment": first}
    reserve(sandboxed, amount=2)
    kept = ask(sandboxed, "DELETE", one)
    assert (kept.status_code, kept.json["error_message"]) == (
        409,
        "Network segment vlan 101 of physnet1 cannot be removed. It is reserved.",
    )


def test_versions_before_have_no_segments(sandboxed: Sandboxed) -> None:
    before = {"OpenStack-API-Version": "reservation 1.27"}
    assert sandboxed.send("GET", PATH, "admin", headers=before).status_code == 404


def test_calls_cross_the_broker() -> None:
    """blazar-api and blazar-manager are two processes: every argument and result becomes JSON."""

    class Manager:
        def __init__(self) -> None:
            self.segments = NetworkSegments(MemoryDatabase(), MemoryCloud(), StoppedClock())

        def noun(self, name: str) -> Any:
            return {"network_segments": self.segments}[name]

    codec = Codec({"network_segments": NetworkSegmentsInterface})
    wire = Wire(Manager(), codec=codec)
    segments = remote_service(wire, codec).noun("network_segments")
    (made,) = segments.register(SegmentRange(NetworkType.VXLAN, None, 7, 7))
    assert segments.get(made.id) == made
    with pytest.raises(NetworkSegmentAlreadyRegistered, match="vxlan 7"):
        segments.register(SegmentRange(NetworkType.VXLAN, None, 7, 7))
    assert [each.name for each in segments.list(ResourcePage(10))] == ["vxlan 7"]
    segments.unregister(made.id)
    assert [calling.repeatable for calling in wire.calls] == [False, True, False, True, True]
