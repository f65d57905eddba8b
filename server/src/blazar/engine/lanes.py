"""The lanes: each sort of work has workers of its own, so that none holds up another.

``FIRST``, ``AGAIN`` and ``STUCK`` are the attempts that were made before at what each lane works on."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from blazar.domain.lease.event import Event
from blazar.service.events import HeldClaim
from blazar.service.ports import ANY_NUMBER

FIRST = range(1)
AGAIN = range(1, 5)
"""What is likely to be done soon: servers that take some seconds to be deleted, a cloud that was away."""
STUCK = range(AGAIN.stop, ANY_NUMBER.stop)
REST = 0.3
"""Seconds for which a worker rests after an attempt in vain at what is stuck. So a thousand servers
that refuse to die take about a twentieth of the manager's processor."""


class Lane:
    """The workers of one sort of work, and the events that were found for them.

    Used by one thread; ``finished`` is called by the workers, twice after work in vain. After it a worker
    rests for ``rest`` seconds."""

    def __init__(
        self, name: str, workers: int, finished: Callable[[HeldClaim], None], rest: float = 0.0
    ) -> None:
        self.found: deque[Event] = deque()
        self._rest = rest
        self._workers = workers
        self._finished = finished
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix=name)
        self._running: set[Future[None]] = set()

    @property
    def is_free(self) -> bool:
        """Return whether a worker has nothing to do."""
        return len(self._running) < self._workers

    def hand_over(self, work: Callable[[HeldClaim], bool], held_claim: HeldClaim) -> None:
        """Have a worker do the work, which returns whether it is done."""
        future = self._pool.submit(self._carry_out, work, held_claim)
        self._running.add(future)

        def finished(done: Future[None]) -> None:
            self._running.discard(done)
            self._finished(held_claim)

        future.add_done_callback(finished)

    def _carry_out(self, work: Callable[[HeldClaim], bool], held_claim: HeldClaim) -> None:
        if not work(held_claim) and self._rest:
            self._finished(held_claim)
            time.sleep(self._rest)

    def close(self) -> None:
        """Begin nothing else."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def wait(self, seconds: float) -> int:
        """Wait for what is under way; returns how much of it is not finished."""
        return len(wait(list(self._running), seconds).not_done)
