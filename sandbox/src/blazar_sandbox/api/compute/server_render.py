"""JSON bodies of servers."""

import hashlib
from datetime import datetime

from blazar_sandbox.compute.model import Flavor, Server, Status
from blazar_sandbox.fields import Json
from blazar_sandbox.wsgi.request import Request

_VM_STATES = {
    Status.BUILD: "building",
    Status.ACTIVE: "active",
    Status.ERROR: "error",
    Status.SHUTOFF: "stopped",
    Status.PAUSED: "paused",
    Status.SUSPENDED: "suspended",
    Status.SHELVED: "shelved",
    Status.SHELVED_OFFLOADED: "shelved_offloaded",
    Status.DELETED: "deleted",
}
MIGRATING = "migrating"
"""The task of a server that Nova shows as its status."""
_POWER_STATES = {
    Status.ACTIVE: 1,
    Status.PAUSED: 3,
    Status.SHUTOFF: 4,
    Status.SUSPENDED: 4,
    Status.SHELVED: 4,
}


def moment(when: datetime) -> str:
    """Return a time in Nova's format for servers."""
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def links(server_id: str, request: Request) -> list[Json]:
    """Return the links to a server."""
    return [
        {"rel": "self", "href": f"{request.origin}/compute/v2.1/servers/{server_id}"},
        {"rel": "bookmark", "href": f"{request.origin}/compute/servers/{server_id}"},
    ]


def summary(row: Server, request: Request) -> Json:
    """Return the short JSON body of a server, as lists show it."""
    return {"id": row.id, "name": row.name, "links": links(row.id, request)}


def detail(row: Server, request: Request, *, alone: bool = False) -> Json:
    """Return the full JSON body of a server, for the caller's microversion and role."""
    body = summary(row, request) | _state(row, request) | _descriptive(row, request)
    if row.status is Status.ERROR and row.fault is not None:
        body["fault"] = {
            "code": row.fault.code,
            "message": row.fault.message,
            "created": moment(row.fault.created),
            "details": row.fault.details,
        }
    if request.caller.is_admin:
        body |= _for_admins(row, request)
    if alone and request.version >= (2, 71):
        body["server_groups"] = [row.group_id] if row.group_id is not None else []
    return body


def _state(row: Server, request: Request) -> Json:
    seed = (row.project_id + row.host).encode()
    zone = ""
    host = request.cloud.compute.hosts.table.get(row.host)
    if host is not None:
        zone = request.cloud.compute.zone_of(host)
    return {
        "status": "MIGRATING" if row.task_state == MIGRATING else row.status.value,
        "OS-EXT-STS:task_state": row.task_state,
        "OS-EXT-STS:vm_state": _VM_STATES[row.status],
        "OS-EXT-STS:power_state": _POWER_STATES.get(row.status, 0),
        "hostId": hashlib.sha224(seed).hexdigest() if row.host else "",
        "OS-EXT-AZ:availability_zone": zone,
        "OS-SRV-USG:launched_at": row.launched_at.strftime("%Y-%m-%dT%H:%M:%S.%f")
        if row.launched_at
        else None,
        "OS-SRV-USG:terminated_at": None,
        "progress": 100 if row.status is Status.ACTIVE else 0,
        "created": moment(row.created),
        "updated": moment(row.updated),
    }


def _descriptive(row: Server, request: Request) -> Json:
    version = request.version
    image: Json | str = ""
    if row.image_id:
        href = f"{request.origin}/compute/images/{row.image_id}"
        image = {"id": row.image_id, "links": [{"rel": "bookmark", "href": href}]}
    body: Json = {
        "tenant_id": row.project_id,
        "user_id": row.user_id,
        "metadata": dict(row.metadata),
        "image": image,
        "flavor": flavor(row.flavor, request),
        "addresses": addresses(row, request),
        "accessIPv4": "",
        "accessIPv6": "",
        "OS-DCF:diskConfig": "MANUAL",
        "config_drive": row.config_drive,
        "key_name": row.key_name,
        "os-extended-volumes:volumes_attached": [
            {"id": each.id} for each in request.cloud.volumes.of_server.rows(row.id)
        ],
        "security_groups": [{"name": name} for name in row.security_groups],
    }
    newer = (
        ((2, 9), "locked", row.locked),
        ((2, 19), "description", row.description),
        ((2, 26), "tags", list(row.tags)),
        ((2, 63), "trusted_image_certificates", None),
        ((2, 73), "locked_reason", None),
        ((2, 90), "OS-EXT-SRV-ATTR:hostname", row.name.lower()),
        ((2, 96), "pinned_availability_zone", row.pinned_zone),
        ((2, 100), "scheduler_hints", dict(row.hints)),
    )
    return body | {name: value for since, name, value in newer if version >= since}


def _for_admins(row: Server, request: Request) -> Json:
    body: Json = {
        "OS-EXT-SRV-ATTR:host": row.host or None,
        "OS-EXT-SRV-ATTR:hypervisor_hostname": row.host or None,
        "OS-EXT-SRV-ATTR:instance_name": f"instance-{row.id[:8]}",
    }
    if request.version >= (2, 3):
        body |= {
            "OS-EXT-SRV-ATTR:hostname": row.name.lower(),
            "OS-EXT-SRV-ATTR:reservation_id": row.reservation_id,
            "OS-EXT-SRV-ATTR:launch_index": row.launch_index,
            "OS-EXT-SRV-ATTR:kernel_id": "",
            "OS-EXT-SRV-ATTR:ramdisk_id": "",
            "OS-EXT-SRV-ATTR:root_device_name": "/dev/vda",
            "OS-EXT-SRV-ATTR:user_data": row.user_data,
        }
    if request.version >= (2, 16):
        host = request.cloud.compute.hosts.table.get(row.host)
        body["host_status"] = "" if host is None else _host_status(host.is_up, host.disabled)
    return body


def _host_status(is_up: bool, disabled: bool) -> str:
    if not is_up:
        return "DOWN"
    return "MAINTENANCE" if disabled else "UP"


def flavor(row: Flavor, request: Request) -> Json:
    """Return the flavor of a server: a reference, or from 2.47 on the server's copy."""
    if request.version < (2, 47):
        href = f"{request.origin}/compute/flavors/{row.id}"
        return {"id": row.id, "links": [{"rel": "bookmark", "href": href}]}
    return {
        "original_name": row.name,
        "vcpus": row.vcpus,
        "ram": row.ram,
        "disk": row.disk,
        "ephemeral": row.ephemeral,
        "swap": row.swap,
        "extra_specs": dict(row.extra_specs),
    }


def addresses(row: Server, request: Request) -> Json:
    """Return the fixed and floating addresses of a server by network."""
    network = request.cloud.network
    found: dict[str, list[Json]] = {}
    for port in network.ports_of_device.rows(row.id):
        net = network.networks.get(port.network_id)
        if net is None:
            continue
        listed = found.setdefault(net.name, [])
        for fixed in port.fixed_ips:
            listed.append(_address(fixed.ip_address, port.mac_address, "fixed"))
        for floating in network.floating_by_port.rows(port.id):
            listed.append(_address(floating.floating_ip_address, port.mac_address, "floating"))
    return found


def _address(address: str, mac: str, kind: str) -> Json:
    version = 6 if ":" in address else 4
    return {
        "addr": address,
        "version": version,
        "OS-EXT-IPS:type": kind,
        "OS-EXT-IPS-MAC:mac_addr": mac,
    }
