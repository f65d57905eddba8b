"""How late an event begins: by its time, its next attempt, or the moment at which it was made."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from blazar.domain.lease.event import Event, EventType
from blazar.domain.lease.lateness import lateness

NOON = datetime(2031, 5, 1, 12, tzinfo=UTC)


def at(seconds: float | None) -> datetime | None:
    return None if seconds is None else NOON + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("due", "created", "now", "late"),
    [
        pytest.param(None, None, 5, 5, id="counted from its time"),
        pytest.param(None, -3600, 5, 5, id="made long before"),
        pytest.param(None, 40, 41, 1, id="made after its time, as the start of a lease that starts now"),
        pytest.param(30, -3600, 32, 2, id="counted from the next attempt"),
        pytest.param(None, None, -1, -1, id="early, by a clock that is ahead"),
    ],
)
def test_lateness(due: float | None, created: float | None, now: float, late: float) -> None:
    event = Event("event", "lease", EventType.START, NOON, due=at(due), created_at=at(created))
    assert lateness(event, NOON + timedelta(seconds=now)) == timedelta(seconds=late)
