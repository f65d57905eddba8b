"""The lane of monitoring: look at the resources of a pool, and heal what failed ones should serve.

One manager does it at a time, whichever finds first that it is time. Work on events goes on beside it."""

from __future__ import annotations

import contextlib
import logging
from datetime import timedelta
from uuid import uuid4

from blazar.domain.errors import BlazarError, ClaimLost
from blazar.engine.threads import LongLivedThread
from blazar.service.healing import Healing, Tally
from blazar.service.health import ThreadHealth
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import Clock, Database
from blazar.service.ports.kind import Monitor, Sighting

LOG = logging.getLogger(__name__)
HELD = timedelta(minutes=3)
"""How long the duty is held without a sign of life: longer than Nova takes to list ten thousand hosts."""
SHORTEST_WAIT = 0.5
LOOKS = 4
"""How often in each interval a manager asks whether it is time."""


class Monitoring:
    """Looks and heals until it is stopped."""

    def __init__(
        self,
        database: Database,
        monitor: Monitor,
        healing: Healing,
        clock: Clock,
        metrics: Metrics = NO_METRICS,
    ) -> None:
        self._database = database
        self._monitor = monitor
        self._healing = healing
        self._clock = clock
        self._metrics = metrics
        self._duty = f"monitor {monitor.pool}"
        self._thread = LongLivedThread("monitor", self.round)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._thread.stop(5)

    def wake(self) -> None:
        """Look as soon as it is time."""
        self._thread.wake()

    def health(self) -> ThreadHealth:
        return self._thread.health()

    def round(self) -> float:
        """Look and heal where it is time. Return the seconds to wait until the next round.

        Raises CloudUnavailable and CloudRefused where the cloud does not tell; then nothing is healed."""
        token, now = str(uuid4()), self._clock.now()
        before = now - self._monitor.interval
        if self._database.transact(lambda u: u.duties.take(self._duty, token, now, now + HELD, before)):
            try:
                self._work(token)
            except ClaimLost:
                LOG.warning("Monitoring took too long; another manager goes on with it")
            finally:
                self._give_back(token)
        else:
            self._see_from_outside()
        return max(self._monitor.interval.total_seconds() / LOOKS, SHORTEST_WAIT)

    def _work(self, token: str) -> None:
        def check() -> None:
            self._thread.sign()
            now = self._clock.now()
            if not self._database.transact(lambda u: u.duties.extend(self._duty, token, now, now + HELD)):
                raise ClaimLost(event=self._duty)

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

    def _give_back(self, token: str) -> None:
        """The next look is due after the interval also where this one failed: Nova is not asked more often
        while it is away. A duty that cannot be given back expires."""
        with contextlib.suppress(BlazarError):
            now = self._clock.now()
            self._database.transact(lambda u: u.duties.give_back(self._duty, token, now))

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
