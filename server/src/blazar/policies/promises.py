"""The policy of the promises. The target is the caller's own project."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

GET = "blazar:promises:get"

RULES: tuple[policy.DocumentedRuleDefault, ...] = (
    policy.DocumentedRuleDefault(
        name=GET,
        check_str=f"{base.ADMIN} or role:service",
        description="See how much of which compute host is promised when: for the scheduler of the cloud.",
        operations=[{"path": "/v1/promises", "method": "GET"}],
        scope_types=base.PROJECT_SCOPE,
    ),
)
