"""The policies of subscriptions. The target is the subscription's own project and user; of a new one, the
caller's."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

GET = "blazar:subscriptions:get"
POST = "blazar:subscriptions:post"
PUT = "blazar:subscriptions:put"
DELETE = "blazar:subscriptions:delete"
WATCH_ALL = "blazar:subscriptions:watch_all"


def _rule(
    name: str, check: str, description: str, *operations: policy.Operation
) -> policy.DocumentedRuleDefault:
    return policy.DocumentedRuleDefault(
        name=name,
        check_str=check,
        description=description,
        operations=list(operations),
        scope_types=base.PROJECT_SCOPE,
    )


RULES: tuple[policy.DocumentedRuleDefault, ...] = (
    _rule(
        GET,
        base.READER_OR_ADMIN,
        "See a subscription, but for its secret, and what it tells where that is kept. Those that the caller "
        "may not see are left out.",
        {"path": "/v1/subscriptions", "method": "GET"},
        {"path": "/v1/subscriptions/{subscription_id}", "method": "GET"},
        {"path": "/v1/subscriptions/{subscription_id}/events", "method": "GET"},
    ),
    _rule(
        POST,
        base.MEMBER_OR_ADMIN,
        "Have what becomes of the project's leases sent to an address, or kept for clients that ask.",
        {"path": "/v1/subscriptions", "method": "POST"},
    ),
    _rule(
        WATCH_ALL,
        base.ADMIN,
        "Have what becomes of the leases of other projects, or of all, sent to an address.",
        {"path": "/v1/subscriptions", "method": "POST"},
    ),
    _rule(
        PUT,
        base.MEMBER_OR_ADMIN,
        "Change a subscription, resume it, or make its secret anew.",
        {"path": "/v1/subscriptions/{subscription_id}", "method": "PUT"},
    ),
    _rule(
        DELETE,
        base.MEMBER_OR_ADMIN,
        "Delete a subscription.",
        {"path": "/v1/subscriptions/{subscription_id}", "method": "DELETE"},
    ),
)
