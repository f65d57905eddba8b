"""Placement's HTTP routes of allocations and allocation candidates."""

from typing import Any

from blazar_sandbox import fields
from blazar_sandbox.api.placement.providers import parse_amounts, parse_groups, parse_traits, provider_of
from blazar_sandbox.errors import ApiError, bad_request, conflict, not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.placement.model import Consumer, Provider
from blazar_sandbox.placement.state import Allocations, Placement
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response


def show(request: Request) -> Response:
    """Show the allocations of a consumer; an unknown consumer has none."""
    placement = request.cloud.placement
    consumer = placement.consumers.get(request.args["consumer"])
    if consumer is None:
        return Response(200, {"allocations": {}})
    body: Json = {"allocations": _by_provider(placement, consumer)}
    if request.version >= (1, 12):
        body |= {"project_id": consumer.project_id, "user_id": consumer.user_id}
    if request.version >= (1, 28):
        body["consumer_generation"] = consumer.generation
    if request.version >= (1, 38):
        body["consumer_type"] = consumer.type
    return Response(200, body)


def _by_provider(placement: Placement, consumer: Consumer) -> Json:
    return {
        uuid: {"generation": placement.providers[uuid].generation, "resources": dict(amounts)}
        for uuid, amounts in consumer.allocations.items()
    }


def put(request: Request) -> Response:
    """Replace the allocations of a consumer."""
    _write(request, request.args["consumer"], request.json)
    return Response(204)


def post(request: Request) -> Response:
    """Replace the allocations of several consumers, all or nothing."""
    placement = request.cloud.placement
    before = {uuid: placement.consumers.get(uuid) for uuid in request.json}
    try:
        for uuid, body in request.json.items():
            placement.consumers.drop(uuid)
            if not isinstance(body, dict):
                raise bad_request("JSON does not validate: allocations must be objects.")
        for uuid, body in request.json.items():
            _write(request, uuid, body, before[uuid])
    except ApiError:
        for uuid, consumer in before.items():
            if consumer is None:
                placement.consumers.drop(uuid)
            else:
                placement.consumers.put(uuid, consumer)
        raise
    return Response(204)


def _write(request: Request, uuid: str, body: Json, before: Consumer | None = None) -> None:
    placement = request.cloud.placement
    before = before or placement.consumers.get(uuid)
    if request.version >= (1, 28):
        if "consumer_generation" not in body:
            raise bad_request("JSON does not validate: 'consumer_generation' is a required property")
        actual = before.generation if before is not None else None
        if body["consumer_generation"] != actual:
            raise conflict(
                f"consumer generation conflict - expected {actual} but got {body['consumer_generation']}",
                "placement.concurrent_update",
            )
    placement.allocate(
        Consumer(
            uuid=uuid,
            project_id=fields.string_or_none(body, "project_id") or "",
            user_id=fields.string_or_none(body, "user_id") or "",
            allocations=_parse(body.get("allocations")),
            generation=before.generation + 1 if before is not None else 1,
            type=fields.string_or_none(body, "consumer_type") or "unknown",
        )
    )


def _parse(body: Any) -> Allocations:
    """Parse allocations, which are an object by provider, or before 1.12 a list."""
    if isinstance(body, list):
        body = {
            item["resource_provider"]["uuid"]: item
            for item in body
            if isinstance(item, dict) and isinstance(item.get("resource_provider"), dict)
        }
    if not isinstance(body, dict):
        raise bad_request("JSON does not validate: 'allocations' is a required property")
    return {uuid: _amounts(item) for uuid, item in body.items()}


def _amounts(item: Any) -> dict[str, int]:
    if not isinstance(item, dict):
        raise bad_request("JSON does not validate: an allocation must be an object.")
    resources = fields.json_object(item, "resources")
    return {name: fields.integer(resources, name, minimum=1) for name in resources}


def delete(request: Request) -> Response:
    """Delete the allocations of a consumer."""
    if request.cloud.placement.consumers.drop(request.args["consumer"]) is None:
        raise not_found(f"No allocations for consumer '{request.args['consumer']}'")
    return Response(204)


def provider_allocations(request: Request) -> Response:
    """Show the allocations of a provider by consumer."""
    row, placement = provider_of(request), request.cloud.placement
    allocations = {
        consumer.uuid: {"resources": dict(consumer.allocations[row.uuid])}
        for consumer in placement.consumers_of.rows(row.uuid)
    }
    return Response(200, {"allocations": allocations, "resource_provider_generation": row.generation})


def candidates(request: Request) -> Response:
    """List the provider trees in which the unnumbered group of resources and traits fits."""
    placement = request.cloud.placement
    amounts = parse_amounts(placement, request.param("resources"))
    if not amounts:
        raise bad_request("Invalid query string parameters: 'resources' is a required property")
    traits = parse_traits(placement, request.query.get("required", []), request.version)
    groups = parse_groups(request.query.get("member_of", []))
    tree = request.param("in_tree")

    def admits(root: Provider) -> bool:
        return tree in (None, root.uuid) and all(group(root.aggregates) for group in groups)

    limit = fields.integer({"limit": request.param("limit") or 1000}, "limit", minimum=1)
    proposals: list[Json] = []
    summaries: Json = {}
    for root, allocations in placement.candidates(amounts, traits, admits):
        proposals.append(_proposal(request, allocations))
        for row in placement.by_root.rows(root.uuid):
            summaries[row.uuid] = _summary(request, row)
        if len(proposals) >= limit:
            break
    return Response(200, {"allocation_requests": proposals, "provider_summaries": summaries})


def _proposal(request: Request, allocations: Allocations) -> Json:
    if request.version < (1, 12):
        listed = [
            {"resource_provider": {"uuid": key}, "resources": value} for key, value in allocations.items()
        ]
        return {"allocations": listed}
    body: Json = {"allocations": {key: {"resources": value} for key, value in allocations.items()}}
    if request.version >= (1, 34):
        body["mappings"] = {"": list(allocations)}
    return body


def _summary(request: Request, row: Provider) -> Json:
    placement = request.cloud.placement
    body: Json = {
        "resources": {
            name: {"capacity": int(inventory.capacity), "used": placement.used(row.uuid, name)}
            for name, inventory in row.inventories.items()
        }
    }
    if request.version >= (1, 17):
        body["traits"] = sorted(row.traits)
    if request.version >= (1, 29):
        body |= {"parent_provider_uuid": row.parent_uuid, "root_provider_uuid": row.root_uuid}
    return body
