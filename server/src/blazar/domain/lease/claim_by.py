"""How long after its start a lease has to be used: one that is unused then is released."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from blazar.domain.time import MINUTE, floor_minute


@dataclass(frozen=True, slots=True)
class ClaimBy:
    """The time in which a lease has to be used."""

    after: timedelta
    """In whole minutes, from its start on."""
    since: datetime | None = None
    """When it could be used first, where that was later than its start."""
    released_at: datetime | None = None
    """When it was released, for it was unused."""

    def deadline(self, start: datetime) -> datetime:
        """Return until when a lease that starts then has to be used."""
        return (self.since or start) + self.after

    def warning(self, start: datetime, ahead: timedelta) -> datetime:
        """Return when to warn: so long ``ahead`` of the deadline, or half way where there is no more time
        than that."""
        deadline = self.deadline(start)
        return deadline - ahead if ahead < self.after else floor_minute(deadline - self.after / 2)

    @property
    def reason(self) -> str | None:
        """Return why the lease is over before its end, where it is for this."""
        if self.released_at is None:
            return None
        released = f"{self.released_at:%Y-%m-%d %H:%M}"
        return f"It was not used within {self.after // MINUTE} minutes, so it was released at {released}."
