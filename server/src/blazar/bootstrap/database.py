"""The database of a program."""

from __future__ import annotations

from oslo_config import cfg

from blazar.adapters.db import SqlDatabase
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.tracing import NO_TRACING, Tracing


def build_database(
    conf: cfg.ConfigOpts, metrics: Metrics = NO_METRICS, tracing: Tracing = NO_TRACING
) -> SqlDatabase:
    settings = conf.database
    return SqlDatabase(
        settings.connection,
        pool_size=settings.max_pool_size,
        max_overflow=settings.max_overflow,
        repeated=metrics.transaction_retried,
        tracing=tracing,
    )
