"""Carrying out what is started with leases, beside their events: a Heat that is slow or away holds up no
start and no end of a lease."""

from __future__ import annotations

from datetime import timedelta

from blazar.domain.errors import ClaimLost
from blazar.engine.background import Background
from blazar.service.start_tasks import StartTasks

AT_ONCE = 20
"""What is looked for in one round."""
LOOK = timedelta(seconds=2)


class Orchestrating(Background):
    """Takes the steps that are due, one after another. Several managers may do so at once."""

    def __init__(self, tasks: StartTasks, interval: timedelta = LOOK) -> None:
        super().__init__("orchestrating", first_wait=interval.total_seconds())
        self._tasks = tasks
        self._interval = interval.total_seconds()

    def round(self) -> float:
        """Take what steps are due now. Return the seconds to wait until the next round.

        Where Heat does not answer for one lease, it is not asked again in this round in the same region."""
        found = self._tasks.ready(AT_ONCE)
        silent: set[str | None] = set()
        for task in found:
            if self._thread.is_stopping:
                break
            self._thread.sign()
            if task.region in silent:
                continue
            try:
                if not self._tasks.work_on(task.lease_id):
                    silent.add(task.region)
            except ClaimLost:
                continue  # another manager goes on with it
        return 0.0 if len(found) == AT_ONCE and not silent else self._interval
