"""The policies of calendar feeds. The target is the project with which a feed was made and its user; of a new
one, the caller's. Which leases a feed may show is decided by the policy of leases."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

GET = "blazar:feeds:get"
POST = "blazar:feeds:post"
DELETE = "blazar:feeds:delete"
_ITS_USER = "(rule:project_reader_api and user_id:%(user_id)s) or rule:admin"


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
        _ITS_USER,
        "See a calendar feed, but for its address. Those that the caller may not see are left out.",
        {"path": "/v1/feeds", "method": "GET"},
    ),
    _rule(
        POST,
        base.MEMBER_OR_ADMIN,
        "Make a calendar feed of leases that the caller may see. Its address is read without a token.",
        {"path": "/v1/feeds", "method": "POST"},
    ),
    _rule(
        DELETE,
        _ITS_USER,
        "Delete a calendar feed, so that its address is none any more.",
        {"path": "/v1/feeds/{feed_id}", "method": "DELETE"},
    ),
)
