"""HTTP routes of the sandbox itself: faults, journal, snapshot and delays.

They are open to callers on this machine only, without a token. From Python the same is done with
``cloud.faults``, ``cloud.journal``, ``cloud.compute.servers.stuck`` and ``blazar_sandbox.snapshot``.
"""

import ipaddress
from dataclasses import MISSING, asdict
from dataclasses import fields as fields_of
from typing import Any

from blazar_sandbox import fields
from blazar_sandbox.compute.model import Host
from blazar_sandbox.compute.servers import Delays
from blazar_sandbox.errors import bad_request, forbidden, not_found
from blazar_sandbox.faults import Effect, Fault, When
from blazar_sandbox.fields import Json
from blazar_sandbox.orchestration.state import Conduct
from blazar_sandbox.snapshot import snapshot
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response
from blazar_sandbox.wsgi.routing import Responder, Route


def _fault_of(body: Json) -> Fault:
    known = {one.name: one for one in fields_of(Fault)}
    for name, value in body.items():
        if name not in known:
            raise bad_request(f"A fault has no field {name}; it has {', '.join(known)}.")
        default = known[name].default
        if default not in (MISSING, None) and not _alike(value, default):
            raise bad_request(f"The field {name} of a fault cannot be {value!r}.")
    try:
        effect, when = Effect(body.get("effect", Effect.ERROR)), When(body.get("when", When.BEFORE))
    except ValueError as error:
        raise bad_request(str(error)) from None
    return Fault(**{**body, "effect": effect, "when": when})


def _alike(value: Any, default: Any) -> bool:
    if isinstance(default, int | float):
        return isinstance(value, int | float)
    return isinstance(value, str)


def list_faults(request: Request) -> Response:
    """List the faults, with the number of calls that each has hit."""
    listed = [asdict(fault) | {"hits": hits} for fault, hits in request.cloud.faults.listed()]
    return Response(200, {"faults": listed})


def add_fault(request: Request) -> Response:
    """Add a fault."""
    return Response(201, asdict(request.cloud.faults.add(_fault_of(request.json))))


def clear_faults(request: Request) -> Response:
    """Remove all faults."""
    request.cloud.faults.clear()
    return Response(204)


def remove_fault(request: Request) -> Response:
    """Remove a fault."""
    if not request.cloud.faults.remove(request.args["id"]):
        raise not_found("There is no such fault.")
    return Response(204)


def list_stuck_servers(request: Request) -> Response:
    """List the servers, and the hosts with servers, whose deletion hangs."""
    return Response(200, request.cloud.compute.servers.stuck.listed())


def add_stuck_servers(request: Request) -> Response:
    """Let the deletion of a server, or of all servers of a host, hang."""
    stuck, body = request.cloud.compute.servers.stuck, request.json
    if "server" in body:
        stuck.add_server(fields.string(body, "server"))
    else:
        stuck.add_host(fields.string(body, "host"))
    return Response(200, stuck.listed())


def remove_stuck_servers(request: Request) -> Response:
    """Let the deletions complete: those that the query names, or all."""
    stuck = request.cloud.compute.servers.stuck
    server, host = request.param("server"), request.param("host")
    if server is not None:
        stuck.remove_server(server)
    if host is not None:
        stuck.remove_host(host)
    if server is None and host is None:
        stuck.clear()
    return Response(204)


def show_journal(request: Request) -> Response:
    """Show the number of calls by kind, for kinds that start with ``prefix``.

    With ``calls=1`` the latest calls are listed as well.
    """
    journal = request.cloud.journal
    answer: Json = {"counts": journal.counts(request.param("prefix") or "")}
    if request.param("calls"):
        answer["calls"] = [asdict(call) for call in journal.calls()]
    return Response(200, answer)


def clear_journal(request: Request) -> Response:
    """Clear the journal."""
    request.cloud.journal.clear()
    return Response(204)


def show_snapshot(request: Request) -> Response:
    """Show every object of the cloud."""
    return Response(200, snapshot(request.cloud))


def change_host(request: Request) -> Response:
    """Let a host's nova-compute stop reporting (``silent``), or report again."""
    hosts = request.cloud.compute.hosts
    host: Host = hosts.host(request.args["name"])
    host = hosts.set_service(host, silent=fields.boolean(request.json, "silent"))
    return Response(200, {"name": host.name, "silent": host.silent, "up": host.is_up})


def change_delays(request: Request) -> Response:
    """Set how many seconds a boot and a deletion take."""
    servers, body = request.cloud.compute.servers, request.json
    wanted = asdict(servers.delays) | body
    if set(wanted) != set(asdict(servers.delays)) or not all(
        isinstance(one, int | float) for one in wanted.values()
    ):
        raise bad_request("The delays are numbers of seconds for boot, delete, shelve, offload and leave.")
    servers.delays = Delays(**wanted)
    return Response(200, asdict(servers.delays))


def change_stacks(request: Request) -> Response:
    """Set how stacks fare: how many seconds their changes take, and why they fail."""
    orchestration, body = request.cloud.orchestration, request.json
    wanted = asdict(orchestration.conduct) | body
    if set(wanted) != set(asdict(orchestration.conduct)) or not all(
        _alike(value, known) for value, known in zip(wanted.values(), asdict(Conduct()).values(), strict=True)
    ):
        raise bad_request("Stacks have seconds, and texts in create_fails and delete_fails.")
    orchestration.conduct = Conduct(**wanted)
    return Response(200, asdict(orchestration.conduct))


def show(request: Request) -> Response:
    """Describe the sandbox."""
    cloud = request.cloud
    return Response(
        200,
        {
            "sandbox": "a small OpenStack in memory",
            "hosts": len(cloud.compute.hosts.table),
            "servers": len(cloud.compute.server_table),
            "identity": f"{request.origin}/v3",
        },
    )


def _local(responder: Responder) -> Responder:
    def heard(request: Request) -> Response:
        caller = request.environ.get("REMOTE_ADDR") or "127.0.0.1"
        if not ipaddress.ip_address(caller).is_loopback:
            raise forbidden("The sandbox is controlled from its own machine only.")
        return responder(request)

    return heard


_LINES = (
    ("GET", "/", show),
    ("GET", "/faults", list_faults),
    ("POST", "/faults", add_fault),
    ("DELETE", "/faults", clear_faults),
    ("DELETE", "/faults/{id}", remove_fault),
    ("GET", "/stuck-servers", list_stuck_servers),
    ("POST", "/stuck-servers", add_stuck_servers),
    ("DELETE", "/stuck-servers", remove_stuck_servers),
    ("GET", "/journal", show_journal),
    ("DELETE", "/journal", clear_journal),
    ("GET", "/snapshot", show_snapshot),
    ("PUT", "/hosts/{name}", change_host),
    ("PUT", "/delays", change_delays),
    ("PUT", "/stacks", change_stacks),
)

ROUTES = [
    Route(method, template, _local(responder), needs_token=False) for method, template, responder in _LINES
]
