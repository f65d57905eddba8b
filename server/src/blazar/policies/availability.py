"""The policy of questions for availability. The target is the caller's own project."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

POST = "blazar:availability:post"

RULES: tuple[policy.DocumentedRuleDefault, ...] = (
    policy.DocumentedRuleDefault(
        name=POST,
        check_str=base.MEMBER_OR_ADMIN,
        description="Ask when a lease could be had. The answers tell how much is free, and when: with "
        "[api] shortage_details set to admin, only administrators may ask, whatever this rule says.",
        operations=[{"path": "/v1/availability", "method": "POST"}],
        scope_types=base.PROJECT_SCOPE,
    ),
)
