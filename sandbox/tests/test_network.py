"""Tests of Neutron: addresses, ports, floating IPs and tags."""

from collections.abc import Callable
from typing import Any

import pytest

from blazar_sandbox.cloud import Cloud


@pytest.fixture
def public(cloud: Cloud) -> str:
    return next(net.id for net in cloud.network.networks if net.name == "public")


def fip(caller: Any, network_id: str, **more: Any) -> Any:
    body = {"floatingip": {"floating_network_id": network_id, **more}}
    return caller.call("POST", "/network/v2.0/floatingips", body)


def kind(answer: Any) -> tuple[int, str]:
    return answer.status, answer.body["NeutronError"]["type"]


def test_the_first_days_networks(demo: Any) -> None:
    nets = {one["name"]: one for one in demo.ok("GET", "/network/v2.0/networks")["networks"]}
    assert nets["public"]["router:external"] is True
    assert nets["private"]["shared"] is True
    subnet = demo.ok("GET", f"/network/v2.0/subnets/{nets['public']['subnets'][0]}")["subnet"]
    assert subnet["cidr"] == "203.0.113.0/24"
    assert subnet["gateway_ip"] == "203.0.113.1"
    assert subnet["allocation_pools"] == [{"start": "203.0.113.10", "end": "203.0.113.99"}]
    external = demo.ok("GET", "/network/v2.0/networks?router:external=True&fields=id&fields=name")["networks"]
    assert [set(one) for one in external] == [{"id", "name"}]


def test_an_operator_gives_an_address_to_a_project(
    admin: Any, demo: Any, alt: Any, cloud: Cloud, public: str
) -> None:
    answer = fip(admin, public, floating_ip_address="203.0.113.150", project_id=cloud.project_id("demo"))
    assert answer.status == 201
    made = answer.body["floatingip"]
    assert (made["floating_ip_address"], made["project_id"], made["status"], made["port_id"]) == (
        "203.0.113.150", cloud.project_id("demo"), "DOWN", None,
    )  # fmt: skip
    path = f"/network/v2.0/floatingips/{made['id']}"
    tags = {"tags": ["blazar", "reservation:r1"]}
    assert admin.ok("PUT", path + "/tags", tags) == tags
    assert demo.ok("GET", path)["floatingip"]["tags"] == tags["tags"]
    for query, count in (
        (f"floating_ip_address=203.0.113.150&floating_network_id={public}", 1),
        ("floating_ip_address=203.0.113.151", 0),
        ("tags=blazar,reservation:r1", 1),
        ("tags=blazar,reservation:r2", 0),
        ("tags-any=reservation:r2,blazar", 1),
        ("not-tags=blazar", 0),
    ):
        assert len(admin.ok("GET", f"/network/v2.0/floatingips?{query}")["floatingips"]) == count, query
    assert alt.call("GET", path).status == 404
    assert alt.ok("GET", "/network/v2.0/floatingips")["floatingips"] == []
    assert demo.call("DELETE", path).status == 204
    assert admin.call("DELETE", path).status == 404
    assert fip(admin, public, floating_ip_address="203.0.113.150").status == 201, "the address is free again"


def test_what_is_refused(admin: Any, demo: Any, cloud: Cloud, public: str) -> None:
    private = next(net.id for net in cloud.network.networks if net.name == "private")
    assert fip(admin, public, floating_ip_address="203.0.113.150").status == 201
    assert kind(fip(admin, public, floating_ip_address="203.0.113.150")) == (409, "IpAddressInUse")
    assert kind(fip(admin, public, floating_ip_address="198.51.100.1")) == (400, "InvalidIpForNetwork")
    assert kind(fip(admin, public, floating_ip_address="nonsense")) == (400, "HTTPBadRequest")
    assert kind(fip(admin, private)) == (400, "BadRequest")
    unknown = "11111111-1111-4111-8111-111111111111"
    assert kind(fip(admin, unknown)) == (404, "NetworkNotFound")
    assert kind(fip(admin, "nope")) == (400, "HTTPBadRequest")
    assert kind(fip(admin, public, subnet_id=unknown)) == (404, "SubnetNotFound")
    assert kind(fip(demo, public, floating_ip_address="203.0.113.151")) == (403, "PolicyNotAuthorized")
    assert kind(fip(demo, public, project_id=cloud.project_id("alt"))) == (400, "HTTPBadRequest")


