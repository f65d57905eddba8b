"""The policies of leases. The target is the lease's own project and user; of a lease that is shared with the
caller's project, the caller's."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

GET = "blazar:leases:get"
POST = "blazar:leases:post"
PUT = "blazar:leases:put"
DELETE = "blazar:leases:delete"
GET_BLOCKING = "blazar:leases:get_blocking"
PUT_LATER_CLAIM_BY = "blazar:leases:put_later_claim_by"
PUT_HIGH_PRIORITY = "blazar:leases:put_high_priority"
DISPLACE = "blazar:leases:displace"
GET_SHARED = "blazar:leases:get_shared"
PUT_SHARED = "blazar:leases:put_shared"
SPLIT = "blazar:leases:split"

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
        operations=[
            {"path": "/v1/leases/{lease_id}", "method": "DELETE"},
            {"path": "/v1/leases", "method": "DELETE"},
        ],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=GET_BLOCKING,
        check_str=f"rule:{GET}",
        description="See which lease or offer stands in the way of a refused one: its id, its name and its "
        "owner. Of one that the caller may not see only the times and the number of resources are told; with "
        "[api] shortage_details set to admin, only administrators are told even that.",
        operations=[
            {"path": "/v1/leases", "method": "POST"},
            {"path": "/v1/leases/{lease_id}", "method": "PUT"},
            {"path": "/v1/offers", "method": "POST"},
        ],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=PUT_LATER_CLAIM_BY,
        check_str=base.ADMIN,
        description="Let a lease be unused for longer than the operator has set in [claim_by] minutes, or "
        "for ever. An earlier claim_by needs no more than the right to create or update the lease.",
        operations=[
            {"path": "/v1/leases", "method": "POST"},
            {"path": "/v1/leases/{lease_id}", "method": "PUT"},
        ],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=PUT_HIGH_PRIORITY,
        check_str=base.ADMIN,
        description="Give a lease the priority high. The priorities low and normal need no more than the "
        "right to create or update the lease.",
        operations=[
            {"path": "/v1/leases", "method": "POST"},
            {"path": "/v1/leases/{lease_id}", "method": "PUT"},
        ],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=DISPLACE,
        check_str=base.MEMBER_OR_ADMIN,
        description="Have leases of lower priorities that have not started give way to a new one that does "
        "not fit.",
        operations=[{"path": "/v1/leases", "method": "POST"}],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=GET_SHARED,
        check_str=base.READER_OR_ADMIN,
        description="See a lease of another project that is shared with the caller's.",
        operations=[
            {"path": "/v1/leases", "method": "GET"},
            {"path": "/v1/leases/{lease_id}", "method": "GET"},
        ],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=PUT_SHARED,
        check_str=base.MEMBER_OR_ADMIN,
        description="Change the name and the dates of a lease of another project that is shared with the "
        "caller's for change.",
        operations=[{"path": "/v1/leases/{lease_id}", "method": "PUT"}],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=SPLIT,
        check_str=base.MEMBER_OR_ADMIN,
        description="Split a lease: make another lease of the same project of some of what it reserves.",
        operations=[{"path": "/v1/leases/{lease_id}/split", "method": "POST"}],
        scope_types=base.PROJECT_SCOPE,
    ),
)
