"""A duty as a manager does it: take it, hold it while it lasts, and give it back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from blazar.domain.errors import BlazarError, ClaimLost
from blazar.engine.threads import LongLivedThread
from blazar.service.ports import Clock, Database

EXTEND = 30.0
"""Seconds between two extensions of a duty that asks the cloud for much."""


@dataclass(frozen=True, slots=True)
class _Return:
    """A duty that is to be given back: done at this moment, or not done."""

    done_at: datetime | None


class Duty:
    """A duty of one manager. It is used by one thread.

    The database may fail at any of its calls, and may have done what it was asked for. So the manager keeps
    its token as long as it lives, by which it takes its own turn again; and what it cannot give back it
    remembers, and gives back before it asks for the next turn. Only a manager that dies holds a duty for the
    whole time of ``held``.

    Every method raises CloudUnavailable where the database does not answer, but for ``give_back``."""

    def __init__(self, name: str, database: Database, clock: Clock, held: timedelta) -> None:
        self._name = name
        self._database = database
        self._clock = clock
        self._held = held
        self._token = str(uuid4())
        self._owed: _Return | None = None

    def take(self, interval: timedelta) -> bool:
        """Return false where it was done within the interval, or another manager has it."""
        self._settle()
        now = self._clock.now()
        before, until = now - interval, now + self._held
        return self._database.transact(lambda u: u.duties.take(self._name, self._token, now, until, before))

    def extend(self) -> None:
        """Hold it for longer. Raises ClaimLost where another manager may have it."""
        now = self._clock.now()
        until = now + self._held
        if not self._database.transact(lambda u: u.duties.extend(self._name, self._token, now, until)):
            raise ClaimLost(event=self._name)

    def pacing(
        self, thread: LongLivedThread, rest: float, monotonic: Callable[[], float]
    ) -> Callable[[], None]:
        """Return what is to be called before each request to the cloud.

        It rests for so many seconds, gives the thread's sign of life, and holds the duty for longer from time
        to time. It raises ClaimLost where the thread is to stop, or another manager may have the duty."""
        extended = monotonic()

        def check() -> None:
            nonlocal extended
            thread.sign()
            if thread.is_stopping:
                raise ClaimLost(event=self._name)
            self._clock.pause(rest)
            if monotonic() - extended > EXTEND:
                extended = monotonic()
                self.extend()

        return check

    def give_back(self, is_done: bool = True, done_at: datetime | None = None) -> None:
        """Give it back, now or as soon as the database answers: as done at ``done_at``, or now."""
        self._owed = _Return((done_at or self._clock.now()) if is_done else None)
        with contextlib.suppress(BlazarError):
            self._settle()

    @property
    def is_owed(self) -> bool:
        """Whether it could not be given back yet."""
        return self._owed is not None

    def _settle(self) -> None:
        owed = self._owed
        if owed is not None:
            self._database.transact(lambda u: u.duties.give_back(self._name, self._token, owed.done_at))
            self._owed = None
