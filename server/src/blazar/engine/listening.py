"""The thread that hears what the cloud announces of its own accord, so that a failure is seen at once."""

from __future__ import annotations

from collections.abc import Callable

from blazar.engine.background import Background
from blazar.service.ports import Announcements

CHECK = 5.0
"""Seconds between two looks at whether the cloud can be heard."""


class Listening(Background):
    """Calls ``heard`` at each announcement, from another thread. It begins as soon as the broker is there."""

    def __init__(self, announcements: Announcements, heard: Callable[[], None]) -> None:
        super().__init__("listening")
        self._announcements = announcements
        self._heard = heard

    def stop(self) -> None:
        super().stop()
        self._announcements.stop()

    def round(self) -> float:
        self._announcements.listen(self._heard)
        return CHECK
