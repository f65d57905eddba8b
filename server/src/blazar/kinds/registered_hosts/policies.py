"""The policies of hosts, their allocations and properties. The target is the caller's own project."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

GET = "blazar:oshosts:get"
POST = "blazar:oshosts:post"
PUT = "blazar:oshosts:put"
DELETE = "blazar:oshosts:delete"
GET_ALLOCATIONS = "blazar:oshosts:get_allocations"
GET_RESOURCE_PROPERTIES = "blazar:oshosts:get_resource_properties"
UPDATE_RESOURCE_PROPERTIES = "blazar:oshosts:update_resource_properties"


def _rule(
    name: str, description: str, *operations: tuple[str, str], check: str = base.ADMIN
) -> policy.DocumentedRuleDefault:
    return policy.DocumentedRuleDefault(
        name=name,
        check_str=check,
        description=description,
        operations=[{"method": method, "path": path} for method, path in operations],
        scope_types=base.PROJECT_SCOPE,
    )


RULES: tuple[policy.DocumentedRuleDefault, ...] = (
    _rule(
        GET,
        "See the registered hosts.",
        ("GET", "/v1/os-hosts"),
        ("GET", "/v1/os-hosts/{host_id}"),
    ),
    _rule(POST, "Register a host: it moves to the freepool.", ("POST", "/v1/os-hosts")),
    _rule(PUT, "Set resource properties of a host.", ("PUT", "/v1/os-hosts/{host_id}")),
    _rule(DELETE, "Give a host back to the cloud.", ("DELETE", "/v1/os-hosts/{host_id}")),
    _rule(
        GET_ALLOCATIONS,
        "See which reservations occupy which hosts, of all projects.",
        ("GET", "/v1/os-hosts/allocations"),
        ("GET", "/v1/os-hosts/{host_id}/allocation"),
    ),
    _rule(
        GET_RESOURCE_PROPERTIES,
        "See the names and values of the hosts' resource properties; for private ones, see "
        "blazar:oshosts:get_private_properties.",
        ("GET", "/v1/os-hosts/properties"),
        check=base.READER_OR_ADMIN,
    ),
    _rule(
        UPDATE_RESOURCE_PROPERTIES,
        "Make a resource property private or public.",
        ("PATCH", "/v1/os-hosts/properties/{property_name}"),
    ),
)
