"""Tests of Neutron's quotas, of which that of ports holds, through the SDK and bare calls."""

from collections.abc import Callable
from typing import Any

import openstack
import pytest

from blazar_sandbox.cloud import Cloud


@pytest.fixture
def project(demo: Any) -> str:
    return str(demo.token_body["project"]["id"])


@pytest.fixture
def private(cloud: Cloud) -> str:
    return next(net.id for net in cloud.network.networks if net.name == "private")


def limit(admin: Any, project_id: str, **limits: Any) -> Any:
    return admin.call("PUT", f"/network/v2.0/quotas/{project_id}", {"quota": limits})


def make_port(caller: Any, network_id: str, **more: Any) -> Any:
    return caller.call("POST", "/network/v2.0/ports", {"port": {"network_id": network_id, **more}})


def test_the_sdk_makes_ports_within_the_quota(
    connect: Callable[[str], Any], project: str, private: str
) -> None:
    network, operators = connect("demo").network, connect("admin").network
    assert network.get_quota(project).ports == 500
    operators.update_quota(project, ports=1)
    made = network.create_port(network_id=private)
    with pytest.raises(openstack.exceptions.ConflictException, match=r"Quota exceeded .*\['port'\]"):
        network.create_port(network_id=private)
    details = operators.get_quota(project, details=True)
    assert details.ports == {"limit": 1, "used": 1, "reserved": 0}
    network.delete_port(made)
    assert network.create_port(network_id=private)
    operators.delete_quota(project)
    assert network.get_quota(project).ports == 500


def test_a_limit_is_set_below_what_is_used_only_by_force(
    admin: Any, demo: Any, project: str, private: str
) -> None:
    for _ in range(3):
        assert make_port(demo, private).status == 201
    for checked in (limit(admin, project, port=2), limit(admin, project, port=2, check_limit=True)):
        assert (checked.status, checked.body["NeutronError"]["message"]) == (
            400,
            "Quota limit 2 for port must be greater than or equal to already used 3",
        )
    answer = limit(admin, project, port=2, force=True)
    assert (answer.status, answer.body["quota"]["port"], answer.body["quota"]["network"]) == (200, 2, 100)
    assert make_port(demo, private).status == 409
    assert limit(admin, project, port=-1).body["quota"]["port"] == -1
    assert make_port(demo, private).status == 201


def test_servers_and_routers_take_ports(
    admin: Any, demo: Any, cloud: Cloud, project: str, private: str
) -> None:
    limit(admin, project, port=1)
    flavor = next(row.id for row in cloud.compute.flavors.table if row.name == "m1.tiny")
    server = {"name": "web", "flavorRef": flavor, "imageRef": next(iter(cloud.images.table)).id}
    boot = {"server": {**server, "networks": [{"uuid": private}, {"uuid": private}]}}
    refused = demo.call("POST", "/compute/v2.1/servers", boot)
    assert (refused.status, refused.body["forbidden"]["message"]) == (403, "Maximum number of ports exceeded")
    boot["server"]["networks"] = [{"uuid": private}]
    assert demo.call("POST", "/compute/v2.1/servers", boot).status == 202
    router = demo.ok("POST", "/network/v2.0/routers", {"router": {"name": "r"}})["router"]["id"]
    subnet = {"subnet_id": cloud.network.subnets_of.keys(private)[0]}
    added = demo.call("PUT", f"/network/v2.0/routers/{router}/add_router_interface", subnet)
    assert (added.status, added.body["NeutronError"]["type"]) == (409, "OverQuota")
    limit(admin, project, port=2)
    assert demo.call("PUT", f"/network/v2.0/routers/{router}/add_router_interface", subnet).status == 200


def test_who_may_see_and_set_them(admin: Any, demo: Any, alt: Any, project: str) -> None:
    path = f"/network/v2.0/quotas/{project}"
    for ending in ("", "/details.json", "/default"):
        assert [each.call("GET", path + ending).status for each in (admin, demo, alt)] == [200, 200, 403]
    assert [limit(each, project, port=9).status for each in (demo, alt)] == [403, 403]
    assert demo.call("DELETE", path).status == 403
    for wrong in ({"port": -2}, {"port": "many"}, {"ports": 1}):
        assert limit(admin, project, **wrong).status == 400
    assert admin.call("DELETE", path).status == 404
    limit(admin, project, port=9)
    assert admin.call("DELETE", path).status == 204
