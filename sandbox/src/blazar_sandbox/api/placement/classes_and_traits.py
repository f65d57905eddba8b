"""Placement's HTTP routes of resource classes and traits."""

import re

from blazar_sandbox import fields
from blazar_sandbox.errors import bad_request, conflict, not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.placement.model import STANDARD_CLASSES, CustomName
from blazar_sandbox.placement.standard_traits import STANDARD_TRAITS
from blazar_sandbox.placement.state import Placement
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response

_CUSTOM = re.compile(r"CUSTOM_[A-Z0-9_]{1,248}")


def _custom(name: str, what: str) -> str:
    if not _CUSTOM.fullmatch(name):
        raise bad_request(
            f"The {what} is invalid. A valid {what} must be no longer than 255 characters, start with "
            "the prefix "
            f'"CUSTOM_" and use following characters: "A"-"Z", "0"-"9" and "_": got {name}'
        )
    return name


def _class_body(name: str) -> Json:
    return {"name": name, "links": [{"rel": "self", "href": f"/placement/resource_classes/{name}"}]}


def list_classes(request: Request) -> Response:
    """List all resource classes."""
    names = [*STANDARD_CLASSES, *(row.name for row in request.cloud.placement.custom_classes)]
    return Response(200, {"resource_classes": [_class_body(name) for name in names]})


def create_class(request: Request) -> Response:
    """Create a resource class; refuse one that exists."""
    placement = request.cloud.placement
    name = _custom(fields.string(request.json, "name"), "resource class name")
    if placement.knows_class(name):
        raise conflict(f"Conflicting resource class already exists: {name}")
    placement.custom_classes.put(name, CustomName(name))
    return Response(201, None, (("Location", f"{request.origin}/placement/resource_classes/{name}"),))


def ensure_class(request: Request) -> Response:
    """Create a resource class unless it exists."""
    if request.version < (1, 7):
        return _rename_class(request)
    placement, name = request.cloud.placement, request.args["name"]
    if _custom(name, "resource class name") in placement.custom_classes:
        return Response(204)
    placement.custom_classes.put(name, CustomName(name))
    return Response(201, None, (("Location", f"{request.origin}/placement/resource_classes/{name}"),))


def _rename_class(request: Request) -> Response:
    placement, old = request.cloud.placement, request.args["name"]
    new = _custom(fields.string(request.json, "name"), "resource class name")
    if old not in placement.custom_classes:
        raise not_found(f"No such resource class {old}.")
    if placement.by_class.count(old) or placement.knows_class(new):
        raise conflict(f"Resource class {new} already exists.")
    placement.custom_classes.drop(old)
    placement.custom_classes.put(new, CustomName(new))
    return Response(200, _class_body(new))


def show_class(request: Request) -> Response:
    """Show a resource class."""
    if not request.cloud.placement.knows_class(request.args["name"]):
        raise not_found(f"No such resource class {request.args['name']}.")
    return Response(200, _class_body(request.args["name"]))


def delete_class(request: Request) -> Response:
    """Delete a resource class."""
    request.cloud.placement.delete_class(request.args["name"])
    return Response(204)


def list_traits(request: Request) -> Response:
    """List traits, filtered by name or by whether a provider has them."""
    placement = request.cloud.placement
    names = _known_traits(placement)
    query = request.param("name") or ""
    if query.startswith("in:"):
        wanted = set(query[3:].split(","))
        names = [name for name in names if name in wanted]
    elif query.startswith("startswith:"):
        names = [name for name in names if name.startswith(query.removeprefix("startswith:"))]
    associated = request.param("associated")
    if associated is not None:
        in_use = frozenset[str]().union(*placement.trait_sets())
        names = [name for name in names if (name in in_use) == fields.parse_boolean(associated, "associated")]
    return Response(200, {"traits": names})


def _known_traits(placement: Placement) -> list[str]:
    return sorted(STANDARD_TRAITS) + [row.name for row in placement.custom_traits]


def show_trait(request: Request) -> Response:
    """Check that a trait exists."""
    if not request.cloud.placement.knows_trait(request.args["name"]):
        raise not_found(f"No such trait(s): {request.args['name']}.")
    return Response(204)


def ensure_trait(request: Request) -> Response:
    """Create a trait unless it exists."""
    placement, name = request.cloud.placement, request.args["name"]
    if placement.knows_trait(name):
        return Response(204)
    placement.custom_traits.put(_custom(name, "trait"), CustomName(name))
    return Response(201, None, (("Location", f"{request.origin}/placement/traits/{name}"),))


def delete_trait(request: Request) -> Response:
    """Delete a trait."""
    request.cloud.placement.delete_trait(request.args["name"])
    return Response(204)
