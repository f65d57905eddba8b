"""The lane of monitoring: look at the resources of a pool, and heal what failed ones should serve.

One manager does it at a time, whichever finds first that it is time. Work on events goes on beside it."""

from __future__ import annotations

import logging
from datetime import timedelta

from blazar.domain.errors import BlazarError, ClaimLost
from blazar.domain.resource import Pool, region_of
from blazar.engine.background import Background
from blazar.engine.duty import Duty
from blazar.service.healing import Healing, Tally
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import Clock, Database
from blazar.service.ports.kind import Monitor, Sighting

LOG = logging.getLogger(__name__)
HELD = timedelta(minutes=3)
"""How long the duty is held without a sign of life: longer than Nova takes to list ten thousand hosts."""
SHORTEST_WAIT = 0.5
BETWEEN = timedelta(seconds=5)
"""The time between two looks at the least, however often the cloud announces something."""
AGAIN = 1.0
"""Seconds until a look that could not be made, or a duty that could not be given back, is tried again."""
LOOKS = 4
"""How often in each interval a manager asks whether it is time."""


class Monitoring(Background):
    """Looks and heals until it is stopped."""

    def __init__(
        self,
        database: Database,
        monitor: Monitor,
        healing: Healing,
        clock: Clock,
        metrics: Metrics = NO_METRICS,
    ) -> None:
        super().__init__(_name(monitor.pool))
        self._database = database
        self._monitor = monitor
        self._healing = healing
        self._metrics = metrics
        self._duty = Duty(f"monitor {monitor.pool}", database, clock, HELD)
        self._is_urgent = False

    def look_soon(self) -> None:
        """Look at once, or a moment after the last look: something has been announced.

        Of many announcements until then there is one look."""
        if not self._is_urgent:
            self._is_urgent = True
            self._thread.wake()

    def round(self) -> float:
        """Look and heal where it is time. Return the seconds to wait until the next round.

        Raises CloudUnavailable and CloudRefused where the cloud does not tell; then nothing is healed."""
        is_urgent, self._is_urgent = self._is_urgent, False
        if self._take(is_urgent):
            try:
                self._work()
            except ClaimLost:
                LOG.warning("Monitoring took too long; another manager goes on with it")
            finally:
                # Done also where it failed: Nova is not asked more often while it is away.
                self._duty.give_back()
        elif is_urgent:
            self._is_urgent = True  # a look under way may have been too early to see it
            return AGAIN
        else:
            self._see_from_outside()
        usual = max(self._monitor.interval.total_seconds() / LOOKS, SHORTEST_WAIT)
        return AGAIN if self._duty.is_owed else usual

    def _take(self, is_urgent: bool) -> bool:
        interval = self._monitor.interval
        try:
            return self._duty.take(min(interval, BETWEEN) if is_urgent else interval)
        except BlazarError:
            self._is_urgent |= is_urgent
            raise

    def _work(self) -> None:
        def check() -> None:
            self._thread.sign()
            self._duty.extend()

        sighting = self._monitor.look(check)
        self._metrics.hosts_seen(sighting.failed, sighting.unknown, sighting.is_held_back)
        if not sighting.is_held_back:
            self._tell(self._healing.heal(self._monitor.pool, check))
            self._monitor.refresh(check)

    def _see_from_outside(self) -> None:
        """Show what another manager's look has stored; what it could not believe, it tells itself."""
        with self._database.read() as uow:
            failed = len(uow.resources.failed(self._monitor.pool))
        seen = Sighting(failed)
        self._metrics.hosts_seen(seen.failed, seen.unknown, seen.is_held_back)

    def _tell(self, tally: Tally) -> None:
        if tally.left:
            LOG.warning("%d reservations wait for the next round of healing", tally.left)
        if tally.missed:
            LOG.warning("%d reservations have lost resources that cannot be replaced now", tally.missed)
        if tally.moved or tally.restored:
            LOG.info(
                "Healing: %d reservations got other resources, %d are whole again",
                tally.moved,
                tally.restored,
                extra={"action": "heal"},
            )


def _name(pool: Pool) -> str:
    region = region_of(pool)
    return "monitor" if region is None else f"monitor {region}"
