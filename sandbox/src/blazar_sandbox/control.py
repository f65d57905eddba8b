"""How is the sandbox itself looked at and disturbed over HTTP?

Only callers on this machine are heard, and they need no token. What can be done here can be done from Python with
``cloud.faults``, ``cloud.journal``, ``cloud.compute.servers.holds`` and ``blazar_sandbox.snapshot``.
"""

import ipaddress
from dataclasses import MISSING, asdict
from dataclasses import fields as fields_of
from typing import Any

from blazar_sandbox.compute.model import Host
from blazar_sandbox.compute.servers import Delays
from blazar_sandbox.errors import bad_request, forbidden, not_found
from blazar_sandbox.faults import Effect, Fault, When
from blazar_sandbox.snapshot import snapshot
from blazar_sandbox.wsgi import fields
from blazar_sandbox.wsgi.message import Json, Request, Response
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
    """List the faults that are set, with the number of their strikes."""
    listed = [asdict(fault) | {"struck": struck} for fault, struck in request.cloud.faults.listed()]
    return Response(200, {"faults": listed})


def add_fault(request: Request) -> Response:
    """Set a fault."""
    return Response(201, asdict(request.cloud.faults.add(_fault_of(request.json))))


def clear_faults(request: Request) -> Response:
    """End all faults."""
    request.cloud.faults.clear()
    return Response(204)


def remove_fault(request: Request) -> Response:
    """End a fault."""
    if not request.cloud.faults.remove(request.args["id"]):
        raise not_found("There is no such fault.")
    return Response(204)


def list_holds(request: Request) -> Response:
    """List the servers and hosts whose servers do not go away."""
    return Response(200, request.cloud.compute.servers.holds.listed())


def add_hold(request: Request) -> Response:
    """Keep a server, or the servers of a host, from going away."""
    holds, body = request.cloud.compute.servers.holds, request.json
    if "server" in body:
        holds.hold_server(fields.text(body, "server"))
    else:
        holds.hold_host(fields.text(body, "host"))
    return Response(200, holds.listed())


def release_holds(request: Request) -> Response:
    """Let go: everything, or what the query names."""
    holds = request.cloud.compute.servers.holds
    server, host = request.param("server"), request.param("host")
    if server is not None:
        holds.release_server(server)
    if host is not None:
        holds.release_host(host)
    if server is None and host is None:
        holds.release()
    return Response(204)


def show_journal(request: Request) -> Response:
    """Show how often which calls came, of kinds that start with ``prefix``; with ``calls=1`` also one by one."""
    journal = request.cloud.journal
    answer: Json = {"counts": journal.counts(request.param("prefix") or "")}
    if request.param("calls"):
        answer["calls"] = [asdict(call) for call in journal.calls()]
    return Response(200, answer)


def clear_journal(request: Request) -> Response:
    """Start counting anew."""
    request.cloud.journal.clear()
    return Response(204)


def show_snapshot(request: Request) -> Response:
    """Show every object of the cloud."""
    return Response(200, snapshot(request.cloud))


def change_host(request: Request) -> Response:
    """Let a host's nova-compute stop reporting (``silent``), or report again."""
    hosts = request.cloud.compute.hosts
    host: Host = hosts.host(request.args["name"])
    host = hosts.set_service(host, silent=fields.flag(request.json, "silent"))
    return Response(200, {"name": host.name, "silent": host.silent, "up": host.is_up})


def change_delays(request: Request) -> Response:
    """Set how many seconds a boot and a deletion take."""
    servers, body = request.cloud.compute.servers, request.json
    wanted = asdict(servers.delays) | body
    if set(wanted) != set(asdict(servers.delays)) or not all(isinstance(one, int | float) for one in wanted.values()):
        raise bad_request("The delays are numbers of seconds for boot and delete.")
    servers.delays = Delays(**wanted)
    return Response(200, asdict(servers.delays))


def show(request: Request) -> Response:
    """Tell what this is."""
    cloud = request.cloud
    return Response(
        200,
        {
            "sandbox": "a small OpenStack in memory",
            "hosts": len(cloud.compute.hosts.table),
            "servers": len(cloud.compute.rows.table),
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
    ("GET", "/holds", list_holds),
    ("POST", "/holds", add_hold),
    ("DELETE", "/holds", release_holds),
    ("GET", "/journal", show_journal),
    ("DELETE", "/journal", clear_journal),
    ("GET", "/snapshot", show_snapshot),
    ("PUT", "/hosts/{name}", change_host),
    ("PUT", "/delays", change_delays),
)

ROUTES = [Route(method, template, _local(responder), needs_token=False) for method, template, responder in _LINES]
