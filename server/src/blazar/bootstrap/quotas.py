"""The limits of the configuration."""

from __future__ import annotations

from datetime import timedelta

from oslo_config import cfg

from blazar.service.ports.kind import Kinds
from blazar.service.quotas import DEFAULT_LIMITS, Quotas, QuotaSettings


def quota_settings(conf: cfg.ConfigOpts, kinds: Kinds) -> QuotaSettings:
    """Raises ValueError where no enabled kind counts what a limit names."""
    settings = QuotaSettings(
        {**DEFAULT_LIMITS, **conf.quota.limits},
        timedelta(days=conf.quota.window_days),
        conf.quota.source == "keystone",
    )
    known = Quotas(kinds, settings).names
    unknown = ", ".join(sorted(settings.limits.keys() - set(known)))
    if unknown:
        raise ValueError(f"[quota] limits: there is no limit {unknown}; there are {', '.join(known)}")
    return settings