def test_pools_are_used_in_order_and_end(demo: Any, public: str) -> None:
    given = [fip(demo, public).body["floatingip"]["floating_ip_address"] for _ in range(90)]
    assert given == [f"203.0.113.{number}" for number in range(10, 100)]
    assert kind(fip(demo, public)) == (409, "IpAddressGenerationFailure")


def test_an_address_is_bound_to_a_server(connect: Callable[[str], Any], public: str) -> None:
    demo = connect("demo")
    server = demo.create_server(
        "web", image="dummy", flavor="m1.tiny", network="private", wait=True, auto_ip=False
    )
    port = next(demo.network.ports(device_id=server.id))
    made = demo.network.create_ip(floating_network_id=public)
    bound = demo.network.update_ip(made, port_id=port.id)
    assert (bound.status, bound.fixed_ip_address) == ("ACTIVE", port.fixed_ips[0]["ip_address"])
    kinds = {one["OS-EXT-IPS:type"] for one in demo.compute.get_server(server.id).addresses["private"]}
    assert kinds == {"fixed", "floating"}
    demo.network.update_ip(made, port_id=None)
    assert demo.network.get_ip(made.id).port_id is None
    demo.network.update_ip(made, port_id=port.id)
    demo.delete_server(server.id, wait=True)
    assert demo.network.get_ip(made.id).port_id is None, "a server that is gone leaves its floating IP alone"


def test_networks_of_ones_own(connect: Callable[[str], Any]) -> None:
    demo, alt = connect("demo").network, connect("alt").network
    net = demo.create_network(name="mine")
    subnet = demo.create_subnet(network_id=net.id, ip_version=4, cidr="192.0.2.0/29", gateway_ip="192.0.2.3")
    assert subnet.allocation_pools == [
        {"start": "192.0.2.1", "end": "192.0.2.2"},
        {"start": "192.0.2.4", "end": "192.0.2.6"},
    ]
    assert alt.find_network("mine") is None
    ports = [demo.create_port(network_id=net.id) for _ in range(2)]
    assert [port.fixed_ips[0]["ip_address"] for port in ports] == ["192.0.2.1", "192.0.2.2"]
    demo.delete_port(ports[0])
    demo.set_tags(net, ["a"])
    assert demo.get_network(net.id).tags == ["a"]
    demo.delete_port(ports[1])
    demo.delete_network(net)
    assert demo.find_network("mine") is None


def test_networks_in_use_stay(demo: Any) -> None:
    net = demo.ok("POST", "/network/v2.0/networks", {"network": {"name": "mine"}})["network"]
    body = {"subnet": {"network_id": net["id"], "cidr": "192.0.2.0/29", "ip_version": 4}}
    demo.ok("POST", "/network/v2.0/subnets", body)
    assert kind(demo.call("POST", "/network/v2.0/subnets", body)) == (400, "InvalidInput")
    demo.ok("POST", "/network/v2.0/ports", {"port": {"network_id": net["id"]}})
    assert kind(demo.call("DELETE", f"/network/v2.0/networks/{net['id']}")) == (409, "NetworkInUse")
    body = {"network": {"name": "ext", "router:external": True}}
    assert kind(demo.call("POST", "/network/v2.0/networks", body)) == (403, "PolicyNotAuthorized")


