"""The lanes: each sort of work has workers of its own, so that none holds up another."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from blazar.domain.lease.event import Event
from blazar.service.events import HeldClaim


class Lane:
    """The workers of one sort of work, and the events that were found for them.

    Used by one thread; ``finished`` is called by the workers."""

    def __init__(self, name: str, workers: int, finished: Callable[[HeldClaim], None]) -> None:
        self.found: deque[Event] = deque()
        self._workers = workers
        self._finished = finished
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix=name)
        self._running: set[Future[None]] = set()

    @property
    def is_free(self) -> bool:
        """Return whether a worker has nothing to do."""
        return len(self._running) < self._workers

    def hand_over(self, work: Callable[[HeldClaim], None], held_claim: HeldClaim) -> None:
        future = self._pool.submit(work, held_claim)
        self._running.add(future)

        def finished(done: Future[None]) -> None:
            self._running.discard(done)
            self._finished(held_claim)

        future.add_done_callback(finished)

    def close(self) -> None:
        """Begin nothing else."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def wait(self, seconds: float) -> int:
        """Wait for what is under way; returns how much of it is not finished."""
        return len(wait(list(self._running), seconds).not_done)
