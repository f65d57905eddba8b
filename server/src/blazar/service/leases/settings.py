"""The operator's settings for leases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class WaitSettings:
    """The operator's settings for leases that wait in line."""

    most: int = 5
    """Leases of a project that may wait at once; 0 for none."""
    longest: timedelta = timedelta(hours=168)
    """How long a lease may wait."""
    places: int = 200
    """Leases of all projects that may wait at once: as many are planned again and again."""


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    """The operator's settings for leases."""

    notification: timedelta = timedelta(minutes=60)
    """How long before the end users are warned by default; zero for never."""
    delete_wait: timedelta = timedelta(seconds=10)
    """How long a deletion waits for the cloud to be clean before it answers; it goes on afterwards."""
