"""Nova's HTTP route of server actions."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from blazar_sandbox import fields
from blazar_sandbox.api.compute.server_images import (
    SHELVED,
    forget_shelved_images,
    keep_shelved_image,
    put_image,
    snapshot_of,
)
from blazar_sandbox.api.compute.servers import found, must_be_unlocked
from blazar_sandbox.compute.model import Pending, Server, Status
from blazar_sandbox.compute.scheduler import BootRequest
from blazar_sandbox.errors import bad_request, conflict, forbidden
from blazar_sandbox.fields import Json
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response

Action = Callable[[Request, Server, Any], Response]


def act(request: Request) -> Response:
    """Run the one action that the body names."""
    if not request.caller.has("member", "admin"):
        raise forbidden("Policy doesn't allow os_compute_api:servers to be performed.")
    body = request.json
    name = next(iter(body), "")
    action = ACTIONS.get(name)
    if action is None or len(body) != 1:
        raise bad_request(f"There is no such action: {name}")
    return action(request, found(request), body[name])


def _must_be(row: Server, verb: str, *allowed: Status) -> None:
    if row.status not in allowed or row.pending is Pending.DELETED:
        raise conflict(
            f"Cannot '{verb}' instance {row.id} while it is in vm_state {row.status.value.lower()}"
        )


def _to(status: Status, verb: str, *allowed: Status) -> Action:
    def settle(request: Request, row: Server, _detail: Any) -> Response:
        must_be_unlocked(request, row)
        _must_be(row, verb, *allowed)
        request.cloud.compute.servers.set_status(row, status)
        return Response(202)

    return settle


def _lock(locked: bool) -> Action:
    def change(request: Request, row: Server, _detail: Any) -> Response:
        request.cloud.compute.servers.change(replace(row, locked=locked))
        return Response(202)

    return change


def _force_delete(request: Request, row: Server, _detail: Any) -> Response:
    must_be_unlocked(request, row)
    request.cloud.compute.servers.delete(row)
    return Response(204)


def _reset_state(request: Request, row: Server, detail: Any) -> Response:
    request.caller.must_be_admin("os_compute_api:os-admin-actions:reset_state")
    state = detail.get("state") if isinstance(detail, dict) else None
    if state not in ("active", "error"):
        raise bad_request(f"Invalid input for field/attribute state. Value: {state}.")
    request.cloud.compute.servers.set_status(row, Status.ACTIVE if state == "active" else Status.ERROR)
    return Response(202)


def _create_image(request: Request, row: Server, detail: Any) -> Response:
    """Create an image of a server in the project of who asks, which need not be the server's."""
    _must_be(row, "createImage", Status.ACTIVE, Status.SHUTOFF, Status.PAUSED, Status.SUSPENDED)
    body: Json = detail if isinstance(detail, dict) else {}
    properties = {
        **snapshot_of(request, row),
        **fields.string_map(body, "metadata"),
    }
    image_id = put_image(request, row, fields.string(body, "name"), request.caller.project_id, properties)
    headers = (("Location", f"{request.origin}/image/v2/images/{image_id}"),)
    return Response(202, {"image_id": image_id} if request.version >= (2, 45) else None, headers)


def _console_output(_request: Request, _row: Server, _detail: Any) -> Response:
    return Response(200, {"output": "The sandbox has no consoles.\n"})


_RUNNING = (Status.ACTIVE, Status.ERROR)
_TO_SHELVE = (Status.ACTIVE, Status.SHUTOFF, Status.PAUSED, Status.SUSPENDED)


def _must_be_idle(row: Server, verb: str, *allowed: Status) -> None:
    _must_be(row, verb, *allowed)
    if row.task_state is not None:
        raise conflict(f"Cannot '{verb}' instance {row.id} while it is in task_state {row.task_state}")


def _shelve(request: Request, row: Server, _detail: Any) -> Response:
    must_be_unlocked(request, row)
    _must_be_idle(row, "shelve", *_TO_SHELVE)
    request.cloud.compute.servers.shelve(row)
    if row.image_id:
        keep_shelved_image(request, row)
    return Response(202)


def _offload(request: Request, row: Server, _detail: Any) -> Response:
    request.caller.must_be_admin("os_compute_api:os-shelve:shelve_offload")
    _must_be_idle(row, "shelveOffload", Status.SHELVED)
    request.cloud.compute.servers.offload(row)
    return Response(202)


