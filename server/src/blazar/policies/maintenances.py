"""The policies of maintenances. The target is the caller's own project."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

GET = "blazar:maintenances:get"
POST = "blazar:maintenances:post"
DELETE = "blazar:maintenances:delete"


def _rule(name: str, description: str, *operations: policy.Operation) -> policy.DocumentedRuleDefault:
    return policy.DocumentedRuleDefault(
        name=name,
        check_str=base.ADMIN,
        description=description,
        operations=list(operations),
        scope_types=base.PROJECT_SCOPE,
    )


RULES: tuple[policy.DocumentedRuleDefault, ...] = (
    _rule(
        GET,
        "See which hosts are taken away for maintenance, and when.",
        {"path": "/v1/maintenances", "method": "GET"},
        {"path": "/v1/maintenances/{maintenance_id}", "method": "GET"},
    ),
    _rule(
        POST,
        "Take hosts away for maintenance, and see which leases of all projects that moves or breaks.",
        {"path": "/v1/maintenances", "method": "POST"},
    ),
    _rule(
        DELETE,
        "End a maintenance: its hosts can be reserved again.",
        {"path": "/v1/maintenances/{maintenance_id}", "method": "DELETE"},
    ),
)
