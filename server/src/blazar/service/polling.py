"""The waiting of a request: it looks again and again, with growing pauses, up to a deadline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from blazar.service.ports import Clock


@dataclass(frozen=True, slots=True)
class Pauses:
    """The seconds between two looks: ``first``, then each time twice as long, up to ``longest``."""

    first: float
    longest: float


LEASE_PAUSES = Pauses(0.05, 0.5)
"""For a lease that the engine or another request is working on: most are done in a fraction of a second."""
DATABASE_PAUSES = Pauses(0.5, 0.5)
"""For a database that was lost: it takes seconds to come back."""


def until(deadline: datetime, clock: Clock, pauses: Pauses) -> Iterator[None]:
    """Yield for each look, with pauses in between, until ``deadline``.

    The time that is left is counted by the pauses as well, so that the wait ends also where the clock is set
    back meanwhile."""
    left = (deadline - clock.now()).total_seconds()
    pause = pauses.first
    while left > 0 and clock.now() < deadline:
        yield
        clock.pause(min(pause, left))
        left -= pause
        pause = min(2 * pause, pauses.longest)
