"""Neutron's route table."""

from blazar_sandbox.api.network import quotas
from blazar_sandbox.api.network.resources import COLLECTIONS, add_interface, remove_interface
from blazar_sandbox.errors import not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response
from blazar_sandbox.wsgi.routing import Route

_EXTENSIONS = (
    ("router", "Neutron L3 Router"),
    ("provider", "Provider Network"),
    ("extraroute", "Neutron Extra Route"),
    ("external-net", "Neutron external network"),
    ("security-group", "security-group"),
    ("quotas", "Quota management support"),
    ("standard-attr-tag", "Tag support for resources with standard attribute"),
    ("standard-attr-timestamp", "Resource timestamps"),
    ("standard-attr-revisions", "Resource revision numbers"),
    ("standard-attr-description", "standard-attr-description"),
    ("project-id", "project_id field enabled"),
    ("binding", "Port Binding"),
    ("fip-port-details", "Floating IP Port Details Extension"),
    ("pagination", "Pagination support"),
    ("sorting", "Sorting support"),
)


def show_versions(request: Request) -> Response:
    """Show the only version of the API."""
    links = [{"rel": "self", "href": f"{request.origin}/network/v2.0/"}]
    return Response(200, {"versions": [{"id": "v2.0", "status": "CURRENT", "links": links}]})


def show_resources(request: Request) -> Response:
    """List the collections."""
    found = [
        {
            "name": one.singular,
            "collection": one.plural,
            "links": [{"rel": "self", "href": f"{request.origin}/network/v2.0/{one.path or one.plural}"}],
        }
        for one in COLLECTIONS
    ]
    return Response(200, {"resources": found})


def _extension(alias: str, name: str) -> Json:
    return {
        "alias": alias,
        "name": name,
        "description": name,
        "updated": "2016-01-01T00:00:00-00:00",
        "links": [],
    }


def extensions(_request: Request) -> Response:
    """List the extensions."""
    return Response(200, {"extensions": [_extension(alias, name) for alias, name in _EXTENSIONS]})


def show_extension(request: Request) -> Response:
    """Show an extension."""
    alias = request.args["id"]
    if alias not in dict(_EXTENSIONS):
        raise not_found(f"Extension with alias {alias} does not exist", "HTTPNotFound")
    return Response(200, {"extension": _extension(alias, dict(_EXTENSIONS)[alias])})


def _nothing(name: str) -> Route:
    def answer(_request: Request) -> Response:
        return Response(200, {name.replace("-", "_"): []})

    return Route("GET", f"/v2.0/{name}", answer)


ROUTES = [
    Route("GET", "/", show_versions, needs_token=False),
    Route("GET", "/v2.0", show_resources),
    Route("GET", "/v2.0/extensions", extensions),
    Route("GET", "/v2.0/extensions/{id}", show_extension),
    Route("GET", "/v2.0/quotas/{id}", quotas.show),
    Route("GET", "/v2.0/quotas/{id}/default", quotas.show_default),
    Route("GET", "/v2.0/quotas/{id}/details", quotas.show_details),
    Route("GET", "/v2.0/quotas/{id}/details.json", quotas.show_details),
    Route("PUT", "/v2.0/quotas/{id}", quotas.update),
    Route("DELETE", "/v2.0/quotas/{id}", quotas.delete),
    Route("PUT", "/v2.0/routers/{id}/add_router_interface", add_interface),
    Route("PUT", "/v2.0/routers/{id}/remove_router_interface", remove_interface),
    *(route for collection in COLLECTIONS for route in collection.routes()),
    *(
        _nothing(name)
        for name in (
            "agents",
            "security-group-rules",
            "availability_zones",
            "segments",
            "rbac-policies",
            "subnetpools",
        )
    ),
]
