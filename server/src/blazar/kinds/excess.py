"""The deletion of what exceeds a project's quota at the end of a reservation that asks for it.

What is deleted is chosen once, when the quota has been lowered as far as the cloud allows, and remembered
before anything is deleted: so a repetition deletes the same, and no more. Until it is gone the base is kept,
and the quota is lowered by what is gone already. It is of the reservation's project, was made since its lease
started, and is in no use; the newest come first, for as long as the project has more than its quota, and
together they are no more than was reserved. What cannot be deleted in time stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from blazar.domain.errors import CloudRefused
from blazar.domain.lease.outcome import Done, NotYet, Outcome
from blazar.kinds import quota_shares
from blazar.kinds.quota_shares import Amounts, ProjectQuota
from blazar.service.ports.kind import Work

SINCE = "deleting_since"
"""In what a reservation remembers, beside the ids of what was chosen."""
PATIENCE = timedelta(minutes=5)
LOOK_AFTER = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Counted:
    """Something that the project has, and that counts in its quota."""

    id: str
    created_at: datetime
    takes: Amounts
    """How much of each limit."""
    is_free: bool
    """Whether it may be deleted: it is in no use."""


class Possessions(Protocol):
    """What a project has that counts in its quota."""

    @property
    def quota(self) -> ProjectQuota: ...

    def list(self) -> Sequence[Counted]:
        """Return all of it that a reservation may have let be made, newest first."""
        ...

    def delete(self, id_: str) -> None:
        """Have it deleted; what is gone is no error. Raises CloudRefused where it came into use."""
        ...


def delete_excess(
    work: Work, lowered: Done, reserved: Amounts, possessions: Possessions, patience: timedelta
) -> Outcome:
    """Delete what the project has beyond its quota, which was ``lowered`` as far as possible before."""
    state, noun = work.reservation.cloud_state, possessions.quota.noun
    key, reason = f"{noun}_to_delete", f"{noun} are being deleted"
    if not state:
        return lowered  # it has never started
    if key in state and not state[key]:
        return lowered
    found = possessions.list()
    if key not in state:
        chosen = [each.id for each in _excess(work, reserved, found, possessions.quota)]
        remembered = {key: chosen, SINCE: work.now.isoformat()}
        return NotYet(reason, timedelta(0), remembered) if chosen else lowered
    left = [each for each in found if each.id in state[key]]
    for each in left:
        _delete(each, possessions)
    if left and work.now - datetime.fromisoformat(state[SINCE]) <= patience:
        return NotYet(reason, LOOK_AFTER)
    # The cloud counts what is gone a moment later: only then can the quota be lowered by it.
    return NotYet(reason, LOOK_AFTER, {key: []})


def _delete(one: Counted, possessions: Possessions) -> None:
    """Delete it, unless it is being deleted already, or came into use meanwhile."""
    if not one.is_free:
        return
    try:
        possessions.delete(one.id)
    except CloudRefused:
        return  # such as a volume that has snapshots, or was attached just now


def _excess(
    work: Work, reserved: Amounts, found: Sequence[Counted], quota: ProjectQuota
) -> Iterator[Counted]:
    beyond = quota_shares.excess(work, quota, reserved)
    over, left = {name: beyond.get(name, 0) for name in reserved}, dict(reserved)
    for each in found:
        if max(over.values()) <= 0:
            return
        is_ours = each.created_at >= work.lease.interval.start and each.is_free
        if is_ours and all(each.takes[name] <= left[name] for name in left):
            yield each
            for name, amount in each.takes.items():
                over[name] -= amount
                left[name] -= amount
