"""The policies of offers. The target is the offer's own project and user; of a new one, the caller's."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

GET = "blazar:offers:get"
POST = "blazar:offers:post"
DELETE = "blazar:offers:delete"

RULES: tuple[policy.DocumentedRuleDefault, ...] = (
    policy.DocumentedRuleDefault(
        name=GET,
        check_str=base.READER_OR_ADMIN,
        description="See an offer. A caller who may not see an offer is told that there is none.",
        operations=[
            {"path": "/v1/offers", "method": "GET"},
            {"path": "/v1/offers/{offer_id}", "method": "GET"},
        ],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=POST,
        check_str=base.MEMBER_OR_ADMIN,
        description="Hold what a lease needs, for some minutes. To claim it takes blazar:leases:post.",
        operations=[{"path": "/v1/offers", "method": "POST"}],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=DELETE,
        check_str=base.MEMBER_OR_ADMIN,
        description="Give back what an offer holds.",
        operations=[{"path": "/v1/offers/{offer_id}", "method": "DELETE"}],
        scope_types=base.PROJECT_SCOPE,
    ),
)
