"""Nova's route table."""

from blazar_sandbox.api.compute import (
    aggregates,
    flavors,
    hypervisors,
    keypairs,
    quotas,
    server_actions,
    server_create,
    server_groups,
    server_volumes,
    servers,
    services,
)
from blazar_sandbox.fields import Json
from blazar_sandbox.wsgi.microversion import Microversions, dotted
from blazar_sandbox.wsgi.request import Request
from blazar_sandbox.wsgi.response import Response
from blazar_sandbox.wsgi.routing import Route

MICROVERSIONS = Microversions("compute", (2, 1), (2, 100), "X-OpenStack-Nova-API-Version")


def _version(request: Request) -> Json:
    return {
        "id": "v2.1",
        "status": "CURRENT",
        "version": dotted(MICROVERSIONS.highest),
        "min_version": dotted(MICROVERSIONS.lowest),
        "updated": "2013-07-23T11:33:21Z",
        "links": [{"rel": "self", "href": f"{request.origin}/compute/v2.1/"}],
        "media-types": [
            {"base": "application/json", "type": "application/vnd.openstack.compute+json;version=2.1"}
        ],
    }


def show_version(request: Request) -> Response:
    """Show the only version of the API."""
    return Response(200, {"version": _version(request)})


def list_versions(request: Request) -> Response:
    """List the versions of the API."""
    return Response(200, {"versions": [_version(request)]})


def extensions(_request: Request) -> Response:
    """List no extensions: all of them are built in."""
    return Response(200, {"extensions": []})


_FLAVOR, _SERVER, _V = "/v2.1/flavors/{id}", "/v2.1/servers/{id}", "/v2.1"

ROUTES = [
    Route("GET", "/", list_versions, needs_token=False),
    Route("GET", "/v2.1", show_version, needs_token=False),
    Route("GET", _V + "/extensions", extensions),
    Route("GET", _V + "/os-hypervisors", hypervisors.index),
    Route("GET", _V + "/os-hypervisors/detail", hypervisors.detail),
    Route("GET", _V + "/os-hypervisors/statistics", hypervisors.statistics),
    Route("GET", _V + "/os-hypervisors/{id}", hypervisors.show),
    Route("GET", _V + "/os-hypervisors/{id}/uptime", hypervisors.uptime),
    Route("GET", _V + "/os-hypervisors/{id}/search", hypervisors.search),
    Route("GET", _V + "/os-hypervisors/{id}/servers", hypervisors.servers),
    Route("GET", _V + "/os-services", services.index),
    Route("PUT", _V + "/os-services/{id}", services.update),
    Route("GET", _V + "/os-availability-zone", services.zones),
    Route("GET", _V + "/os-availability-zone/detail", services.zones_detail),
    Route("GET", _V + "/os-aggregates", aggregates.index),
    Route("POST", _V + "/os-aggregates", aggregates.create),
    Route("GET", _V + "/os-aggregates/{id}", aggregates.show),
    Route("PUT", _V + "/os-aggregates/{id}", aggregates.update),
    Route("DELETE", _V + "/os-aggregates/{id}", aggregates.delete),
    Route("POST", _V + "/os-aggregates/{id}/action", aggregates.action),
    Route("GET", _V + "/flavors", flavors.index),
    Route("POST", _V + "/flavors", flavors.create),
    Route("GET", _V + "/flavors/detail", flavors.detail),
    Route("GET", _FLAVOR, flavors.show),
    Route("PUT", _FLAVOR, flavors.update),
    Route("DELETE", _FLAVOR, flavors.delete),
    Route("POST", _FLAVOR + "/action", flavors.action),
    Route("GET", _FLAVOR + "/os-flavor-access", flavors.access),
    Route("GET", _FLAVOR + "/os-extra_specs", flavors.specs),
    Route("POST", _FLAVOR + "/os-extra_specs", flavors.add_specs),
    Route("GET", _FLAVOR + "/os-extra_specs/{key}", flavors.show_spec),
    Route("PUT", _FLAVOR + "/os-extra_specs/{key}", flavors.put_spec),
    Route("DELETE", _FLAVOR + "/os-extra_specs/{key}", flavors.delete_spec),
    Route("GET", _V + "/servers", servers.index),
    Route("POST", _V + "/servers", server_create.create),
    Route("GET", _V + "/servers/detail", servers.index_detail),
    Route("GET", _SERVER, servers.show),
    Route("PUT", _SERVER, servers.update),
    Route("DELETE", _SERVER, servers.delete),
    Route("POST", _SERVER + "/action", server_actions.act),
    Route("GET", _SERVER + "/ips", servers.show_addresses),
    Route("GET", _SERVER + "/metadata", servers.metadata),
    Route("POST", _SERVER + "/metadata", servers.add_metadata),
    Route("PUT", _SERVER + "/metadata", servers.add_metadata),
    Route("DELETE", _SERVER + "/metadata/{key}", servers.delete_metadata),
    Route("GET", _SERVER + "/tags", servers.tags),
    Route("PUT", _SERVER + "/tags/{tag}", servers.add_tag),
    Route("DELETE", _SERVER + "/tags/{tag}", servers.delete_tag),
    Route("GET", _SERVER + "/os-interface", servers.interfaces),
    Route("GET", _SERVER + "/os-volume_attachments", server_volumes.index),
    Route("POST", _SERVER + "/os-volume_attachments", server_volumes.attach),
    Route("GET", _SERVER + "/os-volume_attachments/{volume_id}", server_volumes.show),
    Route("DELETE", _SERVER + "/os-volume_attachments/{volume_id}", server_volumes.detach),
    Route("GET", _SERVER + "/os-security-groups", servers.security_groups),
    Route("GET", _SERVER + "/os-instance-actions", servers.actions),
    Route("GET", _SERVER + "/os-instance-actions/{request_id}", servers.show_action),
    Route("GET", _V + "/os-server-groups", server_groups.index),
    Route("POST", _V + "/os-server-groups", server_groups.create),
    Route("GET", _V + "/os-server-groups/{id}", server_groups.show),
    Route("DELETE", _V + "/os-server-groups/{id}", server_groups.delete),
    Route("GET", _V + "/os-keypairs", keypairs.index),
    Route("POST", _V + "/os-keypairs", keypairs.create),
    Route("GET", _V + "/os-keypairs/{name}", keypairs.show),
    Route("DELETE", _V + "/os-keypairs/{name}", keypairs.delete),
    Route("GET", _V + "/limits", quotas.limits),
    Route("GET", _V + "/os-quota-sets/{id}", quotas.show),
    Route("GET", _V + "/os-quota-sets/{id}/detail", quotas.show),
    Route("GET", _V + "/os-quota-sets/{id}/defaults", quotas.show),
    Route("PUT", _V + "/os-quota-sets/{id}", quotas.update),
    Route("DELETE", _V + "/os-quota-sets/{id}", quotas.delete),
    Route("GET", _V + "/os-quota-class-sets/{id}", quotas.show_class),
]
