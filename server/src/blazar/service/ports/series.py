"""The port of series: where they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from blazar.domain.series import Series, SeriesRequest


class SeriesRepository(Protocol):
    """Series, without their leases."""

    def add(
        self,
        series: Series,
        now: datetime,
        key: tuple[str, str] | None = None,
        request: SeriesRequest | None = None,
    ) -> Series:
        """Insert the series with the key of the request that makes it, its name and fingerprint, and with
        what its leases were asked to be. Return it as stored: created_at is ``now``.

        Raises Stale where the id exists already, or the project has a series with a key of this name."""
        ...

    def get(self, series_id: str) -> Series | None: ...

    def request(self, series_id: str) -> SeriesRequest | None:
        """Return what the leases of the series were asked to be; None where it is gone, or an earlier version
        of the service has made it."""
        ...

    def with_key(self, project_id: str, name: str) -> tuple[Series, str] | None:
        """Return the series that the request with this key has made, and the fingerprint of that request."""
        ...

    def page(
        self, project_id: str | None, limit: int, after: str | None, name: str | None = None
    ) -> Sequence[Series]:
        """Return at most ``limit`` series of a project, or of all where that is None, in the order of their
        ids: those that follow ``after``, which need not be there; the first ones where it is None. With
        ``name`` only those that are called exactly so."""
        ...

    def save(self, series: Series, now: datetime) -> Series:
        """Write the name, occurrences and exceptions of a series that was read. Return it as stored:
        updated_at is ``now``, the revision is higher by one. Raises Stale where the stored revision is
        another."""
        ...

    def remove(self, series_id: str) -> None:
        """Raises Stale where it is gone."""
        ...

    def forget(self, before: datetime, limit: int) -> int:
        """Remove at most ``limit`` series whose last occurrence was to end at ``before`` or earlier. Return
        how many."""
        ...
