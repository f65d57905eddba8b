"""The thread that hears what the cloud announces of its own accord, so that a failure is seen at once."""

from __future__ import annotations

from collections.abc import Callable

from blazar.engine.threads import LongLivedThread
from blazar.service.health import ThreadHealth
from blazar.service.ports import Announcements

CHECK = 5.0
"""Seconds between two looks at whether the cloud can be heard."""


class Listening:
    """Calls ``heard`` at each announcement, from another thread. It begins as soon as the broker is there."""

    def __init__(self, announcements: Announcements, heard: Callable[[], None]) -> None:
        self._announcements = announcements
        self._heard = heard
        self._thread = LongLivedThread("listening", self._round)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._thread.stop(5)
        self._announcements.stop()

    def health(self) -> ThreadHealth:
        return self._thread.health()

    def _round(self) -> float:
        self._announcements.listen(self._heard)
        return CHECK
