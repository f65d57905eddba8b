"""The reading of dates as callers write them."""

from __future__ import annotations

from datetime import datetime

from blazar.domain.time import floor_minute
from blazar.service.commands import NOW, Moment


def moment_of(asked: Moment, minute: datetime) -> datetime:
    """Return the moment in whole minutes; ``minute`` is the current one."""
    return minute if asked is NOW else floor_minute(asked)
