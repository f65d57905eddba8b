"""The reports to usage filters: which change of a lease is told to which filter."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.service.ports import Report, ReportType, UnitOfWork
from blazar.service.ports.enforcement import UsageFilter
from blazar.service.ports.kind import Kinds
from blazar.service.usage_documents import DATES, document

OVER = frozenset({LeaseStatus.TERMINATING, LeaseStatus.TERMINATED, LeaseStatus.DELETING})
"""The statuses of a lease whose use has ended, though the cloud may still have to release something."""
NOT_YET = frozenset({LeaseStatus.CREATING, LeaseStatus.WAITING})
"""The statuses of a lease that does not count yet."""


class UsageReports:
    """Stores in the transaction of a change what filters are to be told of it.

    ``exempt`` are the projects whose leases no filter looks at."""

    def __init__(self, filters: Sequence[UsageFilter], kinds: Kinds, exempt: Collection[str] = ()) -> None:
        self._filters = [each for each in filters if each.reports]
        self._kinds = kinds
        self._exempt = exempt

    def put(self, uow: UnitOfWork, old: Lease | None, new: Lease | None, now: datetime) -> None:
        """Store the reports of a lease that was ``old`` and is ``new``; None where it is not there."""
        if not self._filters:
            return
        lease, what = new or old, report_type(old, new)
        if what is ReportType.ENDED and new is not None and new.status in NOT_YET:
            lease = old  # with what it had: it was displaced
        if lease is None or what is None or lease.project_id in self._exempt:
            return
        for each in self._filters:
            if what in each.reports:
                documents = self._documents(what, old, lease, now)
                uow.reports.put(Report(each.name, lease.id, what, documents, now), now)

    def _documents(
        self, what: ReportType, old: Lease | None, lease: Lease, now: datetime
    ) -> dict[str, dict[str, object]]:
        if what is ReportType.UPDATED and old is not None:
            current = document(old, self._kinds, "UPDATING")
            return {"lease": document(lease, self._kinds, "UPDATING"), "current_lease": current}
        status = LeaseStatus.DELETING if what is ReportType.ENDED and old is lease else lease.status
        made = document(lease, self._kinds, status.value)
        if what is ReportType.ENDED:
            made["ended_at"] = DATES.moment(now)
        return {"lease": made}


NO_REPORTS = UsageReports((), {})


def report_type(old: Lease | None, new: Lease | None) -> ReportType | None:
    """Return what has become of a lease; None where a filter need not know.

    A lease begins to count when it is confirmed, or promoted, and ends once: as its end begins, or its
    deletion. One that is displaced, so that it waits, ends as well, and begins anew when it is promoted."""
    before = old.status if old else LeaseStatus.CREATING
    if new is None or new.status in OVER:
        return None if before in OVER or before is LeaseStatus.WAITING else ReportType.ENDED
    if new.status in NOT_YET:
        return ReportType.ENDED if old is not None and before not in NOT_YET else None
    if old is None or before in NOT_YET:
        return ReportType.CREATED
    return None if new.asks_as(old) and new.interval == old.interval else ReportType.UPDATED
