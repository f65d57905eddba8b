"""The turns of projects at planning: so many at once, one for each project, and the projects take turns.

Planning needs the processor, and a plan in the worst case needs it for a second. Without turns one project
could keep all threads of a manager busy. With them its expensive plans delay its own next ones first: a
neighbour waits, at the worst, for one plan of each project that asks at the same time.

Who waits for a turn keeps a thread of the manager and one of blazar-api, which a neighbour needs. So few of
the plans of a project may wait where its plans are expensive, and many where they are cheap: as many as are
planned within a second, by the processor time that its plans took before. The others are refused at once.

Turns are about fairness only. Two requests for the same resource are kept apart by its generation, which the
commit compares: see ``service.leases.store`` and ``domain.calendar.generations``."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from blazar.domain.errors import CloudUnavailable, TooLate

AT_ONCE = 4
"""How many plans run at once. More of them would only wait for the processor together."""
FEW = 2
"""How many plans of a project may wait however expensive they are."""
WAIT = 1.0
"""Seconds of processor time of the plans of a project that may wait, where they are more than FEW."""
TOO_MANY = "too many requests of this project are being planned"
"""The reason of the refusal; ``api.throttle`` knows it by this sentence."""
REMEMBERED = 30.0
"""Seconds after its last plan for which the cost of a project's plans is known."""


class _Turn:
    """The turn of one plan, which comes or is refused."""

    def __init__(self) -> None:
        self.is_decided = threading.Event()
        self.is_refused = False


@dataclass(frozen=True, slots=True)
class _Cost:
    """What a plan of a project costs: seconds of processor time, as known ``at`` this moment."""

    seconds: float
    at: float


class Turns:
    """Hand out turns; threads wait for theirs."""

    def __init__(
        self,
        at_once: int = AT_ONCE,
        processor: Callable[[], float] = time.thread_time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``processor`` tells the seconds of processor time of this thread."""
        self._free = at_once
        self._processor = processor
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._running: set[str | None] = set()
        self._costs: dict[str | None, _Cost] = {}
        self._waiting: dict[str | None, deque[_Turn]] = {}
        """By project, in the order in which their turns come."""

    @contextmanager
    def taken(self, project_id: str | None, patience: Callable[[], float | None]) -> Iterator[None]:
        """Wait for a turn of the project, and have it inside the block.

        ``patience`` is asked for the seconds that the caller still waits; None means for ever. Raises TooLate
        where they are over before the turn comes, and CloudUnavailable where too many expensive plans of
        the project wait."""
        self._wait(project_id, patience)
        began = self._processor()
        try:
            yield
        finally:
            with self._lock:
                self._free += 1
                self._running.discard(project_id)
                self._learn(project_id, self._processor() - began)
                self._refuse_surplus(project_id)
                self._hand_out()

    def waiting(self) -> int:
        """Return how many plans wait for their turn."""
        with self._lock:
            return sum(map(len, self._waiting.values()))

    def is_wanted(self) -> bool:
        """Tell whether a project that has no turn waits for one."""
        with self._lock:
            return any(project_id not in self._running for project_id in self._waiting)

    def _wait(self, project_id: str | None, patience: Callable[[], float | None]) -> None:
        turn = _Turn()
        with self._lock:
            self._waiting.setdefault(project_id, deque()).append(turn)
            self._hand_out()
            self._refuse_surplus(project_id)
        if not turn.is_decided.is_set():
            seconds = patience()
            turn.is_decided.wait(None if seconds is None else max(seconds, 0))
            with self._lock:
                if not turn.is_decided.is_set():
                    self._leave(project_id, turn)
                    raise TooLate()
        if turn.is_refused:
            raise CloudUnavailable(service="blazar-manager", reason=TOO_MANY)

    def _learn(self, project_id: str | None, seconds: float) -> None:
        """Learn the cost of a plan. Cheap ones in between do not hide the expensive ones at once."""
        now = self._monotonic()
        self._costs = {each: cost for each, cost in self._costs.items() if now - cost.at < REMEMBERED}
        before = self._costs.get(project_id)
        self._costs[project_id] = _Cost(max(seconds, before.seconds / 2 if before else 0.0), now)

    def _refuse_surplus(self, project_id: str | None) -> None:
        """Refuse the last ones of a line that is longer than the project's plans allow."""
        cost, waiting = self._costs.get(project_id), self._waiting.get(project_id)
        if cost is None or waiting is None:
            return
        most = max(FEW, int(WAIT / max(cost.seconds, 1e-6)))
        while len(waiting) > most:
            turn = waiting.pop()
            turn.is_refused = True
            turn.is_decided.set()

    def _hand_out(self) -> None:
        """Give free turns to the projects that have none, the one that had its last turn longest ago
        first."""
        for project_id in list(self._waiting):
            if not self._free:
                return
            if project_id not in self._running:
                turn = self._waiting[project_id].popleft()
                rest = self._waiting.pop(project_id)
                if rest:
                    self._waiting[project_id] = rest  # at the end of the line
                self._free -= 1
                self._running.add(project_id)
                turn.is_decided.set()

    def _leave(self, project_id: str | None, turn: _Turn) -> None:
        waiting = self._waiting[project_id]
        waiting.remove(turn)
        if not waiting:
            del self._waiting[project_id]
