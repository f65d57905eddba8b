"""Nova's HTTP routes of servers."""

import re
from dataclasses import replace
from datetime import UTC, datetime

from blazar_sandbox import fields
from blazar_sandbox.api.compute.paging import page
from blazar_sandbox.api.compute.server_images import forget_shelved_images
from blazar_sandbox.api.compute.server_render import addresses, detail, summary
from blazar_sandbox.compute.model import Server, Status
from blazar_sandbox.errors import ApiError, bad_request, conflict, forbidden, not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response

MOST_TAGS = 50
DESCRIBABLE = (Status.ACTIVE, Status.PAUSED, Status.SUSPENDED, Status.SHUTOFF)


def found(request: Request) -> Server:
    """Return the server of the path, if the caller may see it."""
    row = request.cloud.compute.server_table.get(request.args["id"])
    if row is None or not request.caller.owns(row.project_id):
        raise not_found(f"Instance {request.args['id']} could not be found.")
    return row


def must_be_unlocked(request: Request, row: Server) -> None:
    """Refuse to change a locked server for all but administrators."""
    if row.locked and not request.caller.is_admin:
        raise conflict(f"Instance {row.id} is locked")


def _selected(request: Request) -> list[Server]:
    """Return the servers that pass the filters, newest first. The narrowest index comes first. As Nova, it
    fails to sort new servers by the time of a change, which they have none of."""
    rows = [row for row in _candidates(request) if _wanted(row, request)]
    rows.sort(key=lambda row: (row.created, row.id), reverse=True)
    key, direction = request.param("sort_key"), request.param("sort_dir") or "desc"
    names = {"created_at": "created", "updated_at": "updated", "display_name": "name", "uuid": "id"}
    if key == "updated_at" and sum(row.status is Status.BUILD for row in rows) > 1:
        raise ApiError(500, "'<' not supported between instances of 'NoneType' and 'NoneType'")
    if key in names:
        rows.sort(key=lambda row: getattr(row, names[key]), reverse=direction == "desc")
    return rows


def _candidates(request: Request) -> list[Server]:
    """Return the servers that are there, those that are deleted, or both: these where it is asked what has
    changed."""
    asked = request.param("deleted") if request.caller.is_admin else None
    is_deleted = asked is not None and fields.parse_boolean(asked, "deleted")
    there = [] if is_deleted else _scanned(request)
    if is_deleted or (asked is None and request.param("changes-since") is not None):
        is_shown = _all_tenants(request)
        deleted = request.cloud.compute.servers.deleted
        there += [row for row in deleted if is_shown or row.project_id == request.caller.project_id]
    return there


def _scanned(request: Request) -> list[Server]:
    caller, rows = request.caller, request.cloud.compute.server_table
    all_tenants = _all_tenants(request)
    host, flavor = request.param("host"), request.param("flavor")
    if caller.is_admin and host is not None:
        scanned = rows.on_host.rows(host)
    elif flavor is not None:
        scanned = rows.of_flavor.rows(flavor)
    elif all_tenants:
        scanned = list(rows)
    else:
        return rows.of_project.rows(caller.project_id)
    return scanned if all_tenants else [row for row in scanned if row.project_id == caller.project_id]


def _all_tenants(request: Request) -> bool:
    value = request.param("all_tenants")
    if value is None:
        return False
    wanted = value == "" or fields.parse_boolean(value, "all_tenants")
    if wanted and not request.caller.is_admin:
        raise forbidden("Policy doesn't allow os_compute_api:servers:index:get_all_tenants to be performed.")
    return wanted


def _wanted(row: Server, request: Request) -> bool:
    """Return whether a server passes the filters; some of them work for administrators only."""
    ask = request.param
    name, status, since = ask("name"), request.query.get("status"), ask("changes-since")
    tagged = ask("tags") if request.version >= (2, 26) else None
    exact = {"image": row.image_id, "uuid": row.id, "flavor": row.flavor.id, "key_name": row.key_name}
    if request.caller.is_admin:
        exact |= {
            "host": row.host,
            "node": row.host,
            "user_id": row.user_id,
            "reservation_id": row.reservation_id,
        }
        project = ask("project_id") or ask("tenant_id")
        if project not in (None, row.project_id):
            return False
    return (
        all(ask(key) in (None, value) for key, value in exact.items())
        and (name is None or _matches(name, row.name))
        and (status is None or row.status.value in {one.upper() for one in status})
        and (since is None or row.updated >= _instant(since))
        and (tagged is None or set(tagged.split(",")) <= set(row.tags))
    )


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name, re.IGNORECASE) is not None
    except re.error:
        raise bad_request("Invalid regex in query filter.") from None


def _instant(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise bad_request(f"Invalid input for query parameters changes-since. Value: {text}.") from None
    return instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)


def _listed(request: Request, *, full: bool) -> Response:
    rows, links = page(
        request, _selected(request), lambda row: (row.id,), "servers" + ("/detail" if full else "")
    )
    answer: Json = {"servers": [detail(row, request) if full else summary(row, request) for row in rows]}
    if links:
        answer["servers_links"] = links
    return Response(200, answer)


def index(request: Request) -> Response:
    """List servers."""
    return _listed(request, full=False)


