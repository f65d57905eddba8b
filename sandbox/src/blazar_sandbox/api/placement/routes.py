"""Placement's route table."""

from blazar_sandbox.api.placement import allocations, classes_and_traits, inventories, providers
from blazar_sandbox.wsgi.microversion import Microversions, dotted
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response
from blazar_sandbox.wsgi.routing import Route

MICROVERSIONS = Microversions("placement", (1, 0), (1, 39))


def show_versions(request: Request) -> Response:
    """Show the only version of the API."""
    version = {
        "id": "v1.0",
        "min_version": dotted(MICROVERSIONS.lowest),
        "max_version": dotted(MICROVERSIONS.highest),
        "status": "CURRENT",
        "links": [{"rel": "self", "href": f"{request.origin}/placement"}],
    }
    return Response(200, {"versions": [version]})


_ONE = "/resource_providers/{uuid}"

ROUTES = [
    Route("GET", "/", show_versions, needs_token=False),
    Route("GET", "/resource_providers", providers.index),
    Route("POST", "/resource_providers", providers.create),
    Route("GET", _ONE, providers.show),
    Route("PUT", _ONE, providers.update),
    Route("DELETE", _ONE, providers.delete),
    Route("GET", _ONE + "/inventories", inventories.index),
    Route("POST", _ONE + "/inventories", inventories.post_one),
    Route("PUT", _ONE + "/inventories", inventories.put_all),
    Route("DELETE", _ONE + "/inventories", inventories.delete_all),
    Route("GET", _ONE + "/inventories/{resource_class}", inventories.show),
    Route("PUT", _ONE + "/inventories/{resource_class}", inventories.put_one),
    Route("DELETE", _ONE + "/inventories/{resource_class}", inventories.delete_one),
    Route("GET", _ONE + "/usages", inventories.provider_usages),
    Route("GET", _ONE + "/traits", providers.show_traits),
    Route("PUT", _ONE + "/traits", providers.put_traits),
    Route("DELETE", _ONE + "/traits", providers.delete_traits),
    Route("GET", _ONE + "/aggregates", providers.show_aggregates),
    Route("PUT", _ONE + "/aggregates", providers.put_aggregates),
    Route("GET", _ONE + "/allocations", allocations.provider_allocations),
    Route("GET", "/traits", classes_and_traits.list_traits),
    Route("GET", "/traits/{name}", classes_and_traits.show_trait),
    Route("PUT", "/traits/{name}", classes_and_traits.ensure_trait),
    Route("DELETE", "/traits/{name}", classes_and_traits.delete_trait),
    Route("GET", "/resource_classes", classes_and_traits.list_classes),
    Route("POST", "/resource_classes", classes_and_traits.create_class),
    Route("GET", "/resource_classes/{name}", classes_and_traits.show_class),
    Route("PUT", "/resource_classes/{name}", classes_and_traits.ensure_class),
    Route("DELETE", "/resource_classes/{name}", classes_and_traits.delete_class),
    Route("GET", "/allocations/{consumer}", allocations.show),
    Route("PUT", "/allocations/{consumer}", allocations.put),
    Route("DELETE", "/allocations/{consumer}", allocations.delete),
    Route("POST", "/allocations", allocations.post),
    Route("GET", "/allocation_candidates", allocations.candidates),
    Route("GET", "/usages", inventories.project_usages),
]