def test_members_do_not_change_what_they_only_see(demo: Any, public: str) -> None:
    path = f"/network/v2.0/networks/{public}"
    assert demo.call("PUT", path, {"network": {"name": "mine"}}).status == 403
    assert demo.call("DELETE", path).status == 403
    assert demo.call("PUT", path + "/tags", {"tags": ["x"]}).status == 403


def test_pages(demo: Any, public: str) -> None:
    for _ in range(3):
        fip(demo, public)
    path = "/network/v2.0/floatingips?limit=2&sort_key=floating_ip_address&sort_dir=desc"
    first = demo.ok("GET", path)
    href = first["floatingips_links"][0]["href"]
    second = demo.http.get(href).json()
    seen = [one["floating_ip_address"] for one in first["floatingips"] + second["floatingips"]]
    assert seen == ["203.0.113.12", "203.0.113.11", "203.0.113.10"]
    assert "floatingips_links" not in second


def test_images_are_listed_made_and_removed(connect: Callable[[str], Any]) -> None:
    demo, alt = connect("demo").image, connect("alt").image
    assert demo.find_image("dummy").visibility == "public"
    made = demo.create_image(
        name="mine", data=b"x" * 1000, disk_format="raw", container_format="bare", visibility="private"
    )
    seen = demo.get_image(made.id)
    assert (seen.status, seen.size) == ("active", 1000)
    assert alt.find_image("mine") is None
    assert [one.name for one in demo.images(name="mine")] == ["mine"]
    demo.update_image(made, name="yours", color="red")
    assert demo.get_image(made.id).name == "yours"
    demo.delete_image(made)
    assert demo.find_image("yours") is None


def vlan(caller: Any, segmentation_id: int = 101, **more: Any) -> Any:
    provider = {
        "provider:network_type": "vlan",
        "provider:physical_network": "physnet1",
        "provider:segmentation_id": segmentation_id,
    }
    return caller.call("POST", "/network/v2.0/networks", {"network": {"name": "v", **provider, **more}})


def test_an_administrator_makes_a_network_on_a_segment_for_a_project(
    admin: Any, demo: Any, cloud: Cloud
) -> None:
    made = vlan(admin, project_id=cloud.project_id("demo"), description="mine").body["network"]
    query = "provider:network_type=vlan&provider:physical_network=physnet1&provider:segmentation_id=101"
    (found,) = admin.ok("GET", f"/network/v2.0/networks?{query}")["networks"]
    assert (found["id"], found["project_id"]) == (made["id"], cloud.project_id("demo"))
    shown = demo.ok("GET", f"/network/v2.0/networks/{made['id']}")["network"]
    assert shown["description"] == "mine"
    assert not [name for name in shown if name.startswith("provider:")], "only administrators see the segment"
    assert kind(vlan(admin)) == (409, "VlanIdInUse")
    assert vlan(admin, 102).status == 201
    demo.ok("DELETE", f"/network/v2.0/networks/{made['id']}")
    assert vlan(admin).status == 201


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"provider:segmentation_id": 4095}, "out of range (1 through 4094)"),
        ({"provider:physical_network": "other"}, "physical_network 'other' unknown"),
        ({"provider:physical_network": None}, "physical_network 'None' unknown"),
        ({"provider:network_type": "vxlan"}, "specified for vxlan network"),
        ({"provider:network_type": "token-ring"}, "not supported"),
        ({"provider:network_type": None}, "network_type required"),
        ({"provider:network_type": "flat"}, "prohibited for flat"),
    ],
)
def test_what_is_no_segment_is_refused(admin: Any, wanted: Any, why: str) -> None:
    refused = vlan(admin, **wanted)
    assert kind(refused) == (400, "InvalidInput")
    assert why in refused.body["NeutronError"]["message"]


