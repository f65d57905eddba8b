"""The list of the programs that run, for administrators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from blazar.service.ports import Clock, Database, Presence

SILENT = timedelta(seconds=60)
"""How long ago a program that runs was seen at the most: it missed three of its signs by then."""


@dataclass(frozen=True, slots=True)
class ServiceState:
    """A program, and whether it runs."""

    presence: Presence
    is_up: bool


class Services:
    """The use case of those who look after the service."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def list(self) -> Sequence[ServiceState]:
        """Return the programs by name and host. A time that is far ahead was written by a wrong clock, and
        proves nothing."""
        with self._database.read() as uow:
            found = uow.presences.list()
        now = self._clock.now()
        return [ServiceState(each, abs(now - each.seen_at) <= SILENT) for each in found]
