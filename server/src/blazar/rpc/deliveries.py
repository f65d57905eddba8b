"""Deliveries of calls by the message broker: the second one of a call is not carried out.

A broker delivers a message again where the receiver's connection is lost before it has learnt that the
message arrived. Without this, a change could be carried out again after a later one was answered: the lease
would be as it was asked for first, and a lease that was deleted would be there again.

That a call is begun is committed by itself, before anything of the call. It could be written with the change
that the call leads to, but then a second delivery would go as far as that commit: it would make trusts and
server groups, move hosts in Nova, and answer "not enough hosts" because the first one has them. So a call
whose manager dies before its change is committed is not carried out, and its caller gets no answer."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

from blazar.domain.errors import Stale, TooLate
from blazar.service.ports import Clock, Database, UnitOfWork

KEPT = timedelta(hours=1)
"""How long a call is remembered: longer than any caller waits."""
FORGET = timedelta(minutes=5)
"""How often calls are forgotten."""
SILENCE = timedelta(seconds=60)
"""How long the second delivery of a call without a deadline is not answered."""


class Deliveries:
    """Remembers in the database which calls were begun, by any manager."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        self._forget_after: datetime | None = None

    def require_first(self, call_id: str, deadline: datetime | None) -> None:
        """Return where the call was not begun before, and remember that it is now.

        Its second delivery is not answered before the deadline, for the answer must not come before that of
        the first one. Then raises TooLate: the caller waits no more."""
        now, forgets = self._clock.now(), self._is_time_to_forget()

        def begin(uow: UnitOfWork) -> None:
            uow.calls.begin(call_id, now)
            if forgets:
                uow.calls.forget(now - KEPT)

        try:
            self._database.transact(begin)
        except Stale:
            self._clock.pause(max(((deadline or now + SILENCE) - now).total_seconds(), 0.0))
            raise TooLate() from None

    def _is_time_to_forget(self) -> bool:
        now = self._clock.now()
        with self._lock:
            is_time = self._forget_after is None or now >= self._forget_after
            if is_time:
                self._forget_after = now + FORGET
            return is_time
