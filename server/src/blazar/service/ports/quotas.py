"""The port to what the database keeps of quotas: limits of projects, and what their leases use."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from blazar.domain.quota import Use
from blazar.domain.time import Interval


class QuotaRepository(Protocol):
    """Limits that projects have of their own, and the use of quantities by their leases."""

    def queue_up(self, project_id: str) -> None:
        """Wait until no other transaction of this project is between here and its end.

        Other projects do not notice. What the others have committed is seen from here on."""
        ...

    def limits(self, project_id: str) -> Mapping[str, int]:
        """Return the limits of the project's own, by name."""
        ...

    def all_limits(self) -> Mapping[str, Mapping[str, int]]:
        """Return the limits of each project that has some of its own, in the order of ids."""
        ...

    def set(self, project_id: str, limits: Mapping[str, int]) -> None:
        """Store these limits of the project; others stay."""
        ...

    def unset(self, project_id: str, names: Collection[str] | None = None) -> None:
        """Remove these limits of the project's own, or all with None."""
        ...

    def leases_ahead(self, project_id: str, now: datetime) -> int:
        """Return how many leases of the project end after ``now``, without those that are TERMINATED or
        DELETING. An offer counts as one until it expires."""
        ...

    def uses(self, project_id: str, interval: Interval, now: datetime) -> tuple[Sequence[Use], Sequence[str]]:
        """Return what the project's leases use that overlap the interval, without those that are DELETING,
        and without offers that have expired at ``now``; and the ids of those of which it is not known, for
        they were stored by a version before this."""
        ...

    def spend(self, project_id: str, use: Use) -> None:
        """Remember what a lease has used, and no longer tells."""
        ...

    def spent(self, project_id: str, interval: Interval) -> Sequence[Use]:
        """Return what is remembered of the interval."""
        ...

    def forget_spent(self, before: datetime) -> None:
        """Forget what projects have used up to ``before`` or earlier."""
        ...
