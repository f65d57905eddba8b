"""Nova's HTTP routes of services and availability zones."""

from datetime import datetime

from blazar_sandbox import fields
from blazar_sandbox.api.compute.hypervisors import UUIDS
from blazar_sandbox.compute.model import INTERNAL_ZONE, Host
from blazar_sandbox.errors import bad_request, not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.identity.model import stable_uuid
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response

_CONTROLLERS = ("nova-conductor", "nova-scheduler")
_COMPUTE = "nova-compute"


def moment(when: datetime | None) -> str | None:
    """Return a time in Nova's format for services and aggregates."""
    return None if when is None else when.strftime("%Y-%m-%dT%H:%M:%S.%f")


def _controller(binary: str, request: Request) -> Json:
    at = 1 + _CONTROLLERS.index(binary)
    body: Json = {
        "id": stable_uuid("service", binary) if request.version >= UUIDS else 1_000_000 + at,
        "binary": binary,
        "host": "controller",
        "zone": INTERNAL_ZONE,
        "status": "enabled",
        "state": "up",
        "updated_at": moment(request.cloud.clock.now()),
        "disabled_reason": None,
    }
    return body | ({"forced_down": False} if request.version >= (2, 11) else {})


def _compute(host: Host, request: Request) -> Json:
    body: Json = {
        "id": host.service_uuid if request.version >= UUIDS else host.id,
        "binary": _COMPUTE,
        "host": host.name,
        "zone": request.cloud.compute.zone_of(host),
        "status": "disabled" if host.disabled else "enabled",
        "state": "up" if host.is_up else "down",
        "updated_at": moment(host.updated_at or request.cloud.clock.now()),
        "disabled_reason": host.disabled_reason,
    }
    return body | ({"forced_down": host.forced_down} if request.version >= (2, 11) else {})


def index(request: Request) -> Response:
    """List services."""
    request.caller.must_be_admin("os_compute_api:os-services:list")
    binary, name = request.param("binary"), request.param("host")
    bodies: list[Json] = []
    for one in _CONTROLLERS:
        if binary in (None, one) and name in (None, "controller"):
            bodies.append(_controller(one, request))
    if binary in (None, _COMPUTE):
        hosts = request.cloud.compute.hosts.table
        found = list(hosts) if name is None else [host for host in (hosts.get(name),) if host is not None]
        bodies += [_compute(host, request) for host in found]
    return Response(200, {"services": bodies})


def update(request: Request) -> Response:
    """Change a service, named by its UUID or before 2.53 by host and a verb in the path."""
    request.caller.must_be_admin("os_compute_api:os-services:update")
    if request.version >= UUIDS:
        return _update_by_uuid(request)
    return _update_by_verb(request)


def _update_by_uuid(request: Request) -> Response:
    hosts, body = request.cloud.compute.hosts, request.json
    host = hosts.by_service.first(request.args["id"])
    if host is None:
        raise not_found(f"Service {request.args['id']} could not be found.")
    status, reason = body.get("status"), fields.string_or_none(body, "disabled_reason")
    if status not in (None, "enabled", "disabled"):
        raise bad_request(f"Invalid input for field/attribute status. Value: {status}.")
    if reason is not None and status != "disabled":
        raise bad_request("Specifying disabled_reason requires that status is disabled.")
    forced_down = fields.boolean(body, "forced_down") if "forced_down" in body else None
    disabled = None if status is None else status == "disabled"
    host = hosts.set_service(host, disabled=disabled, reason=reason, forced_down=forced_down)
    return Response(200, {"service": _compute(host, request)})


def _update_by_verb(request: Request) -> Response:
    hosts, body, verb = request.cloud.compute.hosts, request.json, request.args["id"]
    host = hosts.table.get(fields.string(body, "host"))
    if host is None or body.get("binary") != _COMPUTE:
        raise not_found(f"Could not find binary {body.get('binary')} on host {body.get('host')}.")
    answer: Json = {"host": host.name, "binary": _COMPUTE}
    if verb == "enable":
        host = hosts.set_service(host, disabled=False)
        answer["status"] = "enabled"
    elif verb in ("disable", "disable-log-reason"):
        reason = fields.string(body, "disabled_reason") if verb != "disable" else None
        host = hosts.set_service(host, disabled=True, reason=reason)
        answer |= {"status": "disabled"} | ({"disabled_reason": reason} if reason else {})
    elif verb == "force-down" and request.version >= (2, 11):
        host = hosts.set_service(host, forced_down=fields.boolean(body, "forced_down"))
        answer["forced_down"] = host.forced_down
    else:
        raise not_found("Unknown action")
    return Response(200, {"service": answer})


def zones(request: Request) -> Response:
    """List availability zones."""
    bodies = [_zone(name, hosts, None) for name, hosts in request.cloud.compute.zones().items()]
    return Response(200, {"availabilityZoneInfo": bodies})


def zones_detail(request: Request) -> Response:
    """List availability zones with their hosts and services."""
    request.caller.must_be_admin("os_compute_api:os-availability-zone:detail")
    now = moment(request.cloud.clock.now())
    controllers = {
        "controller": {one: {"active": True, "available": True, "updated_at": now} for one in _CONTROLLERS}
    }
    bodies = [{"zoneName": INTERNAL_ZONE, "zoneState": {"available": True}, "hosts": controllers}]
    bodies += [_zone(name, hosts, now) for name, hosts in request.cloud.compute.zones().items()]
    return Response(200, {"availabilityZoneInfo": bodies})


def _zone(name: str, hosts: list[Host], now: str | None) -> Json:
    available = any(not host.disabled for host in hosts)
    if now is None:
        return {"zoneName": name, "zoneState": {"available": available}, "hosts": None}
    listed = {
        host.name: {_COMPUTE: {"active": not host.disabled, "available": host.is_up, "updated_at": now}}
        for host in hosts
    }
    return {"zoneName": name, "zoneState": {"available": available}, "hosts": listed}
