"""The failure of a resource: what the monitor sees of it, beside the operator's wish and a deregistration
under way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum


class FailureReason(StrEnum):
    """Why a resource cannot serve now."""

    DOWN = "down"
    """Nothing on it can be reached; its servers may be lost."""
    DISABLED = "disabled"
    """No new server gets there; those that are there run on."""
    UNKNOWN = "unknown"
    """A reason that only a newer version knows."""

    @classmethod
    def _missing_(cls, value: object) -> FailureReason:
        return cls.UNKNOWN


@dataclass(frozen=True, slots=True)
class Failure:
    """A resource has failed, and is not reservable until it has been back for long enough."""

    reason: FailureReason
    since: datetime
    """Since when it has failed for this reason, as far as the monitor saw."""
    back_since: datetime | None = None
    """Since when it works again. It is on probation then: it may fail again at once."""

    @property
    def is_present(self) -> bool:
        """Return whether the resource still fails."""
        return self.back_since is None


def observed(
    failure: Failure | None, reason: FailureReason | None, now: datetime, probation: timedelta
) -> Failure | None:
    """Return the failure after a look at the resource: ``reason`` is why it cannot serve now, None where it
    can.

    A failure is over when the resource has worked for ``probation``. One that comes and goes is one failure
    all the time, so that leases do not come and go with it."""
    if reason is not None:
        if failure is None or failure.reason is not reason:
            return Failure(reason, now)
        return replace(failure, back_since=None)
    if failure is None:
        return None
    back_since = failure.back_since or now
    return None if now - back_since >= probation else replace(failure, back_since=back_since)
