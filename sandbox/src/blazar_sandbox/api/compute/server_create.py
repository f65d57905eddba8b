"""Nova's HTTP route that creates servers."""

import uuid
from dataclasses import replace
from typing import Any

from blazar_sandbox import fields
from blazar_sandbox.api.compute.server_render import links
from blazar_sandbox.compute.model import Flavor, ServerGroup
from blazar_sandbox.compute.scheduler import BootRequest
from blazar_sandbox.compute.servers import NewServer
from blazar_sandbox.errors import ApiError, bad_request, conflict, forbidden
from blazar_sandbox.fields import Json
from blazar_sandbox.network.state import PortRequest
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response

_HINTS = ("os:scheduler_hints", "OS-SCH-HNT:scheduler_hints")
NETWORKS_REQUIRED = (2, 37)


def create(request: Request) -> Response:
    """Create one server or several."""
    if not request.caller.has("member", "admin"):
        raise forbidden("Policy doesn't allow os_compute_api:servers:create to be performed.")
    body = fields.json_object(request.json, "server")
    hints = _hints(request.json, body)
    boot = _boot_request(request, body, hints)
    count = fields.integer(
        body, "max_count", default=fields.integer(body, "min_count", default=1, minimum=1), minimum=1
    )
    new = _new_server(request, body, hints)
    _require_ports(request, count * sum(port.port_id is None for port in new.ports))
    servers = request.cloud.compute.servers
    reservation_id = f"r-{uuid.uuid4().hex[:8]}"
    created = []
    for index in range(count):
        one = new if count == 1 else _numbered(new, index)
        created.append(servers.boot(one, boot, index=index, reservation_id=reservation_id))
    first = created[0]
    answer = {
        "id": first.id,
        "links": links(first.id, request),
        "OS-DCF:diskConfig": "MANUAL",
        "security_groups": [{"name": name} for name in first.security_groups],
        "adminPass": uuid.uuid4().hex[:12],
    }
    if fields.boolean(body, "return_reservation_id"):
        return Response(202, {"reservation_id": reservation_id})
    headers = (("Location", f"{request.origin}/compute/v2.1/servers/{first.id}"),)
    return Response(202, {"server": answer}, headers)


def _require_ports(request: Request, count: int) -> None:
    """Refuse what needs more ports than the project may have, as Nova does before it boots."""
    if count and not request.cloud.network.has_room(request.caller.project_id, count):
        raise forbidden("Maximum number of ports exceeded")


def _numbered(new: NewServer, index: int) -> NewServer:
    return replace(new, name=f"{new.name}-{index + 1}")


def _hints(outer: Json, server: Json) -> dict[str, tuple[str, ...]]:
    """Parse scheduler hints, which stand beside the server object or in it.

    A hint is a string or a list of strings.
    """
    found: dict[str, tuple[str, ...]] = {}
    for source in (outer, server):
        for name in _HINTS:
            hints = source.get(name) or {}
            if not isinstance(hints, dict):
                raise bad_request(f"Invalid input for field/attribute {name}. Value: {hints}.")
            for key, value in hints.items():
                values = value if isinstance(value, list) else [value]
                found[key] = tuple(str(item) for item in values)
    return found


def _boot_request(request: Request, body: Json, hints: dict[str, tuple[str, ...]]) -> BootRequest:
    zone, forced = _zone(request, body)
    return BootRequest(
        project_id=request.caller.project_id,
        flavor=_flavor(request, body),
        zone=zone,
        hints=hints,
        group=_group(request, hints),
        forced_host=forced,
        wanted_host=_wanted_host(request, body),
    )


def _flavor(request: Request, body: Json) -> Flavor:
    ref = body.get("flavorRef")
    if not isinstance(ref, str | int) or not str(ref):
        raise bad_request("Invalid input for field/attribute flavorRef. A flavor is required.")
    try:
        return request.cloud.compute.flavors.flavor(str(ref).rsplit("/", 1)[-1], request.caller)
    except ApiError:
        raise bad_request(f"Flavor {ref} could not be found.") from None


def _zone(request: Request, body: Json) -> tuple[str | None, str | None]:
    """Parse ``zone``, or an administrator's ``zone:host``."""
    text = fields.string_or_none(body, "availability_zone")
    if not text:
        return None, None
    zone, _, rest = text.partition(":")
    host = rest.split(":")[0]
    if host:
        request.caller.must_be_admin("os_compute_api:servers:create:forced_host")
        if host not in request.cloud.compute.hosts.table:
            raise bad_request(f"Compute host {host} could not be found.")
    if zone and not request.cloud.compute.has_zone(zone):
        raise bad_request("The requested availability zone is not available")
    return zone or None, host or None