def test_segments_are_for_administrators(admin: Any, demo: Any) -> None:
    assert kind(vlan(demo)) == (403, "PolicyNotAuthorized")
    demo.ok("POST", "/network/v2.0/networks", {"network": {"name": "mine"}})
    (mine,) = admin.ok("GET", "/network/v2.0/networks?name=mine")["networks"]
    assert (mine["provider:network_type"], mine["provider:segmentation_id"]) == ("vxlan", 2)
    tunnel = {"provider:network_type": "vxlan", "provider:segmentation_id": 2}
    assert kind(admin.call("POST", "/network/v2.0/networks", {"network": tunnel})) == (409, "TunnelIdInUse")
    flat = {"provider:network_type": "flat", "provider:physical_network": "public"}
    assert kind(admin.call("POST", "/network/v2.0/networks", {"network": flat})) == (409, "FlatNetworkInUse")


def test_a_network_is_emptied_in_the_right_order(connect: Callable[[str], Any], demo: Any, alt: Any) -> None:
    sdk = connect("demo").network
    net = sdk.create_network(name="mine")
    subnet = sdk.create_subnet(network_id=net.id, ip_version=4, cidr="192.0.2.0/24")
    router = sdk.create_router(name="r")
    interface = sdk.add_interface_to_router(router, subnet_id=subnet.id)["port_id"]
    port = sdk.get_port(interface)
    assert (port.device_id, port.device_owner) == (router.id, "network:router_interface")
    assert port.fixed_ips == [{"subnet_id": subnet.id, "ip_address": "192.0.2.1"}]
    plugged = sdk.create_port(network_id=net.id)
    address = sdk.create_ip(floating_network_id=sdk.find_network("public").id, port_id=plugged.id)

    one = f"/network/v2.0/routers/{router.id}"
    interface_body = {"port_id": interface}
    assert kind(demo.call("DELETE", f"/network/v2.0/ports/{interface}")) == (409, "ServicePortInUse")
    assert kind(demo.call("DELETE", f"/network/v2.0/networks/{net.id}")) == (409, "NetworkInUse")
    assert kind(demo.call("DELETE", one)) == (409, "RouterInUse")
    refused = demo.call("PUT", one + "/remove_router_interface", interface_body)
    assert kind(refused) == (409, "RouterInterfaceInUseByFloatingIP")
    sdk.delete_port(plugged)
    assert sdk.get_ip(address.id).port_id is None
    sdk.update_router(router, routes=[{"destination": "10.9.0.0/16", "nexthop": "192.0.2.7"}])
    refused = demo.call("PUT", one + "/remove_router_interface", interface_body)
    assert kind(refused) == (409, "RouterInterfaceInUseByRoute")
    sdk.update_router(router, routes=[])
    assert alt.call("PUT", one + "/remove_router_interface", interface_body).status == 404
    sdk.remove_interface_from_router(router, port_id=interface)
    gone = demo.call("PUT", one + "/remove_router_interface", interface_body)
    assert kind(gone) == (404, "RouterInterfaceNotFound")
    sdk.create_port(network_id=net.id, device_owner="network:dhcp")
    sdk.delete_network(net)
    sdk.delete_router(router)
    assert not list(sdk.ports(network_id=net.id)), "the port for DHCP goes with the network"
    assert not list(sdk.subnets(network_id=net.id))


def test_an_interface_needs_a_subnet_with_a_gateway(demo: Any, alt: Any) -> None:
    net = demo.ok("POST", "/network/v2.0/networks", {"network": {"name": "mine"}})["network"]
    body = {"network_id": net["id"], "cidr": "192.0.2.0/29", "ip_version": 4, "gateway_ip": None}
    subnet = demo.ok("POST", "/network/v2.0/subnets", {"subnet": body})["subnet"]
    wanted = {"subnet_id": subnet["id"]}
    for caller, answer in ((demo, (400, "BadRequest")), (alt, (404, "SubnetNotFound"))):
        router = caller.ok("POST", "/network/v2.0/routers", {"router": {"name": "r"}})["router"]
        path = f"/network/v2.0/routers/{router['id']}/add_router_interface"
        assert kind(caller.call("PUT", path, wanted)) == answer
