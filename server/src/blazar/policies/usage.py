"""The policies of the usage report. The target of ``get`` is the project whose resource-hours are asked
for."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

GET = "blazar:usage:get"
GET_ALL = "blazar:usage:get_all"
OPERATIONS: list[policy.Operation] = [{"path": "/v1/usage", "method": "GET"}]

RULES: tuple[policy.DocumentedRuleDefault, ...] = (
    policy.DocumentedRuleDefault(
        name=GET,
        check_str=base.READER_OR_ADMIN,
        description="See what the leases of a project were promised and have used, user by user.",
        operations=OPERATIONS,
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=GET_ALL,
        check_str=base.ADMIN,
        description="See the same of all projects at once. Other callers get that of their own.",
        operations=OPERATIONS,
        scope_types=base.PROJECT_SCOPE,
    ),
)
