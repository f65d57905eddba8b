"""The requests that are short so far, and the long plans that wait for them.

A plan computes, and Python runs one thread at a time: beside a plan that takes a second, a request that needs
the interpreter twenty times for a moment waits twenty times. So a long plan waits instead, until the short
requests of other projects are answered.

Both are known by what they have done: a plan is long from LONG_PLAN on, and a request is short until
SHORT_REQUEST has passed. The requests of a project that has a long plan are not waited for, so no two plans
wait for each other. A plan waits MOST_WAITING times as long as it computes at the most, so it ends however
many short requests there are; and it does not wait while another project waits for its turn at planning."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONG_PLAN = 0.02
"""Seconds of a plan after which it waits for others."""
SHORT_REQUEST = 0.1
"""Seconds since its arrival for which a request is waited for."""
MOST_WAITING = 3.0
"""Seconds that a plan waits for each second that it computes."""
BREATH = 0.0002
"""Seconds of sleep at each look of a long plan, about once a millisecond: the other threads get the
interpreter then, instead of waiting until it is taken from the plan. A shorter plan would be longer by a
quarter."""
PAUSE = 0.001
"""Seconds between two looks at whether a short request is still there."""


class ShortRequests:
    """The requests of a manager that are being carried out. Threads may share it."""

    def __init__(
        self, monotonic: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._monotonic = monotonic
        self._sleep = sleep
        self._lock = threading.Lock()
        self._arrived: dict[str | None, deque[float]] = {}
        """When the requests that are being carried out arrived, by project."""
        self._with_long_plan: Counter[str | None] = Counter()

    @contextmanager
    def arrived(self, project_id: str | None) -> Iterator[None]:
        """Have plans of other projects wait for the request that is carried out inside the block."""
        at = self._monotonic()
        with self._lock:
            self._arrived.setdefault(project_id, deque()).append(at)
        try:
            yield
        finally:
            with self._lock:
                arrivals = self._arrived[project_id]
                arrivals.remove(at)
                if not arrivals:
                    del self._arrived[project_id]

    @contextmanager
    def planning(
        self, project_id: str | None, has_wanted_turn: Callable[[], bool] = lambda: False
    ) -> Iterator[Patience]:
        """Return the patience of the plan that is made inside the block.

        ``has_wanted_turn`` tells whether another project waits for the turn that the plan has."""
        patience = Patience(self, project_id, has_wanted_turn, self._monotonic, self._sleep)
        try:
            yield patience
        finally:
            if patience.is_long:
                self.ends_long_plan(project_id)

    def begins_long_plan(self, project_id: str | None) -> None:
        with self._lock:
            self._with_long_plan[project_id] += 1

    def ends_long_plan(self, project_id: str | None) -> None:
        with self._lock:
            self._with_long_plan[project_id] -= 1
            self._with_long_plan += Counter()  # forget the projects that have none

    def has_others(self, project_id: str | None) -> bool:
        """Tell whether a request of another project is there that a long plan of this one waits for."""
        since = self._monotonic() - SHORT_REQUEST
        with self._lock:
            return any(
                arrivals[-1] > since
                for project, arrivals in self._arrived.items()
                if project != project_id and project not in self._with_long_plan
            )


class Patience:
    """The patience of one plan with other requests."""

    def __init__(
        self,
        requests: ShortRequests,
        project_id: str | None,
        has_wanted_turn: Callable[[], bool],
        monotonic: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self._requests = requests
        self._project_id = project_id
        self._has_wanted_turn = has_wanted_turn
        self._monotonic = monotonic
        self._sleep = sleep
        self._began = monotonic()
        self.waited = 0.0
        """The seconds that the plan has waited for short requests."""
        self.is_long = False

    def breathe(self) -> None:
        """Give the interpreter of a long plan to other threads, and to short requests until they end."""
        began = self._monotonic()
        computed = began - self._began - self.waited
        if not self.is_long:
            if computed <= LONG_PLAN:
                return
            self.is_long = True
            self._requests.begins_long_plan(self._project_id)
        self._sleep(BREATH)
        before, most = self.waited, MOST_WAITING * computed
        while self.waited < most and self._has_to_wait():
            self._sleep(PAUSE)
            self.waited = before + self._monotonic() - began

    def _has_to_wait(self) -> bool:
        return self._requests.has_others(self._project_id) and not self._has_wanted_turn()
