"""The operator's settings for leases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    """The operator's settings for leases."""

    notification: timedelta = timedelta(minutes=60)
    """How long before the end users are warned by default; zero for never."""
    delete_wait: timedelta = timedelta(seconds=10)
    """How long a deletion waits for the cloud to be clean before it answers; it goes on afterwards."""
