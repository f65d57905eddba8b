"""The policies of leases. The target is the lease's own project and user."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

GET = "blazar:leases:get"
POST = "blazar:leases:post"
PUT = "blazar:leases:put"
DELETE = "blazar:leases:delete"

RULES: tuple[policy.DocumentedRuleDefault, ...] = (
    policy.DocumentedRuleDefault(
        name=GET,
        check_str=base.READER_OR_ADMIN,
        description="See a lease. A caller who may not see a lease is told that it does not exist.",
        operations=[
            {"path": "/v1/leases", "method": "GET"},
            {"path": "/v1/leases/{lease_id}", "method": "GET"},
        ],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=POST,
        check_str=base.MEMBER_OR_ADMIN,
        description="Create a lease in the caller's project.",
        operations=[{"path": "/v1/leases", "method": "POST"}],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=PUT,
        check_str=base.MEMBER_OR_ADMIN,
        description="Update a lease.",
        operations=[{"path": "/v1/leases/{lease_id}", "method": "PUT"}],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=DELETE,
        check_str=base.MEMBER_OR_ADMIN,
        description="Delete a lease, and with it the servers in its reservations.",
        operations=[{"path": "/v1/leases/{lease_id}", "method": "DELETE"}],
        scope_types=base.PROJECT_SCOPE,
    ),
)
