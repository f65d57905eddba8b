"""What users are told by mail of their own leases: which events, when, and how much is kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from blazar.domain.mail import MailChoice
from blazar.domain.subscription import LeaseEvent
from blazar.service.ports import MailItem, Notification, UnitOfWork

MOST_WAITING = 100
"""Items that wait for a user at the most. What comes then is counted only."""
KEPT = (
    "lease_id",
    "name",
    "project_id",
    "start_date",
    "end_date",
    "status",
    "status_reason",
    "claim_by_date",
)
USUAL = MailChoice()


@dataclass(frozen=True, slots=True)
class MailPlan:
    """What the operator has told by mail."""

    is_sent: bool = False
    events: Collection[LeaseEvent] = ()
    """Of users who have not chosen any."""
    daily_hour: int = 6
    """When the mails of users go out who want one a day, in UTC."""


NO_MAIL = MailPlan()


def keep_mails(
    uow: UnitOfWork, told: Sequence[tuple[Notification, LeaseEvent]], plan: MailPlan, now: datetime
) -> None:
    """Store an item for the user of each lease of which an event is to be told by mail."""
    of_users = [(str(each.payload.get("user_id") or ""), each, event) for each, event in told]
    users = {user_id for user_id, _, _ in of_users} - {""} if plan.is_sent else set()
    if not users:
        return
    choices, waiting = uow.mails.choices(users), uow.mails.waiting(users)
    new: dict[str, list[MailItem]] = defaultdict(list)
    for user_id, notification, event in of_users:
        if user_id and choices.get(user_id, USUAL).wants(event, plan.events):
            item = MailItem(user_id, event, _document(notification), notification.created_at)
            new[user_id].append(item)
    # In one order, so that two transactions do not wait for each other.
    for user_id, items in sorted(new.items()):
        free = max(MOST_WAITING - waiting.get(user_id, 0), 0)
        due = choices.get(user_id, USUAL).due(now, plan.daily_hour)
        uow.mails.put(user_id, items[:free], len(items[free:]), due)


def _document(notification: Notification) -> dict[str, Any]:
    lease = notification.payload
    kinds = sorted({str(each.get("resource_type")) for each in lease["reservations"]})
    return {**{name: lease[name] for name in KEPT if lease.get(name) is not None}, "resource_types": kinds}
