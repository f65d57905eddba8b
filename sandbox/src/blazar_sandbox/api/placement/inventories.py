"""Placement's HTTP routes of inventories and usages."""

from dataclasses import asdict
from typing import Any

from blazar_sandbox import fields
from blazar_sandbox.api.placement.providers import provider_of
from blazar_sandbox.errors import bad_request, conflict, not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.placement.model import Inventory, Provider
from blazar_sandbox.wsgi.request import Request, Version
from blazar_sandbox.wsgi.response import Response

_MOST = 2**31 - 1


def _body(row: Provider) -> Json:
    return {
        "inventories": {name: asdict(inventory) for name, inventory in row.inventories.items()},
        "resource_provider_generation": row.generation,
    }


def _one_body(row: Provider, resource_class: str) -> Json:
    return asdict(row.inventories[resource_class]) | {"resource_provider_generation": row.generation}


def parse_inventory(body: Any, resource_class: str, version: Version) -> Inventory:
    """Parse an inventory. The reserved amount is at most the total, and before 1.26 less than it."""
    if not isinstance(body, dict):
        raise bad_request(f"JSON does not validate: an inventory of {resource_class} must be an object.")
    ratio = body.get("allocation_ratio", 1.0)
    if not isinstance(ratio, int | float) or isinstance(ratio, bool) or ratio < 0:
        raise bad_request(f"JSON does not validate: {ratio!r} is not an allocation ratio.")
    inventory = Inventory(
        total=fields.integer(body, "total", minimum=1),
        reserved=fields.integer(body, "reserved", default=0),
        min_unit=fields.integer(body, "min_unit", default=1, minimum=1),
        max_unit=fields.integer(body, "max_unit", default=_MOST, minimum=1),
        step_size=fields.integer(body, "step_size", default=1, minimum=1),
        allocation_ratio=float(ratio),
    )
    most = inventory.total if version >= (1, 26) else inventory.total - 1
    if inventory.reserved > most:
        raise bad_request(
            f"Unable to update inventory: Invalid inventory for '{resource_class}' on resource provider. "
            "The reserved value is greater than or equal to total."
        )
    return inventory


def index(request: Request) -> Response:
    """List the inventories of a provider."""
    return Response(200, _body(provider_of(request)))


def put_all(request: Request) -> Response:
    """Replace the inventories of a provider."""
    wanted = fields.json_object(request.json, "inventories")
    inventories = {name: parse_inventory(body, name, request.version) for name, body in wanted.items()}
    generation = fields.integer(request.json, "resource_provider_generation")
    row = request.cloud.placement.set_inventories(provider_of(request), generation, inventories)
    return Response(200, _body(row))


def post_one(request: Request) -> Response:
    """Add one inventory to a provider."""
    row, name = provider_of(request), fields.string(request.json, "resource_class")
    if name in row.inventories:
        raise conflict(f"Update conflict: {name} already exists on resource provider {row.uuid}.")
    inventory = parse_inventory(request.json, name, request.version)
    row = request.cloud.placement.set_inventories(row, None, {**row.inventories, name: inventory})
    return Response(201, _one_body(row, name))


def delete_all(request: Request) -> Response:
    """Delete all inventories of a provider."""
    request.cloud.placement.set_inventories(provider_of(request), None, {})
    return Response(204)


def show(request: Request) -> Response:
    """Show one inventory."""
    row, name = provider_of(request), request.args["resource_class"]
    if name not in row.inventories:
        raise not_found(f"No inventory of class {name} for {row.uuid}")
    return Response(200, _one_body(row, name))


def put_one(request: Request) -> Response:
    """Replace one existing inventory."""
    row, name = provider_of(request), request.args["resource_class"]
    inventory = parse_inventory(request.json, name, request.version)
    generation = fields.integer(request.json, "resource_provider_generation")
    request.cloud.placement.check_generation(row, generation)
    if name not in row.inventories:
        raise bad_request(
            f"Unable to update inventory for resource provider {row.uuid}: No inventory of class "
            f"{name} found for update"
        )
    row = request.cloud.placement.set_inventories(row, generation, {**row.inventories, name: inventory})
    return Response(200, _one_body(row, name))


def delete_one(request: Request) -> Response:
    """Delete one inventory of a provider."""
    request.cloud.placement.delete_inventory(provider_of(request), request.args["resource_class"])
    return Response(204)


def provider_usages(request: Request) -> Response:
    """Show the usage of a provider."""
    row, placement = provider_of(request), request.cloud.placement
    usages = {name: placement.used(row.uuid, name) for name in row.inventories}
    return Response(200, {"resource_provider_generation": row.generation, "usages": usages})


def project_usages(request: Request) -> Response:
    """Show the usage of a project, or of one user in it."""
    project_id, user_id = request.param("project_id"), request.param("user_id")
    if project_id is None:
        raise bad_request("Invalid query string parameters: 'project_id' is a required property")
    usages: dict[str, int] = {}
    count = 0
    for consumer in request.cloud.placement.consumers:
        if consumer.project_id != project_id or user_id not in (None, consumer.user_id):
            continue
        count += 1
        for amounts in consumer.allocations.values():
            for name, amount in amounts.items():
                usages[name] = usages.get(name, 0) + amount
    if request.version < (1, 38):
        return Response(200, {"usages": usages})
    return Response(200, {"usages": {"all": {"consumer_count": count, **usages}} if count else {}})
