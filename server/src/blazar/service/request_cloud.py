"""The cloud as a request uses it: each call ends when the caller stops waiting for the answer."""

from __future__ import annotations

from datetime import timedelta

from blazar.service.context import Caller
from blazar.service.ports import Clock, Cloud

PATIENCE = timedelta(seconds=60)
"""How long a request may use the cloud where its caller sets no deadline."""
UNDO_SECONDS = 5.0
"""How long each call may take that removes what a failed request has made: its deadline may have passed."""


def within_request(cloud: Cloud, caller: Caller | None, clock: Clock) -> Cloud:
    """Return the cloud for a request that begins now. Its calls raise TooLate after the deadline."""
    deadline = (caller.deadline if caller else None) or clock.now() + PATIENCE
    return cloud.for_request(lambda: (deadline - clock.now()).total_seconds())


def for_undo(cloud: Cloud) -> Cloud:
    """Return the cloud for removing what a failed request has made."""
    return cloud.for_request(lambda: UNDO_SECONDS)
