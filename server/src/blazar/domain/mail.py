"""What a user wants to be told by mail."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from blazar.domain.subscription import LeaseEvent


@dataclass(frozen=True, slots=True)
class MailChoice:
    """The choice of a user; without a choice it is this one."""

    events: tuple[LeaseEvent, ...] | None = None
    """What is told; None for what the operator has told, and nothing for no mail."""
    is_daily: bool = False
    """Tell all events of a day in one mail."""

    def wants(self, event: LeaseEvent, usual: Collection[LeaseEvent]) -> bool:
        """Return whether the event is told, where ``usual`` are those that the operator has told."""
        return event in (usual if self.events is None else self.events)

    def due(self, now: datetime, hour: int) -> datetime:
        """Return when that is told which happens now. ``hour`` is the one of daily mails, in UTC."""
        if not self.is_daily:
            return now
        today = now.replace(hour=hour, minute=0, second=0, microsecond=0)
        return today if today > now else today + timedelta(days=1)
