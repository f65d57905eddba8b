"""The policies of shares of leases. The target is the lease's own project and user; of a share that the
project which has got it gives back or that it is taken over by, that project."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

GET = "blazar:shares:get"
PUT = "blazar:shares:put"
DELETE = "blazar:shares:delete"
GIVE_BACK = "blazar:shares:give_back"
TAKE_OVER = "blazar:shares:take_over"
SHARE = "/v1/leases/{lease_id}/shares/{project_id}"

RULES: tuple[policy.DocumentedRuleDefault, ...] = (
    policy.DocumentedRuleDefault(
        name=GET,
        check_str=base.READER_OR_ADMIN,
        description="See with which projects a lease is shared. A project that it is shared with does not.",
        operations=[{"path": "/v1/leases/{lease_id}/shares", "method": "GET"}],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=PUT,
        check_str=base.MEMBER_OR_ADMIN,
        description="Share a lease with another project.",
        operations=[{"path": SHARE, "method": "PUT"}],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=DELETE,
        check_str=base.MEMBER_OR_ADMIN,
        description="Withdraw the share of a lease.",
        operations=[{"path": SHARE, "method": "DELETE"}],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=GIVE_BACK,
        check_str=base.MEMBER_OR_ADMIN,
        description="Give back what the caller's project may do with a lease of another one.",
        operations=[{"path": SHARE, "method": "DELETE"}],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=TAKE_OVER,
        check_str=base.MEMBER_OR_ADMIN,
        description="Take over a lease that another project has offered to the caller's.",
        operations=[{"path": "/v1/leases/{lease_id}/take_over", "method": "POST"}],
        scope_types=base.PROJECT_SCOPE,
    ),
)
