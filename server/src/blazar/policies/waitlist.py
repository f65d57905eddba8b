"""The policy of the waitlist. The target is the waiting lease's own project and user."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

GET = "blazar:waitlist:get"

RULES: tuple[policy.DocumentedRuleDefault, ...] = (
    policy.DocumentedRuleDefault(
        name=GET,
        check_str=base.READER_OR_ADMIN,
        description="See the leases that wait in line. Those that the caller may not see are left out.",
        operations=[{"path": "/v1/waitlist", "method": "GET"}],
        scope_types=base.PROJECT_SCOPE,
    ),
)
