"""Who may do what: the default rules per noun, as oslo.policy documents and enforces them."""

from __future__ import annotations

from oslo_config import cfg
from oslo_policy import policy

from blazar.policies import base, floatingips, leases, oshosts


def list_rules() -> list[policy.RuleDefault]:
    """All rules with their defaults; also what oslo.policy's generators of sample files ask for."""
    return [*base.RULES, *leases.RULES, *oshosts.RULES, *floatingips.RULES]


def make_enforcer(conf: cfg.ConfigOpts) -> policy.Enforcer:
    """The enforcer of these rules, with what the operator's policy file says otherwise."""
    enforcer = policy.Enforcer(conf)
    enforcer.register_defaults(list_rules())
    return enforcer
