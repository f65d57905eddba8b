"""The policies: the default rules of the core, and their enforcement by oslo.policy."""

from __future__ import annotations

from collections.abc import Iterable

from oslo_config import cfg
from oslo_policy import policy

from blazar.policies import (
    availability,
    base,
    capacity,
    leases,
    maintenances,
    offers,
    properties,
    quotas,
    services,
    subscriptions,
    timeline,
    waitlist,
)

RULES: tuple[policy.RuleDefault, ...] = (
    *base.RULES,
    *leases.RULES,
    *availability.RULES,
    *offers.RULES,
    *waitlist.RULES,
    *maintenances.RULES,
    *subscriptions.RULES,
    *quotas.RULES,
    *services.RULES,
    *capacity.RULES,
    *timeline.RULES,
    *properties.RULES,
)
"""The rules of the core; kinds contribute those of their own routes."""


def make_enforcer(conf: cfg.ConfigOpts, contributed: Iterable[policy.RuleDefault] = ()) -> policy.Enforcer:
    """Return the enforcer of these rules, with what the operator's policy file says otherwise."""
    enforcer = policy.Enforcer(conf)
    enforcer.register_defaults([*RULES, *contributed])
    return enforcer
