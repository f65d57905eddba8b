"""The policies of series. The target is the series' own project and user; of a new one, the caller's."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

GET = "blazar:series:get"
POST = "blazar:series:post"
PUT = "blazar:series:put"
DELETE = "blazar:series:delete"

RULES: tuple[policy.DocumentedRuleDefault, ...] = (
    policy.DocumentedRuleDefault(
        name=GET,
        check_str=base.READER_OR_ADMIN,
        description="See a series. A caller who may not see a series is told that there is none.",
        operations=[
            {"path": "/v1/series", "method": "GET"},
            {"path": "/v1/series/{series_id}", "method": "GET"},
        ],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=POST,
        check_str=base.MEMBER_OR_ADMIN,
        description="Create leases that recur. It takes blazar:leases:post besides.",
        operations=[{"path": "/v1/series", "method": "POST"}],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=PUT,
        check_str=base.MEMBER_OR_ADMIN,
        description="Rename a series, or cancel some of its occurrences.",
        operations=[{"path": "/v1/series/{series_id}", "method": "PUT"}],
        scope_types=base.PROJECT_SCOPE,
    ),
    policy.DocumentedRuleDefault(
        name=DELETE,
        check_str=base.MEMBER_OR_ADMIN,
        description="Delete a series with its leases that are not over.",
        operations=[{"path": "/v1/series/{series_id}", "method": "DELETE"}],
        scope_types=base.PROJECT_SCOPE,
    ),
)
