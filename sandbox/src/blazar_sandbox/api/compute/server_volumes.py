"""Nova's HTTP routes of the volumes that servers have."""

from blazar_sandbox import fields
from blazar_sandbox.api.compute.servers import found, must_be_unlocked
from blazar_sandbox.compute.model import Pending, Server, Status
from blazar_sandbox.errors import conflict, forbidden, not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.volume.state import Volume
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response

_RUNNING = {Status.ACTIVE, Status.PAUSED, Status.SHUTOFF, Status.SUSPENDED}
_SHELVED = {Status.SHELVED, Status.SHELVED_OFFLOADED}


def _render(row: Volume, server: Server, request: Request) -> Json:
    body: Json = {
        "device": "/dev/vdb",
        "serverId": server.id,
        "volumeId": row.id,
    }
    if request.version < (2, 89):
        body["id"] = row.id
    else:
        attachment = next(each for each in row.attachments if each.server_id == server.id)
        body |= {"attachment_id": attachment.id, "bdm_uuid": attachment.id}
    newer = (((2, 70), "tag", None), ((2, 79), "delete_on_termination", False))
    return body | {name: value for since, name, value in newer if request.version >= since}


def index(request: Request) -> Response:
    """List the volumes that a server has."""
    server = found(request)
    rows = request.cloud.volumes.of_server.rows(server.id)
    return Response(200, {"volumeAttachments": [_render(row, server, request) for row in rows]})


def show(request: Request) -> Response:
    """Show a volume that a server has."""
    server = found(request)
    return Response(200, {"volumeAttachment": _render(_attached(request, server), server, request)})


def attach(request: Request) -> Response:
    """Let a server have a volume, which it has at once."""
    server = _changeable(request, "attach_volume")
    wanted = fields.string(fields.json_object(request.json, "volumeAttachment"), "volumeId")
    volumes = request.cloud.volumes
    row = volumes.attach(volumes.volume(wanted, request.caller), server.id)
    return Response(200, {"volumeAttachment": _render(row, server, request)})


def detach(request: Request) -> Response:
    """Take a volume from a server, which has it no longer at once."""
    server = _changeable(request, "detach_volume")
    request.cloud.volumes.detach(_attached(request, server), server.id)
    return Response(202)


def _attached(request: Request, server: Server) -> Volume:
    volume_id = request.args["volume_id"]
    rows = request.cloud.volumes.of_server.rows(server.id)
    row = next((each for each in rows if each.id == volume_id), None)
    if row is None:
        raise not_found(f"volume_id not found: {volume_id}")
    return row


def _changeable(request: Request, verb: str) -> Server:
    """Return a server whose volumes may be changed. Those that are shelved may since 2.20."""
    if not request.caller.has("member", "admin"):
        raise forbidden("Policy doesn't allow os_compute_api:os-volumes-attachments to be performed.")
    server = found(request)
    must_be_unlocked(request, server)
    allowed = _RUNNING | _SHELVED if request.version >= (2, 20) else _RUNNING
    if server.status not in allowed or server.pending is Pending.DELETED:
        raise conflict(
            f"Cannot '{verb}' instance {server.id} while it is in vm_state {server.status.value.lower()}"
        )
    return server