def _wanted_host(request: Request, body: Json) -> str | None:
    if request.version < (2, 74):
        return None
    host = fields.string_or_none(body, "host") or fields.string_or_none(body, "hypervisor_hostname")
    if host is not None:
        request.caller.must_be_admin("compute:servers:create:requested_destination")
        if host not in request.cloud.compute.hosts.table:
            raise bad_request(f"Compute host {host} could not be found.")
    return host


def _group(request: Request, hints: dict[str, tuple[str, ...]]) -> ServerGroup | None:
    ids = hints.get("group")
    if not ids:
        return None
    group = request.cloud.compute.groups.get(ids[0])
    if group is None or group.project_id != request.caller.project_id:
        raise bad_request(f"Instance group {ids[0]} could not be found.")
    return group


def _new_server(request: Request, body: Json, hints: dict[str, tuple[str, ...]]) -> NewServer:
    drive = body.get("config_drive")
    return NewServer(
        name=fields.string(body, "name").strip(),
        user_id=request.caller.user.id,
        image_id=_image(request, body),
        ports=_ports(request, body),
        metadata=fields.string_map(body, "metadata"),
        tags=tuple(fields.string_list(body, "tags")),
        key_name=_key(request, body),
        description=fields.string_or_none(body, "description"),
        user_data=fields.string_or_none(body, "user_data"),
        config_drive="True"
        if drive not in (None, "") and fields.parse_boolean(drive, "config_drive")
        else "",
        security_groups=_security_groups(body),
        hints={key: list(values) for key, values in hints.items()},
    )


def _key(request: Request, body: Json) -> str | None:
    name = fields.string_or_none(body, "key_name")
    if name is not None and f"{request.caller.user.id}/{name}" not in request.cloud.compute.keypairs:
        raise bad_request("Invalid key_name provided.")
    return name


def _security_groups(body: Json) -> tuple[str, ...]:
    groups = body.get("security_groups") or []
    names = [str(group["name"]) for group in groups if isinstance(group, dict) and "name" in group]
    return tuple(names) or ("default",)


def _image(request: Request, body: Json) -> str:
    ref = body.get("imageRef") or ""
    if not isinstance(ref, str):
        raise bad_request("Invalid input for field/attribute imageRef.")
    image_id = ref.rsplit("/", 1)[-1]
    if not image_id:
        if not body.get("block_device_mapping_v2"):
            raise bad_request(
                "Invalid image identifier or unable to use requested image: neither imageRef nor a "
                "block device is given."
            )
        return ""
    try:
        image = request.cloud.images.image(image_id, request.caller)
    except ApiError:
        raise bad_request(f"Image {image_id} could not be found.") from None
    if image.status != "active":
        raise bad_request(f"Image {image_id} is not active.")
    return image_id


def _ports(request: Request, body: Json) -> tuple[PortRequest, ...]:
    """Parse ``networks``, which is none, auto or a list, and required from 2.37 on."""
    wanted: Any = body.get("networks")
    if wanted is None and request.version >= NETWORKS_REQUIRED:
        raise bad_request("Invalid input for field/attribute server. 'networks' is a required property")
    if wanted == "none":
        return ()
    if wanted in (None, "auto"):
        return _automatic(request, must=wanted == "auto")
    if not isinstance(wanted, list):
        raise bad_request(f"Invalid input for field/attribute networks. Value: {wanted}.")
    return tuple(_port(request, item) for item in wanted)


def _automatic(request: Request, *, must: bool) -> tuple[PortRequest, ...]:
    """Return a port request for the project's only network, or for the only shared one."""
    project_id = request.caller.project_id
    nets = [net for net in request.cloud.network.networks if not net.external]
    own = [net for net in nets if net.project_id == project_id and not net.shared]
    usable = own or [net for net in nets if net.shared]
    if len(usable) > 1:
        raise conflict("Multiple possible networks found, use a Network ID to be more specific.")
    if not usable and must:
        raise bad_request("Unable to automatically allocate a network for project.")
    return tuple(PortRequest(net.id) for net in usable)


def _port(request: Request, item: Any) -> PortRequest:
    if not isinstance(item, dict):
        raise bad_request("Invalid input for field/attribute networks. It must hold objects.")
    network = request.cloud.network
    port_id = fields.string_or_none(item, "port")
    if port_id is not None:
        port = network.ports.get(port_id)
        if port is None:
            raise bad_request(f"Port id {port_id} could not be found.")
        if port.device_id:
            raise conflict(f"Port {port_id} is still in use.")
        return PortRequest(port_id=port_id)
    net = network.networks.get(fields.string(item, "uuid"))
    if net is None or not (net.shared or net.external or request.caller.owns(net.project_id)):
        raise bad_request(f"Network {item.get('uuid')} could not be found.")
    if net.external and not request.caller.is_admin:
        raise forbidden(f"It is not allowed to create an interface on external network {net.id}")
    return PortRequest(net.id, fixed_ip=fields.string_or_none(item, "fixed_ip"))
