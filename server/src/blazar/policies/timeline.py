"""The policy of the timeline. The target is the caller's own project."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

GET = "blazar:timeline:get"

RULES: tuple[policy.DocumentedRuleDefault, ...] = (
    policy.DocumentedRuleDefault(
        name=GET,
        check_str=base.ADMIN,
        description="See the registered resources by name, and when each of them is occupied. Of a lease "
        "that the caller may not see (blazar:leases:get) only the times are told.",
        operations=[{"path": "/v1/timeline", "method": "GET"}],
        scope_types=base.PROJECT_SCOPE,
    ),
)
