"""What users are told by mail of their own leases: which events, and how much is kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from blazar.domain.subscription import LeaseEvent
from blazar.service.ports import MailItem, Notification, UnitOfWork

MOST_WAITING = 100
"""Items that wait for a user at the most. What comes then is counted only."""
KEPT = ("lease_id", "name", "project_id", "start_date", "end_date", "status", "status_reason")


def keep_mails(
    uow: UnitOfWork,
    told: Sequence[tuple[Notification, LeaseEvent]],
    mailed: Collection[LeaseEvent],
    now: datetime,
) -> None:
    """Store an item for the user of each lease of which an event is ``mailed``."""
    new: dict[str, list[MailItem]] = defaultdict(list)
    for notification, event in told:
        user_id = notification.payload.get("user_id")
        if event in mailed and user_id:
            item = MailItem(user_id, event, _document(notification), notification.created_at)
            new[user_id].append(item)
    waiting = uow.mails.waiting(new) if new else {}
    # In one order, so that two transactions do not wait for each other.
    for user_id, items in sorted(new.items()):
        free = max(MOST_WAITING - waiting.get(user_id, 0), 0)
        uow.mails.put(user_id, items[:free], len(items[free:]), now)


def _document(notification: Notification) -> dict[str, Any]:
    lease = notification.payload
    kinds = sorted({str(each.get("resource_type")) for each in lease["reservations"]})
    return {**{name: lease[name] for name in KEPT if lease.get(name) is not None}, "resource_types": kinds}
