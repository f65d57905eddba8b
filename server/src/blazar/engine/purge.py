"""How a manager removes leases that were over long ago, where the operator limits how long they are kept."""

from __future__ import annotations

import logging
from datetime import timedelta

from blazar.engine.background import Background
from blazar.service.ports import Clock, Database
from blazar.service.retention import purge_some

LOG = logging.getLogger(__name__)
PACE = 1.0
"""Seconds between two small transactions, so that requests and events do not notice."""
LOOK = 60.0
"""Seconds until the next look when nothing is left to be removed."""


class Purge(Background):
    """Removes leases that are over for longer than ``retention``. Several managers may do so at once."""

    patience = PACE + 5

    def __init__(self, database: Database, clock: Clock, retention: timedelta) -> None:
        super().__init__("purge", first_wait=LOOK)
        self._database = database
        self._clock = clock
        self._retention = retention

    def round(self) -> float:
        """Remove some leases. Return the seconds to wait until the next round."""
        removed = purge_some(self._database, self._clock.now() - self._retention)
        if removed is None:
            return LOOK
        LOG.info("Purged %d leases that were over", removed, extra={"action": "purge", "leases": removed})
        return PACE