def index_detail(request: Request) -> Response:
    """List servers in full."""
    return _listed(request, full=True)


def show(request: Request) -> Response:
    """Show a server."""
    return Response(200, {"server": detail(found(request), request, alone=True)})


def update(request: Request) -> Response:
    """Change the name or the description of a server."""
    row, body = _changeable(request), fields.json_object(request.json, "server")
    if "name" in body:
        row = replace(row, name=fields.string(body, "name").strip())
    if "description" in body:
        row = replace(row, description=fields.string_or_none(body, "description"))
    row = request.cloud.compute.servers.change(row)
    return Response(200, {"server": detail(row, request)})


def _changeable(request: Request) -> Server:
    if not request.caller.has("member", "admin"):
        raise forbidden("Policy doesn't allow os_compute_api:servers:update to be performed.")
    return found(request)


def delete(request: Request) -> Response:
    """Delete a server."""
    row = _changeable(request)
    must_be_unlocked(request, row)
    request.cloud.compute.servers.delete(row)
    forget_shelved_images(request, row)
    return Response(204)


def show_addresses(request: Request) -> Response:
    """List the addresses of a server."""
    return Response(200, {"addresses": addresses(found(request), request)})


def metadata(request: Request) -> Response:
    """List the metadata of a server."""
    return Response(200, {"metadata": dict(found(request).metadata)})


def add_metadata(request: Request) -> Response:
    """Add metadata to a server (POST), or replace all of its metadata (PUT)."""
    row, wanted = _described(request), fields.string_map(request.json, "metadata")
    kept = row.metadata if request.method == "POST" else {}
    row = request.cloud.compute.servers.change(replace(row, metadata={**kept, **wanted}))
    return Response(200, {"metadata": dict(row.metadata)})


def delete_metadata(request: Request) -> Response:
    """Remove one metadata key."""
    row, key = _described(request), request.args["key"]
    if key not in row.metadata:
        raise not_found("Metadata item was not found")
    kept = {name: value for name, value in row.metadata.items() if name != key}
    request.cloud.compute.servers.change(replace(row, metadata=kept))
    return Response(204)


def tags(request: Request) -> Response:
    """List the tags of a server."""
    _must_have_tags(request)
    return Response(200, {"tags": list(found(request).tags)})


def add_tag(request: Request) -> Response:
    """Give a server a tag."""
    row, tag = _taggable(request), request.args["tag"]
    if tag in row.tags:
        return Response(204)
    if len(row.tags) >= MOST_TAGS:
        raise bad_request(f"The number of tags exceeded the per-server limit {MOST_TAGS}")
    request.cloud.compute.servers.change(replace(row, tags=(*row.tags, tag)))
    return Response(201)


def delete_tag(request: Request) -> Response:
    """Take a tag from a server."""
    row, tag = _taggable(request), request.args["tag"]
    if tag not in row.tags:
        raise not_found(f"Instance {row.id} has no tag '{tag}'")
    request.cloud.compute.servers.change(replace(row, tags=tuple(each for each in row.tags if each != tag)))
    return Response(204)


def _must_have_tags(request: Request) -> None:
    if request.version < (2, 26):
        raise not_found("The resource could not be found.")


def _taggable(request: Request) -> Server:
    _must_have_tags(request)
    return _described(request)


def _described(request: Request) -> Server:
    """Return a server whose metadata and tags may be changed. As in Nova, not while it is shelved."""
    row = _changeable(request)
    if row.status not in DESCRIBABLE:
        raise conflict(f"Cannot change what describes instance {row.id} while it is in {row.status.value}")
    return row


def interfaces(request: Request) -> Response:
    """List the ports of a server."""
    ports = request.cloud.network.ports_of_device.rows(found(request).id)
    bodies = [
        {
            "port_id": port.id,
            "net_id": port.network_id,
            "mac_addr": port.mac_address,
            "port_state": "ACTIVE",
            "fixed_ips": [{"subnet_id": ip.subnet_id, "ip_address": ip.ip_address} for ip in port.fixed_ips],
        }
        for port in ports
    ]
    return Response(200, {"interfaceAttachments": bodies})


def security_groups(request: Request) -> Response:
    """List the security groups of a server."""
    row = found(request)
    group = request.cloud.network.default_group(row.project_id)
    body = {
        "id": group.id,
        "name": group.name,
        "description": group.description,
        "tenant_id": row.project_id,
        "rules": [],
    }
    return Response(200, {"security_groups": [body]})


def actions(request: Request) -> Response:
    """List the actions on a server, of which only its creation is stored."""
    return Response(200, {"instanceActions": [_action(found(request))]})


def show_action(request: Request) -> Response:
    """Show one action on a server."""
    row = found(request)
    if request.args["request_id"] != f"req-{row.id}":
        raise not_found(f"Action for request_id {request.args['request_id']} on instance {row.id} not found")
    return Response(200, {"instanceAction": _action(row) | {"events": []}})


def _action(row: Server) -> Json:
    return {
        "action": "create",
        "instance_uuid": row.id,
        "request_id": f"req-{row.id}",
        "project_id": row.project_id,
        "user_id": row.user_id,
        "start_time": row.created.strftime("%Y-%m-%dT%H:%M:%S.%f"),
        "message": None if row.status is not Status.ERROR else "Error",
    }
