"""What is promised, as it was read last: a thread reads it every few seconds. No decision waits for it."""

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from blazarnova.intervals import Promises, promises_of

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: ``document`` is None where the one with the tag that is known is still true."""

    tag: str
    document: object = None


class Source(Protocol):
    """Where the document comes from."""

    def read(self, known: str) -> Reply:
        """Return the document, or only its tag where that is ``known``. May raise any exception."""
        ...


class PromisesReader:
    """Reads the promises again and again. Any thread may ask for them.

    They are as old as the request for them: what was asked for before ``max_age`` seconds is not told any
    more, so that nothing is decided by what may be wrong by now."""

    def __init__(
        self,
        source: Source,
        poll_seconds: float = 5,
        max_age: float = 60,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._poll_seconds = poll_seconds
        self._max_age = max_age
        self._monotonic = monotonic
        self._tag = ""
        self._known: tuple[Promises, float] | None = None
        self._process = 0
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def current(self) -> Promises | None:
        """Return the promises; None where none were read lately."""
        known = self._known
        if known is None or self._monotonic() - known[1] > self._max_age:
            return None
        return known[0]

    def ensure_running(self) -> None:
        """Have a thread of this process read; a fork has none of its parent's threads."""
        if self._process == os.getpid():
            return
        with self._lock:
            if self._process != os.getpid():
                self._process = os.getpid()
                threading.Thread(target=self._run, name="promises", daemon=True).start()

    def stop(self) -> None:
        """Read no more."""
        self._stopping.set()

    def read(self) -> None:
        """Read once. Raises what the source raises, and ValueError where it is no such document."""
        began = self._monotonic()
        reply = self._source.read(self._tag if self._known is not None else "")
        if reply.document is not None:
            self._known = promises_of(reply.document), began
            self._tag = reply.tag
        elif self._known is not None and reply.tag == self._tag:
            self._known = self._known[0], began

    def _run(self) -> None:
        """Read until it is stopped. What fails again and again is logged once."""
        told = ""
        while not self._stopping.is_set():
            try:
                self.read()
                told = ""
            except Exception as error:  # noqa: BLE001 - the edge of the thread, which goes on whatever happens
                if str(error) != told:
                    LOG.warning("It is not known what is promised to leases: %s", error)
                told = str(error)
            self._stopping.wait(self._poll_seconds)
