"""The share that a reservation has of a project's quota in the cloud: the quota is raised by what is
promised, and lowered by as much.

Cinder and Neutron have no "raise by", only numbers, which others change as well. So a verb that is repeated
has to know whether it was carried out before. It does so in two steps, with a commit in between:

1. It finds the *base*, the quota without any reservation, and stores it in the reservation, with the *share*
   that the reservation is to have. Nothing is set in the cloud yet.
2. It sets the quota to the base and the shares of all reservations of the project. However often that is
   repeated, the number is the same. When it is reached, the base is forgotten, and the share is kept.

While no reservation of the project is between the two steps, the base is the quota less all shares: whatever
operators and other programs have changed is in it. While one is, its base is taken, for the quota may have
its share already or not. An example: the quota is 100, and reservations of 50 and of 30 start at the same
time. Both store the base 100. One sets 150, which the other has not stored its share for; the other sets 180.
Should the 150 come last, the first sees the share of the other when it looks again, and sets 180.

What has no limit gets none, and no share of it is remembered.

Where the cloud takes no limit below what is used, the quota is lowered as far as that; what the project has
beyond its base then becomes part of it when the base is forgotten, unless it is deleted before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Protocol

from blazar.domain.errors import CloudRefused
from blazar.domain.lease.lease import Reservation, ReservationStatus
from blazar.domain.lease.outcome import Done, NotYet, Outcome
from blazar.service.ports import Difference, Look
from blazar.service.ports.kind import Work

Amounts = Mapping[str, int]
"""Amounts by limit."""
UNLIMITED = -1
SHARE, BASE = "quota_share", "quota_base"
"""In what a reservation remembers: amounts of limits."""
SOON = timedelta(milliseconds=20)
MOST_LOOKS = 5
"""How often the quota is compared at once: each time other reservations may have got their shares."""


class ProjectQuota(Protocol):
    """The limits of one project in a service of the cloud, by names that stay."""

    @property
    def noun(self) -> str:
        """Return what is limited, such as ``volumes``."""
        ...

    def limits(self, names: Iterable[str]) -> Amounts:
        """Return those of the limits that there are, as they are now."""
        ...

    def used(self, names: Iterable[str]) -> Amounts:
        """Return what the project uses of these limits."""
        ...

    def least(self, names: Iterable[str]) -> Amounts:
        """Return the numbers below which the service takes none of these limits."""
        ...

    def set(self, limits: Amounts) -> None: ...

    def title(self, name: str) -> str:
        """Return the service's own name of a limit."""
        ...


def activate(work: Work, wanted: Amounts, quota: ProjectQuota) -> Outcome:
    """Let the reservation have ``wanted`` of the quota."""
    return _settled(work, wanted, quota, f"the quota for {quota.noun} is being raised")


def deactivate(work: Work, quota: ProjectQuota) -> Outcome:
    """Take what the reservation has of the quota, as far as the service lets it be lowered: no more can be
    made."""
    if not _amounts(work.reservation, SHARE) and not _is_moving(work.reservation):
        return Done()
    return _settled(work, {}, quota, f"the quota for {quota.noun} is being lowered")


def excess(work: Work, quota: ProjectQuota, names: Iterable[str]) -> Amounts:
    """Return what the project uses beyond its base, where one is known, and the shares of reservations."""
    base = _amounts(work.reservation, BASE)
    everyone = _everyone(work)
    used = quota.used(name for name in names if name in base)
    return {name: amount - base[name] - _sum(name, everyone) for name, amount in used.items()}


def used(work: Work, quota: ProjectQuota) -> Amounts:
    """Return how much of its share the reservation uses, of each limit that there is: what the project uses
    beyond its quota without reservations. Where it has several, those whose ids come first are used first."""
    share, everyone = _amounts(work.reservation, SHARE), _everyone(work)
    before = [each for each in everyone if each.id < work.reservation.id]
    limits = quota.limits(share)
    beyond = {
        name: amount - _base(name, limits[name], everyone) - _sum(name, before)
        for name, amount in (quota.used(limits) if limits else {}).items()
    }
    return {name: min(share[name], max(0, amount)) for name, amount in beyond.items()}


def differences(work: Work, look: Look, quota: ProjectQuota) -> Iterator[Difference]:
    """Return what the project's quota lacks for all that it was promised."""
    everyone = _everyone(work)
    if any(map(_is_moving, everyone)):
        return
    project_id, shares = work.lease.project_id, _amounts(work.reservation, SHARE)
    limits = look.once(f"quota {sorted(shares)} {project_id}", lambda: quota.limits(shares))
    for name, limit in limits.items():
        if limit < (promised := _sum(name, everyone)):
            subject = f"quota {quota.title(name)} of project {project_id}"
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
    floor = quota.least
    for look in range(1, MOST_LOOKS + 1):
        everyone = _everyone(work)
        limits = quota.limits(base)
        goal = {name: base[name] + _sum(name, everyone) for name in limits}
        lowered = [name for name in goal if goal[name] < limits[name]]
        least = floor(lowered) if lowered else {}
        goal |= {name: max(goal[name], min(limits[name], least[name])) for name in lowered}
        wrong = {name: number for name, number in goal.items() if limits[name] != number}
        if not wrong:
            return Done({SHARE: share, BASE: None})
        try:
            quota.set(wrong)
        except CloudRefused:
            # More may be used by now than a moment ago, or the service takes no limit below that after all.
            if not lowered or look == MOST_LOOKS:
                raise
            floor = quota.used
    return NotYet(reason, SOON)


def _everyone(work: Work) -> list[Reservation]:
    return [work.reservation, *_served(work.others())]


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
