"""The comparison of the database with the cloud, outside of a manager."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from oslo_config import cfg

from blazar.adapters.clock import SystemClock
from blazar.bootstrap.cloud import build_cloud
from blazar.bootstrap.settings import engine_settings
from blazar.engine.claims import Claims
from blazar.engine.convergence import converge_now
from blazar.plugins import Plugins
from blazar.service.enabled_kinds import require_kinds
from blazar.service.events import Events
from blazar.service.ports import Database
from blazar.service.ports.kind import Dependencies
from blazar.service.reconciliation import Reconciliation, ReconciliationSettings


@contextmanager
def build_reconciliation(
    conf: cfg.ConfigOpts, database: Database, plugins: Plugins, settings: ReconciliationSettings
) -> Iterator[Reconciliation]:
    """The comparison of the database with the cloud, outside of a manager, with claims of its own, which are
    given back at the end. Raises KindDisabled."""
    clock, cloud = SystemClock(), build_cloud(conf)
    require_kinds(database, plugins.kinds)
    start_retry = timedelta(seconds=conf.manager.start_retry_seconds)
    events = Events(database, cloud, plugins.kinds, clock, start_retry)
    claims = Claims(database, clock, engine_settings(conf).claim)

    def converge(lease_id: str) -> str | None:
        return converge_now(lease_id, claims, events, database, clock)

    claims.start()
    try:
        dependencies = Dependencies(database, cloud, plugins.kinds, clock)
        yield Reconciliation(dependencies, plugins.extensions, converge, settings)
    finally:
        claims.stop()
