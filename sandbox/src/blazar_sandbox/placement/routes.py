"""Which calls does Placement answer?"""

from blazar_sandbox.placement import allocations_api, inventories_api, names_api, providers_api
from blazar_sandbox.wsgi.message import Request, Response
from blazar_sandbox.wsgi.microversion import Microversions, dotted
from blazar_sandbox.wsgi.routing import Route

MICROVERSIONS = Microversions("placement", (1, 0), (1, 39))


def show_versions(request: Request) -> Response:
    """Describe the one version of the API."""
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
    Route("GET", "/resource_providers", providers_api.index),
    Route("POST", "/resource_providers", providers_api.create),
    Route("GET", _ONE, providers_api.show),
    Route("PUT", _ONE, providers_api.update),
    Route("DELETE", _ONE, providers_api.delete),
    Route("GET", _ONE + "/inventories", inventories_api.index),
    Route("POST", _ONE + "/inventories", inventories_api.post_one),
    Route("PUT", _ONE + "/inventories", inventories_api.put_all),
    Route("DELETE", _ONE + "/inventories", inventories_api.delete_all),
    Route("GET", _ONE + "/inventories/{resource_class}", inventories_api.show),
    Route("PUT", _ONE + "/inventories/{resource_class}", inventories_api.put_one),
    Route("DELETE", _ONE + "/inventories/{resource_class}", inventories_api.delete_one),
    Route("GET", _ONE + "/usages", inventories_api.provider_usages),
    Route("GET", _ONE + "/traits", providers_api.show_traits),
    Route("PUT", _ONE + "/traits", providers_api.put_traits),
    Route("DELETE", _ONE + "/traits", providers_api.delete_traits),
    Route("GET", _ONE + "/aggregates", providers_api.show_aggregates),
    Route("PUT", _ONE + "/aggregates", providers_api.put_aggregates),
    Route("GET", _ONE + "/allocations", allocations_api.provider_allocations),
    Route("GET", "/traits", names_api.list_traits),
    Route("GET", "/traits/{name}", names_api.show_trait),
    Route("PUT", "/traits/{name}", names_api.ensure_trait),
    Route("DELETE", "/traits/{name}", names_api.delete_trait),
    Route("GET", "/resource_classes", names_api.list_classes),
    Route("POST", "/resource_classes", names_api.create_class),
    Route("GET", "/resource_classes/{name}", names_api.show_class),
    Route("PUT", "/resource_classes/{name}", names_api.ensure_class),
    Route("DELETE", "/resource_classes/{name}", names_api.delete_class),
    Route("GET", "/allocations/{consumer}", allocations_api.show),
    Route("PUT", "/allocations/{consumer}", allocations_api.put),
    Route("DELETE", "/allocations/{consumer}", allocations_api.delete),
    Route("POST", "/allocations", allocations_api.post),
    Route("GET", "/allocation_candidates", allocations_api.candidates),
    Route("GET", "/usages", inventories_api.project_usages),
]
