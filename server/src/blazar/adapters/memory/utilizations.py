"""What reservations were promised and have used, in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from blazar.adapters.memory.state import State
from blazar.domain.errors import Stale
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.lease.utilization import Utilization
from blazar.service.ports import UsageQuestion, UsageRow


class MemoryUtilizations:
    """The UtilizationRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def of_leases(self, lease_ids: Sequence[str]) -> Sequence[Utilization]:
        found = (each for each in self._state.utilizations.values() if each.lease_id in lease_ids)
        return sorted(found, key=lambda each: (each.lease_id, each.reservation_id))

    def left_open(self, limit: int) -> Sequence[str]:
        ids = {each.lease_id for each in self._state.utilizations.values() if not each.is_over}
        return sorted(i for i in ids if not self._is_active(i))[:limit]

    def _is_active(self, lease_id: str) -> bool:
        lease = self._state.leases.get(lease_id)
        return lease is not None and lease.status is LeaseStatus.ACTIVE

    def save(self, changes: Sequence[tuple[Utilization | None, Utilization]]) -> None:
        for old, new in changes:
            known = self._state.utilizations.get(new.reservation_id)
            if old is None and known is not None:
                raise Stale()
            was = known and (known.until, known.is_over)
            if was == (old and (old.until, old.is_over)):
                self._state.utilizations[new.reservation_id] = new

    def report(self, question: UsageQuestion, limit: int) -> Sequence[UsageRow]:
        groups: dict[tuple[str, str, str], list[Utilization]] = defaultdict(list)
        for each in filter(lambda each: _is_asked_for(each, question), self._state.utilizations.values()):
            project = each.project_id if question.by_project else ""
            user = each.user_id if question.by_user else ""
            groups[project, user, each.resource_type].append(each)
        rows = (_row(key, groups[key], question) for key in sorted(groups))
        return list(rows)[:limit]

    def forget(self, before: datetime, limit: int) -> None:
        old = [i for i, each in self._state.utilizations.items() if each.is_over and each.until <= before]
        for key in old[:limit]:
            del self._state.utilizations[key]


def _is_asked_for(each: Utilization, question: UsageQuestion) -> bool:
    filters = (
        (each.project_id, question.project_id),
        (each.user_id, question.user_id),
        (each.resource_type, question.resource_type),
    )
    is_in = each.until > question.start and each.start < question.end and each.until > each.start
    return is_in and all(asked is None or value == asked for value, asked in filters)


def _row(key: tuple[str, str, str], group: Sequence[Utilization], question: UsageQuestion) -> UsageRow:
    project, user, resource_type = key
    parts = [(_part(each, question), each) for each in group]
    return UsageRow(
        project or None,
        user or None,
        resource_type,
        leases=len({each.lease_id for each in group}),
        no_shows=len({each.lease_id for each in group if each.is_no_show and each.until <= question.end}),
        promised=sum(part * each.promised for part, each in parts),
        known=sum(part * each.known for part, each in parts),
        used=sum(part * each.used for part, each in parts),
    )


def _part(each: Utilization, question: UsageQuestion) -> float:
    inside = min(each.until, question.end) - max(each.start, question.start)
    return inside / (each.until - each.start)
