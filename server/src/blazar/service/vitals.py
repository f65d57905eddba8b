"""How is a manager doing: does its database answer, are events late, do notifications pile up?"""

from __future__ import annotations

from dataclasses import dataclass

from blazar.service.ports import Clock, Database


@dataclass(frozen=True, slots=True)
class Vitals:
    """What operators watch. The figures are those of all managers together, for they are those of the database."""

    event_lag_seconds: float
    """By how much the oldest event that is due and that nobody works on is late."""
    outbox: int
    """Notifications that are not delivered yet."""
    takes_changes: bool = True
    """Whether there is room for changes in the database, as far as the manager that was asked knows."""


class VitalSigns:
    """The use case of those who watch."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def read(self) -> Vitals:
        with self._database.read() as uow:
            lag, depth = round(uow.events.lag(self._clock.now()), 3), uow.outbox.depth()
        return Vitals(lag, depth, self._database.takes_changes())
