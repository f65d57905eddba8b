"""The policy of private resource properties. The target is the caller's own project."""

from __future__ import annotations

from oslo_policy import policy

from blazar.policies import base

GET_PRIVATE = "blazar:oshosts:get_private_properties"

RULES: tuple[policy.DocumentedRuleDefault, ...] = (
    policy.DocumentedRuleDefault(
        name=GET_PRIVATE,
        check_str=base.ADMIN,
        description="See the private resource properties of hosts, where another rule shows hosts, and ask "
        "for them in requirements.",
        operations=[
            {"path": "/v1/os-hosts", "method": "GET"},
            {"path": "/v1/os-hosts/{host_id}", "method": "GET"},
            {"path": "/v1/os-hosts/properties", "method": "GET"},
            {"path": "/v1/leases", "method": "POST"},
            {"path": "/v1/leases/{lease_id}", "method": "PUT"},
            {"path": "/v1/capacity", "method": "GET"},
        ],
        scope_types=base.PROJECT_SCOPE,
    ),
)
