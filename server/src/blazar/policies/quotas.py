"""The policies of quotas. The target is the project whose limits they are."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

LIST = "blazar:quotas:list"
GET = "blazar:quotas:get"
GET_USAGE = "blazar:quotas:get_usage"
PUT = "blazar:quotas:put"
DELETE = "blazar:quotas:delete"
PATH = "/v1/quotas/{project_id}"


def _rule(
    name: str, check: str, description: str, method: str, path: str = PATH
) -> policy.DocumentedRuleDefault:
    return policy.DocumentedRuleDefault(
        name=name,
        check_str=check,
        description=description,
        operations=[{"method": method, "path": path}],
        scope_types=base.PROJECT_SCOPE,
    )


RULES: tuple[policy.DocumentedRuleDefault, ...] = (
    _rule(LIST, base.ADMIN, "See which projects have limits of their own.", "GET", "/v1/quotas"),
    _rule(GET, base.READER_OR_ADMIN, "See the limits of a project.", "GET"),
    _rule(
        GET_USAGE,
        base.READER_OR_ADMIN,
        "See how much the leases of a project use of what limits count.",
        "GET",
        f"{PATH}/usage",
    ),
    _rule(PUT, base.ADMIN, "Give a project limits of its own.", "PUT"),
    _rule(DELETE, base.ADMIN, "Give up the limits of a project's own.", "DELETE"),
)
