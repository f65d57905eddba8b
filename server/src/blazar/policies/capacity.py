"""The policies of the capacity over time. The target is the caller's own project."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

GET = "blazar:capacity:get"
GET_RESERVED = "blazar:capacity:get_reserved"
OPERATIONS: list[policy.Operation] = [{"path": "/v1/capacity", "method": "GET"}]

RULES: tuple[policy.DocumentedRuleDefault, ...] = (
    policy.DocumentedRuleDefault(
        name=GET,
        check_str=base.READER_OR_ADMIN,
        description="See how much capacity there is, and how much can be reserved when: sums, without names.",
        operations=OPERATIONS,
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=GET_RESERVED,
        check_str=base.ADMIN,
        description="See how much of the capacity all projects together have reserved and have in use, where "
        "blazar:capacity:get shows the capacity.",
        operations=OPERATIONS,
        scope_types=base.PROJECT_SCOPE,
    ),
)
