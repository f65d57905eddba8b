"""Which calls does Nova answer?"""

from blazar_sandbox.compute import (
    aggregates_api,
    boot_api,
    extras_api,
    flavors_api,
    hypervisors_api,
    server_actions_api,
    servers_api,
    services_api,
)
from blazar_sandbox.wsgi.message import Json, Request, Response
from blazar_sandbox.wsgi.microversion import Microversions, dotted
from blazar_sandbox.wsgi.routing import Route

MICROVERSIONS = Microversions("compute", (2, 1), (2, 96), "X-OpenStack-Nova-API-Version")


def _version(request: Request) -> Json:
    return {
        "id": "v2.1",
        "status": "CURRENT",
        "version": dotted(MICROVERSIONS.highest),
        "min_version": dotted(MICROVERSIONS.lowest),
        "updated": "2013-07-23T11:33:21Z",
        "links": [{"rel": "self", "href": f"{request.origin}/compute/v2.1/"}],
        "media-types": [{"base": "application/json", "type": "application/vnd.openstack.compute+json;version=2.1"}],
    }


def show_version(request: Request) -> Response:
    """Describe the one version of the API."""
    return Response(200, {"version": _version(request)})


def list_versions(request: Request) -> Response:
    """List the versions of the API."""
    return Response(200, {"versions": [_version(request)]})


def extensions(_request: Request) -> Response:
    """Answer that everything is built in."""
    return Response(200, {"extensions": []})


_FLAVOR, _SERVER, _V = "/v2.1/flavors/{id}", "/v2.1/servers/{id}", "/v2.1"

ROUTES = [
    Route("GET", "/", list_versions, needs_token=False),
    Route("GET", "/v2.1", show_version, needs_token=False),
    Route("GET", _V + "/extensions", extensions),
    Route("GET", _V + "/os-hypervisors", hypervisors_api.index),
    Route("GET", _V + "/os-hypervisors/detail", hypervisors_api.detail),
    Route("GET", _V + "/os-hypervisors/statistics", hypervisors_api.statistics),
    Route("GET", _V + "/os-hypervisors/{id}", hypervisors_api.show),
    Route("GET", _V + "/os-hypervisors/{id}/uptime", hypervisors_api.uptime),
    Route("GET", _V + "/os-hypervisors/{id}/search", hypervisors_api.search),
    Route("GET", _V + "/os-hypervisors/{id}/servers", hypervisors_api.servers),
    Route("GET", _V + "/os-services", services_api.index),
    Route("PUT", _V + "/os-services/{id}", services_api.update),
    Route("GET", _V + "/os-availability-zone", services_api.zones),
    Route("GET", _V + "/os-availability-zone/detail", services_api.zones_detail),
    Route("GET", _V + "/os-aggregates", aggregates_api.index),
    Route("POST", _V + "/os-aggregates", aggregates_api.create),
    Route("GET", _V + "/os-aggregates/{id}", aggregates_api.show),
    Route("PUT", _V + "/os-aggregates/{id}", aggregates_api.update),
    Route("DELETE", _V + "/os-aggregates/{id}", aggregates_api.delete),
    Route("POST", _V + "/os-aggregates/{id}/action", aggregates_api.action),
    Route("GET", _V + "/flavors", flavors_api.index),
    Route("POST", _V + "/flavors", flavors_api.create),
    Route("GET", _V + "/flavors/detail", flavors_api.detail),
    Route("GET", _FLAVOR, flavors_api.show),
    Route("PUT", _FLAVOR, flavors_api.update),
    Route("DELETE", _FLAVOR, flavors_api.delete),
    Route("POST", _FLAVOR + "/action", flavors_api.action),
    Route("GET", _FLAVOR + "/os-flavor-access", flavors_api.access),
    Route("GET", _FLAVOR + "/os-extra_specs", flavors_api.specs),
    Route("POST", _FLAVOR + "/os-extra_specs", flavors_api.add_specs),
    Route("GET", _FLAVOR + "/os-extra_specs/{key}", flavors_api.show_spec),
    Route("PUT", _FLAVOR + "/os-extra_specs/{key}", flavors_api.put_spec),
    Route("DELETE", _FLAVOR + "/os-extra_specs/{key}", flavors_api.delete_spec),
    Route("GET", _V + "/servers", servers_api.index),
    Route("POST", _V + "/servers", boot_api.create),
    Route("GET", _V + "/servers/detail", servers_api.index_detail),
    Route("GET", _SERVER, servers_api.show),
    Route("PUT", _SERVER, servers_api.update),
    Route("DELETE", _SERVER, servers_api.delete),
    Route("POST", _SERVER + "/action", server_actions_api.act),
    Route("GET", _SERVER + "/ips", servers_api.show_addresses),
    Route("GET", _SERVER + "/metadata", servers_api.metadata),
    Route("POST", _SERVER + "/metadata", servers_api.add_metadata),
    Route("PUT", _SERVER + "/metadata", servers_api.add_metadata),
    Route("DELETE", _SERVER + "/metadata/{key}", servers_api.delete_metadata),
    Route("GET", _SERVER + "/os-interface", servers_api.interfaces),
    Route("GET", _SERVER + "/os-volume_attachments", servers_api.no_volumes),
    Route("GET", _SERVER + "/os-security-groups", servers_api.security_groups),
    Route("GET", _SERVER + "/os-instance-actions", servers_api.actions),
    Route("GET", _SERVER + "/os-instance-actions/{request_id}", servers_api.show_action),
    Route("GET", _V + "/os-server-groups", extras_api.list_groups),
    Route("POST", _V + "/os-server-groups", extras_api.create_group),
    Route("GET", _V + "/os-server-groups/{id}", extras_api.show_group),
    Route("DELETE", _V + "/os-server-groups/{id}", extras_api.delete_group),
    Route("GET", _V + "/os-keypairs", extras_api.list_keypairs),
    Route("POST", _V + "/os-keypairs", extras_api.create_keypair),
    Route("GET", _V + "/os-keypairs/{name}", extras_api.show_keypair),
    Route("DELETE", _V + "/os-keypairs/{name}", extras_api.delete_keypair),
    Route("GET", _V + "/limits", extras_api.limits),
    Route("GET", _V + "/os-quota-sets/{id}", extras_api.show_quota),
    Route("GET", _V + "/os-quota-sets/{id}/detail", extras_api.show_quota),
    Route("GET", _V + "/os-quota-sets/{id}/defaults", extras_api.show_quota),
    Route("PUT", _V + "/os-quota-sets/{id}", extras_api.put_quota),
    Route("DELETE", _V + "/os-quota-sets/{id}", extras_api.delete_quota),
    Route("GET", _V + "/os-quota-class-sets/{id}", extras_api.class_quota),
]
