"""The policies of floating IPs. The target is the caller's own project."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

GET = "blazar:floatingips:get"
POST = "blazar:floatingips:post"
DELETE = "blazar:floatingips:delete"

RULES: tuple[policy.DocumentedRuleDefault, ...] = (
    policy.DocumentedRuleDefault(
        name=GET,
        check_str=base.READER_OR_ADMIN,
        description="See the registered floating IPs.",
        operations=[
            {"path": "/v1/floatingips", "method": "GET"},
            {"path": "/v1/floatingips/{floatingip_id}", "method": "GET"},
        ],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=POST,
        check_str=base.ADMIN,
        description="Register a floating IP, so that it can be reserved.",
        operations=[{"path": "/v1/floatingips", "method": "POST"}],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=DELETE,
        check_str=base.ADMIN,
        description="Forget a floating IP that is not reserved.",
        operations=[{"path": "/v1/floatingips/{floatingip_id}", "method": "DELETE"}],
        scope_types=base.PROJECT_SCOPE,
    ),
)
