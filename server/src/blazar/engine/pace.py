"""How much of a processor work in the background takes from requests, which need the same interpreter."""

from __future__ import annotations

import threading
from collections.abc import Callable

LONGEST_REST = 5.0
"""Seconds."""


class Pace:
    """How fast some work may go: a bucket of processor time, which fills with ``share`` seconds in each
    second up to ``burst`` seconds. Used by several threads."""

    def __init__(self, share: float, burst: float, monotonic: Callable[[], float]) -> None:
        self._share = share
        self._burst = burst
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._left = burst
        self._at = monotonic()

    def rest(self, seconds: float) -> float:
        """Take what was used out of the bucket. Return the seconds to rest."""
        with self._lock:
            now = self._monotonic()
            self._left = min(self._left + (now - self._at) * self._share, self._burst) - seconds
            self._at = now
            return min(max(-self._left, 0.0) / self._share, LONGEST_REST)
