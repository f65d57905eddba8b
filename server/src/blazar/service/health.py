"""Report how a program is doing: its database, its threads, late events and notifications that pile up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from blazar.service.ports import Clock, Database

MOST_EVENTS = 10_000
"""So many events are counted, so that the count costs little when most is late."""


class ThreadState(StrEnum):
    OK = "OK"
    FAILING = "FAILING"
    """Every round has failed for a while, for a reason that the service does not know."""
    DEAD = "DEAD"
    """It has ended, was never started, or has given no sign of life for minutes."""


@dataclass(frozen=True, slots=True)
class ThreadHealth:
    """One of the threads that live as long as the manager."""

    name: str
    state: ThreadState
    silent_seconds: float
    """Seconds since its last sign of life."""


@dataclass(frozen=True, slots=True)
class ManagerHealth:
    """The health of a manager. ``event_lag_seconds`` and ``outbox`` are those of all managers together, for
    they are read from the database; the threads are those of the manager that answers."""

    event_lag_seconds: float
    """By how much the oldest event that is due and not being worked on is late."""
    outbox: int
    """Notifications that are not delivered yet."""
    takes_changes: bool = True
    """Whether there is room for changes in the database, as far as the manager that was asked knows."""
    threads: tuple[ThreadHealth, ...] = ()
    events_waiting: int = 0
    """Events that are due and not being worked on, MOST_EVENTS at the most."""
    plans_waiting: int = 0
    """Requests that wait at this manager for their turn to be planned."""
    has_token: bool | None = None
    """Whether Keystone gives this manager a token; None where it has not looked, and of a manager of the
    version before."""
    subscription_lag_seconds: float = 0.0
    """How long the oldest notification has waited to be compared with the subscriptions: of all programs
    together."""

    @property
    def works(self) -> bool:
        """Return whether requests and events can be carried out."""
        return self.takes_changes and all(thread.state is ThreadState.OK for thread in self.threads)


class HealthUseCases:
    """The use case of monitoring."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        threads: Callable[[], Sequence[ThreadHealth]] = tuple,
        plans_waiting: Callable[[], int] = lambda: 0,
        has_token: Callable[[], bool | None] = lambda: None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._threads = threads
        self._plans_waiting = plans_waiting
        self._has_token = has_token

    def read(self) -> ManagerHealth:
        now = self._clock.now()
        with self._database.read() as uow:
            lag, depth = round(uow.events.lag(now), 3), uow.outbox.depth()
            waiting = uow.events.waiting(now, MOST_EVENTS)
            unmatched = uow.outbox.unmatched(1)
        return ManagerHealth(
            lag,
            depth,
            self._database.takes_changes(),
            self.threads(),
            waiting,
            self._plans_waiting(),
            self._has_token(),
            max([0.0, *(round((now - each.created_at).total_seconds(), 3) for each in unmatched)]),
        )

    def threads(self) -> tuple[ThreadHealth, ...]:
        """Return the threads of this manager, whether the database answers or not."""
        return tuple(self._threads())
