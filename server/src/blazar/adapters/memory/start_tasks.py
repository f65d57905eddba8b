"""What is started with leases, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from blazar.adapters.memory.state import HeldTask, State
from blazar.adapters.stored import fitting
from blazar.domain.errors import Stale
from blazar.domain.lease.start_task import StartTask
from blazar.service.ports import LONGEST_START_TASK_DELAY


class MemoryStartTasks:
    """The StartTaskRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def add(self, task: StartTask, now: datetime) -> StartTask:
        if task.lease_id in self._state.start_tasks:
            raise Stale()
        stored = replace(task, created_at=now, updated_at=None)
        self._state.start_tasks[task.lease_id] = HeldTask(stored)
        return stored

    def get(self, lease_id: str) -> StartTask | None:
        held = self._state.start_tasks.get(lease_id)
        return None if held is None else held.task

    def wake(self, lease_id: str, now: datetime) -> None:
        held = self._state.start_tasks.get(lease_id)
        if held is not None:
            woken = replace(held.task, due=now, revision=held.task.revision + 1)
            self._state.start_tasks[lease_id] = replace(held, task=woken)

    def ready(self, now: datetime, limit: int) -> Sequence[StartTask]:
        found = [each.task for each in self._state.start_tasks.values() if _is_ready(each, now)]
        return sorted(found, key=lambda each: (each.due or now, each.lease_id))[:limit]

    def take(self, lease_id: str, token: str, now: datetime, until: datetime) -> StartTask | None:
        held = self._state.start_tasks.get(lease_id)
        if held is None or not _is_ready(held, now):
            return None
        self._state.start_tasks[lease_id] = replace(held, token=token, until=until)
        return held.task

    def keep(self, task: StartTask, token: str, now: datetime) -> bool:
        return self._write(task, token, now, token)

    def settle(self, task: StartTask, token: str, now: datetime) -> bool:
        return self._write(task, token, now, None)

    def _write(self, task: StartTask, token: str, now: datetime, then: str | None) -> bool:
        held = self._state.start_tasks.get(task.lease_id)
        if held is None or held.token != token:
            return False
        is_woken = held.task.revision != task.revision
        written = replace(
            task,
            reason=fitting(task.reason),
            due=now if is_woken else task.due,
            revision=held.task.revision,
            created_at=held.task.created_at,
            updated_at=now,
        )
        until = held.until if then else None
        self._state.start_tasks[task.lease_id] = HeldTask(written, then, until)
        return True

    def remove(self, lease_id: str, token: str) -> bool:
        held = self._state.start_tasks.get(lease_id)
        if held is None or held.token != token:
            return False
        del self._state.start_tasks[lease_id]
        return True

    def forget(self, lease_ids: Sequence[str]) -> None:
        for each in lease_ids:
            held = self._state.start_tasks.get(each)
            if held is not None and held.task.due is None and each not in self._state.leases:
                del self._state.start_tasks[each]


def _is_ready(held: HeldTask, now: datetime) -> bool:
    due, until = held.task.due, held.until
    is_held = held.token is not None and until is not None and now < until <= now + LONGEST_START_TASK_DELAY
    return due is not None and due <= now and not is_held
