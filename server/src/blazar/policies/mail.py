"""The policies of what a user is told by mail. The target is the caller and the caller's project."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

GET = "blazar:mail:get"
PUT = "blazar:mail:put"

RULES: tuple[policy.DocumentedRuleDefault, ...] = (
    policy.DocumentedRuleDefault(
        name=GET,
        check_str=base.READER_OR_ADMIN,
        description="See what the caller is told by mail.",
        operations=[{"path": "/v1/mail", "method": "GET"}],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=PUT,
        check_str=base.READER_OR_ADMIN,
        description="Choose what the caller is told by mail.",
        operations=[{"path": "/v1/mail", "method": "PUT"}],
        scope_types=base.PROJECT_SCOPE,
    ),
)