def _unshelve(request: Request, row: Server, detail: Any) -> Response:
    """Unshelve a server: from 2.77 on in a zone, from 2.91 on onto a host, both once it is offloaded."""
    body: Json = detail if isinstance(detail, dict) else {}
    known = {"availability_zone"} if request.version >= (2, 77) else set()
    known |= {"host"} if request.version >= (2, 91) else set()
    is_older = request.version < (2, 77)
    if (not is_older and set(body) - known) or (request.version < (2, 91) and body.get("host") is not None):
        raise bad_request(
            "Invalid input for field/attribute unshelve. Additional properties are not allowed."
        )
    if is_older:
        body = {}
    must_be_unlocked(request, row)
    _must_be_idle(row, "unshelve", *SHELVED)
    host = fields.string_or_none(body, "host")
    if host is not None:
        request.caller.must_be_admin("os_compute_api:os-shelve:unshelve_to_host")
    if body and row.status is not Status.SHELVED_OFFLOADED:
        raise conflict(f"Cannot 'unshelve' instance {row.id} while it is in vm_state shelved")
    zone = (
        fields.string_or_none(body, "availability_zone") if "availability_zone" in body else row.pinned_zone
    )
    _check_place(request, zone, host)
    servers = request.cloud.compute
    group = servers.groups.get(row.group_id) if row.group_id is not None else None
    boot = BootRequest(
        row.project_id,
        row.flavor,
        zone=zone,
        hints={name: tuple(values) for name, values in row.hints.items()},
        group=group,
        wanted_host=host,
        server_id=row.id,
    )
    servers.servers.unshelve(row, boot)
    forget_shelved_images(request, row)
    return Response(202)


def _migrate_live(request: Request, row: Server, detail: Any) -> Response:
    """Move a server while it runs. Since 2.34 the host is chosen after the answer, so that it may stay."""
    request.caller.must_be_admin("os_compute_api:os-migrate-server:migrate_live")
    body: Json = detail if isinstance(detail, dict) else {}
    if request.version < (2, 34) or set(body) != {"host", "block_migration"} or body["host"] is not None:
        raise bad_request("The sandbox knows os-migrateLive without a host, since 2.34.")
    _must_be_idle(row, "os-migrateLive", Status.ACTIVE, Status.PAUSED)
    servers = request.cloud.compute
    boot = BootRequest(
        row.project_id,
        row.flavor,
        zone=row.pinned_zone,
        hints={name: tuple(values) for name, values in row.hints.items()},
        group=servers.groups.get(row.group_id) if row.group_id is not None else None,
        server_id=row.id,
        left_host=row.host,
    )
    servers.servers.migrate(row, boot)
    return Response(202)


def _check_place(request: Request, zone: str | None, host: str | None) -> None:
    compute = request.cloud.compute
    if zone is not None and not compute.has_zone(zone):
        raise bad_request(f"The requested availability zone is not available: {zone}")
    if host is None:
        return
    known = compute.hosts.table.get(host)
    if known is None:
        raise bad_request(f"Compute host {host} could not be found.")
    if zone is not None and compute.zone_of(known) != zone:
        raise conflict(f'Host "{host}" is not in the availability zone "{zone}".')


ACTIONS: dict[str, Action] = {
    "createImage": _create_image,
    "os-stop": _to(Status.SHUTOFF, "stop", *_RUNNING),
    "os-start": _to(Status.ACTIVE, "start", Status.SHUTOFF),
    "reboot": _to(Status.ACTIVE, "reboot", Status.ACTIVE, Status.SHUTOFF, Status.ERROR, Status.PAUSED),
    "pause": _to(Status.PAUSED, "pause", Status.ACTIVE),
    "unpause": _to(Status.ACTIVE, "unpause", Status.PAUSED),
    "suspend": _to(Status.SUSPENDED, "suspend", Status.ACTIVE),
    "resume": _to(Status.ACTIVE, "resume", Status.SUSPENDED),
    "shelve": _shelve,
    "shelveOffload": _offload,
    "unshelve": _unshelve,
    "os-migrateLive": _migrate_live,
    "lock": _lock(True),
    "unlock": _lock(False),
    "forceDelete": _force_delete,
    "os-resetState": _reset_state,
    "os-getConsoleOutput": _console_output,
}
