"""A program that reserves and boots with libcloud's driver for OpenStack and prints the results as JSON.

The Python of libcloud's environment runs it; KEYSTONE_URL names the cloud. The driver lists leases and hosts;
for the other calls of the service it has a connection that signs in.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from libcloud.common.exceptions import BaseHTTPError
from libcloud.compute.base import Node, NodeSize
from libcloud.compute.drivers.openstack import OpenStack_2_NodeDriver as Driver
from libcloud.compute.providers import get_driver
from libcloud.compute.types import Provider

HOSTS = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": "",
}
INSTANCES = {
    "resource_type": "virtual:instance",
    "amount": 1,
    "vcpus": 1,
    "memory_mb": 512,
    "disk_gb": 1,
    "affinity": False,
    "resource_properties": "",
}
PATIENCE = 120


def sign_in(user: str) -> Driver:
    return get_driver(Provider.OPENSTACK)(
        user,
        "sandbox",
        api_version="2.2",
        ex_force_auth_url=os.environ["KEYSTONE_URL"].removesuffix("/v3"),
        ex_force_auth_version="3.x_password",
        ex_tenant_name=user,
        ex_force_service_region="RegionOne",
    )


def ask(driver: Driver, path: str, method: str = "GET", **body: Any) -> Any:
    return driver.reservation_connection.request(path, method=method, data=body or None).object


def refusal(call: Callable[[], Any]) -> dict[str, Any]:
    try:
        call()
    except BaseHTTPError as error:
        return {"code": error.code, "says": str(error)}
    return {}


def eventually(find: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := find():
            return found
        time.sleep(0.2)
    raise SystemExit("what was waited for did not happen")


class User:
    """A user of the driver."""

    def __init__(self, name: str) -> None:
        self.driver = sign_in(name)
        [self.image] = self.driver.list_images()
        self.networks = [each for each in self.driver.ex_list_networks() if each.name == "private"]

    def lease(self, name: str, reservation: dict[str, Any]) -> Any:
        """Create a lease and wait until the driver's list has it as active."""
        end = datetime.now(UTC) + timedelta(hours=2)  # noqa: TID251 (a program of its own, on the real clock)
        ask(
            self.driver,
            "/leases",
            "POST",
            name=name,
            start_date="now",
            end_date=end.strftime("%Y-%m-%d %H:%M"),
            reservations=[reservation],
            events=[],
        )
        return eventually(lambda: next((each for each in self.leases(name) if each.status == "ACTIVE"), None))

    def leases(self, name: str) -> list[Any]:
        return [each for each in self.driver.ex_list_leases() if each.name == name]

    def size(self, name: str) -> NodeSize:
        return next(each for each in self.driver.list_sizes() if name in each.name)

    def boot(self, name: str, size: NodeSize, hints: dict[str, str]) -> Node:
        node = self.driver.create_node(
            name, size, image=self.image, networks=self.networks, ex_os_scheduler_hints=hints
        )
        [(running, addresses)] = self.driver.wait_until_running(
            [node], wait_period=0.2, timeout=PATIENCE, ssh_interface="private_ips"
        )
        assert addresses
        return running


def where(admin: User, node: Node) -> str:
    """Return the host of a node, which administrators see."""
    nodes = admin.driver.list_nodes(ex_all_tenants=True)
    return str(next(each for each in nodes if each.id == node.id).extra["hypervisor_hostname"])


def reserved(admin: User, reservation: str) -> list[str]:
    """Return the names of the hosts of a reservation."""
    names = {each.id: each.hypervisor_hostname for each in admin.driver.ex_list_hosts()}
    allocations = ask(admin.driver, "/os-hosts/allocations")["allocations"]
    return [
        names[each["resource_id"]]
        for each in allocations
        if reservation in [item["id"] for item in each["reservations"]]
    ]


def on_hosts(user: User, admin: User) -> dict[str, Any]:
    lease = user.lease("of-libcloud", HOSTS)
    [reservation] = lease.reservations
    node = user.boot("inside", user.size("m1.small"), {"reservation": reservation["id"]})
    results = {
        "lease": [lease.name, lease.status, lease.end > lease.start],
        "booted on": where(admin, node),
        "reserved": reserved(admin, reservation["id"]),
        "listed": [each.name for each in user.driver.list_nodes()],
        "destroyed": node.destroy(),
    }
    results["left"] = eventually(lambda: not user.driver.list_nodes())
    ask(user.driver, f"/leases/{lease.id}", "DELETE")
    return {**results, "leases left": len(user.leases("of-libcloud"))}


def with_flavor(user: User, admin: User) -> dict[str, Any]:
    lease = user.lease("of-libcloud-slots", INSTANCES)
    [reservation] = lease.reservations
    size = user.size(reservation["id"])
    node = user.boot("slot", size, {"group": reservation["server_group_id"]})
    results = {
        "size": [size.vcpus, size.ram, size.disk],
        "booted on": where(admin, node),
        "reserved": reserved(admin, reservation["id"]),
        "listed": [each.name for each in user.driver.list_nodes()],
    }
    ask(user.driver, f"/leases/{lease.id}", "DELETE")
    results["ended with its lease"] = eventually(lambda: not user.driver.list_nodes())
    results["sizes left"] = [each.name for each in user.driver.list_sizes() if reservation["id"] in each.name]
    return results


if __name__ == "__main__":
    member, administrator = User("demo"), User("admin")
    print(
        json.dumps(
            {
                "hosts": sorted(each.hypervisor_hostname for each in administrator.driver.ex_list_hosts()),
                "on hosts": on_hosts(member, administrator),
                "with a flavor": with_flavor(member, administrator),
                "shortage": refusal(lambda: member.lease("big", {**HOSTS, "min": 99, "max": 99})),
                "unknown lease": refusal(lambda: ask(member.driver, "/leases/nothing")),
                "forbidden": refusal(member.driver.ex_list_hosts),
            }
        )
    )
