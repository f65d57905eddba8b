"""The throttle of projects: who is told to come back later has few changes under way until it is quiet.

Blazar-manager refuses a project's plans where too many of them wait (``service.turns``). To find that out
costs a request its body, a thread and two messages, and a project that asks over and over makes its
neighbours pay for them. So from the first such refusal on, surplus changes of the project are refused before
their body is read."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from blazar.domain.errors import CloudUnavailable
from blazar.service.turns import TOO_MANY

FEW = 3
"""How many changes of a project are under way at once: the one that is planned, and those that wait."""
REMEMBERED = 30.0
"""Seconds after its last refusal for which a project is throttled."""


class Throttle:
    """The throttle of one process. Threads share it."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._under_way: Counter[str | None] = Counter()
        self._refused: dict[str | None, float] = {}
        """By project, the moment of its last refusal."""

    @contextmanager
    def passed(self, project_id: str | None) -> Iterator[None]:
        """Carry out a change of the project inside the block. Raises CloudUnavailable where the project is
        throttled, and has enough under way."""
        self._enter(project_id)
        try:
            yield
        except CloudUnavailable as refusal:
            if refusal.fields.get("reason") == TOO_MANY:
                self._remember(project_id)
            raise
        finally:
            self._leave(project_id)

    def _enter(self, project_id: str | None) -> None:
        with self._lock:
            if self._under_way[project_id] >= FEW and self._is_throttled(project_id):
                raise CloudUnavailable(service="blazar-manager", reason=TOO_MANY)
            self._under_way[project_id] += 1

    def _is_throttled(self, project_id: str | None) -> bool:
        refused = self._refused.get(project_id)
        return refused is not None and self._monotonic() - refused < REMEMBERED

    def _remember(self, project_id: str | None) -> None:
        now = self._monotonic()
        with self._lock:
            self._refused = {each: at for each, at in self._refused.items() if now - at < REMEMBERED}
            self._refused[project_id] = now

    def _leave(self, project_id: str | None) -> None:
        with self._lock:
            self._under_way[project_id] -= 1
            if not self._under_way[project_id]:
                del self._under_way[project_id]
