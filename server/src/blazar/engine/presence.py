"""How a program tells the others, and its operators, that it runs and how it is doing."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from blazar.domain.errors import BlazarError
from blazar.engine.background import Background
from blazar.service.ids import new_id
from blazar.service.ports import Clock, Database, Presence, UnitOfWork

INTERVAL = 15.0
"""Seconds between two signs of a program."""
KEPT = timedelta(days=1)
"""How long a program that was not seen again is listed."""
MINUTE = 4
"""Signs in a minute."""


@dataclass(frozen=True, slots=True)
class Load:
    """What a manager has to do now, and how late it was with it since it was asked last."""

    events: int
    """Events under way."""
    plans: int
    """Requests that wait for their turn to be planned."""
    late_seconds: float


class Announcing(Background):
    """Writes a program's presence from time to time, and takes it back at the end. So one that is listed and
    was not seen for long has ended without being told to."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        program: str,
        host: str,
        version: str,
        load: Callable[[], Load] | None = None,
    ) -> None:
        """``load`` tells that of a manager."""
        super().__init__("presence")
        self._database = database
        self._clock = clock
        now = clock.now()
        self._presence = Presence(new_id(), program, host, now, now, version)
        self._load = load
        self._late: deque[float] = deque(maxlen=MINUTE)

    def stop(self) -> None:
        super().stop()
        # Where the database is away, the presence is forgotten later.
        with contextlib.suppress(BlazarError):
            self._database.transact(lambda uow: uow.presences.remove(self._presence.id))

    def round(self) -> float:
        """Write that the program runs. Return the seconds to wait until the next round."""
        load, now = self._load() if self._load else None, self._clock.now()
        presence = replace(self._presence, seen_at=now)
        if load is not None:
            self._late.append(load.late_seconds)
            presence = replace(presence, events=load.events, plans=load.plans, late_seconds=max(self._late))

        def write(uow: UnitOfWork) -> None:
            uow.presences.put(presence)
            uow.presences.forget(now - KEPT)

        self._database.transact(write)
        return INTERVAL
