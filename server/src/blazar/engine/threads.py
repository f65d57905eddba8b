"""A thread that runs one round of work after another, survives every failure, and reports whether it is
alive."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from blazar.domain.errors import BlazarError
from blazar.service.health import ThreadHealth, ThreadState

LOG = logging.getLogger(__name__)
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 5.0
"""Seconds between two rounds that fail: less than a claim holds, so that work goes on soon after an
outage."""
SILENT = 120.0
"""Seconds without a sign of life after which a thread counts as dead: longer than any call may take."""
FAILING = 30.0
"""Seconds of unforeseen failures, without one good round, after which a thread counts as failing."""


class LongLivedThread:
    """A thread that lives as long as its process.

    ``round`` does one round of work and returns the seconds to wait until the next one. A round that raises
    is logged, once for each cause, and repeated after a pause that grows from round to round. Failures that
    the service knows (the database or the broker is away) are part of life; unforeseen ones show in
    ``health``.

    ``start`` and ``stop`` are called once each; the other methods from any thread."""

    def __init__(
        self,
        name: str,
        round: Callable[[], float],
        monotonic: Callable[[], float] = time.monotonic,
        first_wait: float = 0.0,
    ) -> None:
        self._name = name
        self._round = round
        self._monotonic = monotonic
        self._first_wait = first_wait
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._signed = monotonic()
        self._pause = 0.0
        self._has_failed = False
        self._failing_since: float | None = None
        self._causes: set[str] = set()

    def start(self) -> None:
        self.sign()
        self._thread.start()

    def wake(self) -> None:
        """Begin the next round now."""
        self._wake.set()

    def stop(self, patience: float | None = None) -> None:
        """Begin no other round, and wait up to ``patience`` seconds for the one under way."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(patience)

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def rest(self, seconds: float) -> bool:
        """Wait within a round, but no longer than until the thread is to stop. Return whether it goes on."""
        return not self._stopping.wait(seconds)

    def sign(self) -> None:
        """Give a sign of life: a long round does so after each step."""
        self._signed = self._monotonic()

    def health(self) -> ThreadHealth:
        now = self._monotonic()
        silent = now - self._signed
        failing_since = self._failing_since
        if not self._thread.is_alive() or silent > SILENT:
            state = ThreadState.DEAD
        elif failing_since is not None and now - failing_since > FAILING:
            state = ThreadState.FAILING
        else:
            state = ThreadState.OK
        return ThreadHealth(self._name, state, round(silent, 3))

    def attempt(self, step: Callable[[], None]) -> bool:
        """Carry out one step of a round. Return false where it failed. Other steps go on."""
        try:
            step()
        except BlazarError as failure:
            self._log_once(failure)
            return False
        except Exception as failure:  # noqa: BLE001 - the edge of a thread that must not end; it is logged below
            self._log_once(failure)
            self._failing_since = self._failing_since or self._monotonic()
            return False
        return True

    def _run(self) -> None:
        self._wait(self._first_wait)
        failures = 0
        while not self._stopping.is_set():
            self._wake.clear()
            self.sign()
            self._has_failed = False
            if self.attempt(self._one_round):
                failures = 0
            else:
                self._pause = min(FIRST_PAUSE * 2 ** min(failures, 8), LONGEST_PAUSE)
                failures += 1
            if not self._has_failed:
                self._recovered()
            self._wait(self._pause)

    def _one_round(self) -> None:
        self._pause = self._round()

    def _wait(self, seconds: float) -> None:
        self._wake.wait(max(seconds, 0.0))

    def _recovered(self) -> None:
        self._failing_since = None
        if self._causes:
            self._causes.clear()
            LOG.info("%s works again", self._name)

    def _log_once(self, failure: Exception) -> None:
        self._has_failed = True
        cause = f"{type(failure).__name__}: {failure}"
        if cause in self._causes:
            return
        self._causes.add(cause)
        if isinstance(failure, BlazarError):
            LOG.warning("%s cannot work at the moment and goes on trying: %s", self._name, failure)
        else:
            LOG.error("%s failed unexpectedly and goes on", self._name, exc_info=failure)
