"""The policy of the list of running programs. The target is the caller's own project."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

GET = "blazar:services:get"

RULES: tuple[policy.DocumentedRuleDefault, ...] = (
    policy.DocumentedRuleDefault(
        name=GET,
        check_str=base.ADMIN,
        description="See which managers run, where, and how they are doing.",
        operations=[{"path": "/v1/services", "method": "GET"}],
        scope_types=base.PROJECT_SCOPE,
    ),
)
