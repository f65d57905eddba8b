"""The verbs of reserved volumes: the project's quota is raised by what is promised, and lowered by as much.

Cinder has no "raise by", only numbers, which others change as well. So a verb that is repeated has to know
whether it was carried out before. It does so in two steps, with a commit in between:

1. It finds the *base*, the quota without any reservation, and stores it in the reservation, with the *share*
   that the reservation is to have. Nothing is set in Cinder yet.
2. It sets the quota to the base and the shares of all reservations of the project. However often that is
   repeated, the number is the same. When it is reached, the base is forgotten, and the share is kept.

While no reservation of the project is between the two steps, the base is the quota less all shares: whatever
operators and other programs have changed is in it. While one is, its base is taken, for the quota may have
its share already or not. An example: the quota is 100, and reservations of 50 and of 30 start at the same
time. Both store the base 100. One sets 150, which the other has not stored its share for; the other sets 180.
Should the 150 come last, the first sees the share of the other when it looks again, and sets 180.

What has no limit gets none, and no share of it is remembered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from blazar.domain.lease.lease import Reservation, ReservationStatus
from blazar.domain.lease.outcome import Done, GiveUp, NotYet, Outcome
from blazar.kinds.volume.quota import Amounts, ProjectQuota
from blazar.service.ports import Difference, Look, Storage
from blazar.service.ports.kind import Work

SHARE, BASE = "quota_share", "quota_base"
"""In what a reservation remembers: amounts of limits."""
SOON = timedelta(milliseconds=20)
RAISING, LOWERING = "the quota for volumes is being raised", "the quota for volumes is being lowered"
MOST_LOOKS = 5
"""How often the quota is compared at once: each time other reservations may have got their shares."""


def activate(work: Work, wanted: Amounts, volume_type_id: str, storage: Storage) -> Outcome:
    """Let the reservation have ``wanted`` of the quota."""
    quota = ProjectQuota(storage, work.lease.project_id)
    if not quota.has_type(volume_type_id):
        return GiveUp(f"Volume type {volume_type_id} is gone.")
    return _settled(work, wanted, quota, RAISING)


def deactivate(work: Work, storage: Storage) -> Outcome:
    """Take what the reservation has of the quota. Volumes beyond it stay, but no more can be made."""
    if not _amounts(work.reservation, SHARE) and not _is_moving(work.reservation):
        return Done()
    return _settled(work, {}, ProjectQuota(storage, work.lease.project_id), LOWERING)


def differences(work: Work, look: Look) -> Iterator[Difference]:
    """Return what the project's quota lacks for all that it was promised."""
    everyone = [work.reservation, *_served(work.others())]
    if any(map(_is_moving, everyone)):
        return
    project_id = work.lease.project_id
    quota = look.once(f"volume types for {project_id}", lambda: ProjectQuota(look.cloud.storage, project_id))
    shares = _amounts(work.reservation, SHARE)
    limits = look.once(f"volume quota {sorted(shares)} {project_id}", lambda: quota.limits(shares))
    for name, limit in limits.items():
        if limit < (promised := _sum(name, everyone)):
            subject = f"quota {quota.cinders(name)} of project {project_id}"
            yield Difference("quota", subject, f"at least {promised}", str(limit))


def _settled(work: Work, wanted: Amounts, quota: ProjectQuota, reason: str) -> Outcome:
    base, share = (_amounts(work.reservation, each) for each in (BASE, SHARE))
    if _is_moving(work.reservation) and share == _limited(wanted, base):
        return _reach(work, base, share, quota, reason)
    return _find_base(work, wanted, quota, reason)


def _find_base(work: Work, wanted: Amounts, quota: ProjectQuota, reason: str) -> Outcome:
    """Store base and share, unless all is as it should be."""
    before = work.others()
    own = _amounts(work.reservation, SHARE)
    limits = quota.limits({**own, **wanted})
    if work.others() != before:
        # The quota belongs to neither: it was read before or after the other one was changed.
        return NotYet(reason, SOON)
    everyone = [work.reservation, *_served(before)]
    share = _limited(wanted, limits)
    if (
        SHARE in work.reservation.cloud_state
        and share == own
        and not any(map(_is_moving, everyone))
        and all(limit >= _sum(name, everyone) for name, limit in limits.items())
    ):
        return Done()
    base = {name: _base(name, limit, everyone) for name, limit in limits.items()}
    return NotYet(reason, SOON, {SHARE: share, BASE: base})


def _base(name: str, limit: int, everyone: Sequence[Reservation]) -> int:
    known = (_amounts(each, BASE).get(name) for each in everyone)
    found = next((each for each in known if each is not None), None)
    return max(0, limit - _sum(name, everyone)) if found is None else found


def _reach(work: Work, base: Amounts, share: Amounts, quota: ProjectQuota, reason: str) -> Outcome:
    """Set the quota, and compare it again with what others have got meanwhile."""
    for _ in range(MOST_LOOKS):
        everyone = [work.reservation, *_served(work.others())]
        limits = quota.limits(base)
        goal = {name: base[name] + _sum(name, everyone) for name in limits}
        wrong = {name: number for name, number in goal.items() if limits[name] != number}
        if not wrong:
            return Done({SHARE: share, BASE: None})
        quota.set(wrong)
    return NotYet(reason, SOON)


def _served(others: Iterable[Reservation]) -> list[Reservation]:
    """Return those that have a share, or are to get one: not those whose start was given up."""
    return [each for each in others if each.status is not ReservationStatus.ERROR]


def _sum(name: str, reservations: Iterable[Reservation]) -> int:
    return sum(_amounts(each, SHARE).get(name, 0) for each in reservations)


def _is_moving(reservation: Reservation) -> bool:
    """Return whether the quota may have its share or not."""
    return reservation.cloud_state.get(BASE) is not None


def _amounts(reservation: Reservation, what: str) -> Amounts:
    return reservation.cloud_state.get(what) or {}


def _limited(wanted: Amounts, limits: Amounts) -> Amounts:
    return {name: amount for name, amount in wanted.items() if name in limits}
