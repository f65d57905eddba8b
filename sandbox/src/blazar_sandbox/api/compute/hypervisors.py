"""Nova's HTTP routes of hypervisors."""

import json
import uuid
from functools import cache

from blazar_sandbox import fields
from blazar_sandbox.api.compute.paging import page
from blazar_sandbox.compute.hosts import usage
from blazar_sandbox.compute.model import Host
from blazar_sandbox.errors import bad_request, not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response

UUIDS = (2, 53)
"""From this microversion on, hypervisors and services have UUIDs, and the pattern is a query parameter."""


def _base(host: Host, request: Request) -> Json:
    return {
        "id": host.uuid if request.version >= UUIDS else host.id,
        "hypervisor_hostname": host.name,
        "state": "up" if host.is_up else "down",
        "status": "disabled" if host.disabled else "enabled",
    }


def _servers(host: Host, request: Request) -> list[Json]:
    return [
        {"uuid": row.id, "name": row.name}
        for row in request.cloud.compute.server_table.on_host.rows(host.name)
    ]


def _detail(host: Host, request: Request) -> Json:
    service_id: str | int = host.service_uuid if request.version >= UUIDS else host.id
    body = _base(host, request) | {
        "hypervisor_type": "QEMU",
        "hypervisor_version": 8002002,
        "host_ip": host.host_ip,
        "service": {"id": service_id, "host": host.name, "disabled_reason": host.disabled_reason},
    }
    if request.version >= (2, 88):
        body["uptime"] = None
        return body
    used = usage(request.cloud.compute.server_table.on_host.rows(host.name))
    info, info_text = _cpu_info(host.cpu_model, host.cpu_vendor, host.cpu_features, host.vcpus)
    return body | {
        "vcpus": host.vcpus,
        "vcpus_used": used.vcpus,
        "memory_mb": host.memory_mb,
        "memory_mb_used": used.memory_mb + 512,
        "free_ram_mb": host.memory_mb - 512 - used.memory_mb,
        "local_gb": host.local_gb,
        "local_gb_used": used.local_gb,
        "free_disk_gb": host.local_gb - used.local_gb,
        "disk_available_least": host.local_gb - used.local_gb,
        "running_vms": used.servers,
        "current_workload": 0,
        "cpu_info": info if request.version >= (2, 28) else info_text,
    }


