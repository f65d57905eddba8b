"""The port of what is started with leases: where it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from blazar.domain.lease.start_task import StartTask

LONGEST_START_TASK_DELAY = timedelta(minutes=10)
"""For how long a manager may have one under way. What is held for longer was taken by a clock that was
ahead."""


class StartTaskRepository(Protocol):
    """What is started with leases, at most one for each lease."""

    def add(self, task: StartTask, now: datetime) -> StartTask:
        """Return it as stored: created_at is ``now``. Raises Stale where the lease has one."""
        ...

    def get(self, lease_id: str) -> StartTask | None: ...

    def wake(self, lease_id: str, now: datetime) -> None:
        """Let it be due, for its lease has changed, also where a manager has it under way. Nothing is done
        where there is none."""
        ...

    def ready(self, now: datetime, limit: int) -> Sequence[StartTask]:
        """Return those that are due and that no manager has under way, those first that are due longest."""
        ...

    def take(self, lease_id: str, token: str, now: datetime, until: datetime) -> StartTask | None:
        """Take it. No other manager gets it before ``until``. None where it is not due, or another manager
        was faster."""
        ...

    def keep(self, task: StartTask, token: str, now: datetime) -> bool:
        """Write what has become of it, and go on having it. Return false where another manager has it."""
        ...

    def settle(self, task: StartTask, token: str, now: datetime) -> bool:
        """Write what has become of it, and give it back. It is due at ``task.due``, or ``now`` where it was
        woken meanwhile. Return false, and write nothing, where another manager has it."""
        ...

    def remove(self, lease_id: str, token: str) -> bool:
        """Remove it. Return false where another manager has it."""
        ...

    def forget(self, lease_ids: Sequence[str]) -> None:
        """Remove those of these leases that have nothing left to do and whose lease is gone."""
        ...
