"""The policies: the default rules of the core, and their enforcement by oslo.policy."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable

from oslo_config import cfg
from oslo_policy import policy

from blazar.policies import (
    availability,
    base,
    capacity,
    feeds,
    leases,
    mail,
    maintenances,
    offers,
    promises,
    properties,
    quotas,
    series,
    services,
    shares,
    subscriptions,
    timeline,
    usage,
    waitlist,
)

LOG = logging.getLogger(__name__)
PREFIX = "blazar:"
"""How the names of our rules begin; an operator's own rules, to which ours may refer, have others."""

LOOK_SECONDS = 1.0
"""How long rules hold before the operator's files are looked at again: a look costs more than an answer, of
which a request needs several."""

UNREADABLE = (ValueError, TypeError, AttributeError, cfg.Error)
"""What oslo.policy raises of a file that is no YAML, has no rules in it, or may not be read."""

RULES: tuple[policy.RuleDefault, ...] = (
    *base.RULES,
    *leases.RULES,
    *availability.RULES,
    *offers.RULES,
    *waitlist.RULES,
    *maintenances.RULES,
    *subscriptions.RULES,
    *series.RULES,
    *shares.RULES,
    *feeds.RULES,
    *mail.RULES,
    *quotas.RULES,
    *services.RULES,
    *capacity.RULES,
    *timeline.RULES,
    *promises.RULES,
    *usage.RULES,
    *properties.RULES,
)
"""The rules of the core; kinds contribute those of their own routes."""


def make_enforcer(
    conf: cfg.ConfigOpts,
    contributed: Iterable[policy.RuleDefault] = (),
    monotonic: Callable[[], float] = time.monotonic,
) -> policy.Enforcer:
    """Return the enforcer of these rules, with what the operator's policy file says otherwise."""
    enforcer = Policies(conf, monotonic)
    enforcer.register_defaults([*RULES, *contributed])
    return enforcer


class Policies(policy.Enforcer):
    """The rules in force. The operator's file is read again when it has changed; where that fails, they stay,
    for a file that is half written must not stop the service."""

    def __init__(self, conf: cfg.ConfigOpts, monotonic: Callable[[], float]) -> None:
        super().__init__(conf)
        self._monotonic = monotonic
        self._last_failure = ""
        self._next_look = float("-inf")

    def load_rules(self, force_reload: bool = False) -> None:
        """Read what has changed, at most once in ``LOOK_SECONDS`` unless forced. Raises ValueError where the
        first file makes no sense, and there are no rules yet."""
        now = self._monotonic()
        if now < self._next_look and not force_reload:
            return
        self._read_changes(force_reload)
        self._next_look = now + LOOK_SECONDS

    def _read_changes(self, force_reload: bool) -> None:
        before = self.rules, self.file_rules
        try:
            super().load_rules(force_reload)
        except UNREADABLE as failure:
            problem = " ".join(str(failure).split())
            if not before[0]:
                raise ValueError(f"[oslo_policy] policy_file makes no sense: {problem}") from failure
            self.rules, self.file_rules = before
            if problem != self._last_failure:  # once for each cause, not at every request
                LOG.error("The policies stay as they are, for policy_file makes no sense: %s", problem)
            self._last_failure = problem
        else:
            self._last_failure = ""
            if self.file_rules is not before[1]:
                self._warn_of_unknown()

    def _warn_of_unknown(self) -> None:
        ours = {name for name in self.file_rules if name.startswith(PREFIX)}
        if unknown := sorted(ours - self.registered_rules.keys()):
            LOG.warning("policy_file has rules that do not exist and change nothing: %s", ", ".join(unknown))