@cache
def _cpu_info(model: str, vendor: str, features: tuple[str, ...], vcpus: int) -> tuple[Json, str]:
    """Return the description of a CPU, and the same as the JSON text that callers before 2.28 get.

    It is cached because there are few models and many hosts.
    """
    info = {
        "arch": "x86_64",
        "model": model,
        "vendor": vendor,
        "topology": {"cells": 2, "sockets": 1, "cores": max(1, vcpus // 4), "threads": 2},
        "features": list(features),
    }
    return info, json.dumps(info)


def _listed(request: Request, *, detail: bool) -> Response:
    request.caller.must_be_admin("os_compute_api:os-hypervisors:list" + ("-detail" if detail else ""))
    hosts = _selected(request)
    links: list[Json] = []
    if request.version >= (2, 33) and request.param("hypervisor_hostname_pattern") is None:
        hosts, links = page(request, hosts, _marker, "os-hypervisors" + ("/detail" if detail else ""))
    with_servers = request.version >= UUIDS and _with_servers(request)
    bodies = []
    for host in hosts:
        body = _detail(host, request) if detail else _base(host, request)
        if with_servers:
            body |= _servers_field(host, request)
        bodies.append(body)
    answer: Json = {"hypervisors": bodies}
    if links:
        answer["hypervisors_links"] = links
    return Response(200, answer)


def _servers_field(host: Host, request: Request) -> Json:
    """Return the field of the servers; before 2.75 a hypervisor without servers has none."""
    servers = _servers(host, request)
    return {"servers": servers} if servers or request.version >= (2, 75) else {}


def _marker(host: Host) -> tuple[str, ...]:
    return (host.uuid, str(host.id))


def _with_servers(request: Request) -> bool:
    value = request.param("with_servers")
    return value is not None and fields.parse_boolean(value, "with_servers")


def _selected(request: Request) -> list[Host]:
    pattern = request.param("hypervisor_hostname_pattern") if request.version >= UUIDS else None
    if pattern is None:
        return list(request.cloud.compute.hosts.table)
    hosts = request.cloud.compute.hosts.matching(pattern)
    if not hosts:
        raise not_found(f"No hypervisor matching '{pattern}' could be found.")
    return hosts


def index(request: Request) -> Response:
    """List hypervisors."""
    return _listed(request, detail=False)


def detail(request: Request) -> Response:
    """List hypervisors in full."""
    return _listed(request, detail=True)


def _found(request: Request) -> Host:
    """Return the hypervisor that the path names by number or by UUID."""
    ref, hosts = request.args["id"], request.cloud.compute.hosts
    if request.version >= UUIDS:
        try:
            uuid.UUID(ref)
        except ValueError:
            raise bad_request(f"Invalid uuid {ref}") from None
        found = hosts.by_uuid.first(ref)
    else:
        found = hosts.by_number.first(int(ref)) if ref.isdigit() else None
    if found is None:
        raise not_found(f"Hypervisor with ID '{ref}' could not be found.")
    return found


def show(request: Request) -> Response:
    """Show a hypervisor."""
    request.caller.must_be_admin("os_compute_api:os-hypervisors:show")
    host = _found(request)
    body = _detail(host, request)
    if request.version >= UUIDS and _with_servers(request):
        body |= _servers_field(host, request)
    return Response(200, {"hypervisor": body})


def uptime(request: Request) -> Response:
    """Show the uptime of a hypervisor."""
    request.caller.must_be_admin("os_compute_api:os-hypervisors:uptime")
    text = " 08:32:11 up 93 days, 18:25, 12 users,  load average: 0.20, 0.12, 0.14"
    return Response(200, {"hypervisor": _base(_found(request), request) | {"uptime": text}})


def _by_pattern(request: Request) -> list[Host]:
    if request.version >= UUIDS:
        raise not_found("The resource could not be found.")
    hosts = request.cloud.compute.hosts.matching(request.args["id"])
    if not hosts:
        raise not_found(f"No hypervisor matching '{request.args['id']}' could be found.")
    return hosts


def search(request: Request) -> Response:
    """List the hypervisors whose name contains a pattern."""
    request.caller.must_be_admin("os_compute_api:os-hypervisors:search")
    return Response(200, {"hypervisors": [_base(host, request) for host in _by_pattern(request)]})


def servers(request: Request) -> Response:
    """List the hypervisors whose name contains a pattern, with their servers."""
    request.caller.must_be_admin("os_compute_api:os-hypervisors:servers")
    bodies = []
    for host in _by_pattern(request):
        found = _servers(host, request)
        bodies.append(_base(host, request) | ({"servers": found} if found else {}))
    return Response(200, {"hypervisors": bodies})


def statistics(request: Request) -> Response:
    """Show the sums over all hypervisors."""
    request.caller.must_be_admin("os_compute_api:os-hypervisors:statistics")
    compute = request.cloud.compute
    hosts = list(compute.hosts.table)
    used = usage(list(compute.server_table))
    memory, disk = sum(host.memory_mb for host in hosts), sum(host.local_gb for host in hosts)
    return Response(
        200,
        {
            "hypervisor_statistics": {
                "count": len(hosts),
                "vcpus": sum(host.vcpus for host in hosts),
                "vcpus_used": used.vcpus,
                "memory_mb": memory,
                "memory_mb_used": used.memory_mb + 512 * len(hosts),
                "free_ram_mb": memory - used.memory_mb - 512 * len(hosts),
                "local_gb": disk,
                "local_gb_used": used.local_gb,
                "free_disk_gb": disk - used.local_gb,
                "disk_available_least": disk - used.local_gb,
                "running_vms": used.servers,
                "current_workload": 0,
            }
        },
    )
