"""Telling that leases are about to start."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from uuid import uuid4

from blazar.domain.errors import Stale
from blazar.engine.background import Background
from blazar.service.notifications import LEASE_START_SOON, payload
from blazar.service.ports import Clock, Database, UnitOfWork
from blazar.service.ports.kind import Kinds

DUTY = "start-soon"
LOOK = timedelta(seconds=10)
HELD = timedelta(minutes=1)
AT_ONCE = 200
"""Leases that are read at once."""


class StartSoon(Background):
    """Tells of each lease once that it starts within ``notice``.

    The moment of the last look is kept in the database. Each look tells of the leases whose notice has begun
    since then, and moves the moment in the same transaction: so none is told twice, and what a time without
    managers has left out is told after it. A lease that is made or moved to start within the notice is not
    told."""

    def __init__(self, database: Database, kinds: Kinds, clock: Clock, notice: timedelta) -> None:
        super().__init__("start-soon", first_wait=LOOK.total_seconds())
        self._database = database
        self._kinds = kinds
        self._clock = clock
        self._notice = notice
        self._token = str(uuid4())

    def round(self) -> float:
        """Look once, where no other manager has just done so. Return the seconds until the next look."""
        with suppress(Stale):  # another manager looks for the first time
            self._database.transact(self._tell)
        return LOOK.total_seconds()

    def _tell(self, uow: UnitOfWork) -> None:
        now = self._clock.now()
        if not uow.duties.take(DUTY, self._token, now, now + HELD, now - LOOK / 2):
            return
        since = min(uow.duties.done_at(DUTY) or now, now)
        ids = uow.leases.starting(max(since + self._notice, now), now + self._notice)
        for first in range(0, len(ids), AT_ONCE):
            leases = uow.leases.get_many(ids[first : first + AT_ONCE])
            uow.outbox.put_all([(LEASE_START_SOON, payload(each, self._kinds)) for each in leases], now)
        uow.duties.give_back(DUTY, self._token, now)
