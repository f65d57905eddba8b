"""How soon a lease has to be used: by its user's wish, within what the operator has set."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from blazar.domain.errors import ClaimByTooLate, InvalidInput
from blazar.domain.lease import change
from blazar.domain.lease.claim_by import ClaimBy
from blazar.domain.lease.event import UNCLAIMED
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.unclaimed import watched
from blazar.domain.time import MINUTE
from blazar.service.commands import ClaimByWish
from blazar.service.ids import new_id
from blazar.service.leases.settings import ClaimBySettings

NEVER = timedelta(0)


def claimed_by(lease: Lease, wish: ClaimByWish | None, settings: ClaimBySettings) -> Lease:
    """Return the new lease with the time in which it has to be used. Raises ClaimByTooLate."""
    after = _after(lease, wish, settings)
    return replace(lease, claim_by=ClaimBy(after) if after else None)


def changed_claim_by(
    lease: Lease, wish: ClaimByWish | None, settings: ClaimBySettings, now: datetime
) -> Lease:
    """Return the lease with another time in which it has to be used. One that is active is watched anew.

    Raises ClaimByTooLate, InvalidStatus for a lease in transition, InvalidInput for one that is over."""
    if wish is None:
        return lease
    after, old = _after(lease, wish, settings), lease.claim_by
    if after == (old.after if old else None):
        return lease
    change.require_stable(lease)
    if lease.status is LeaseStatus.TERMINATED or change.has_ended(lease, now):
        raise InvalidInput("Terminated leases can only be renamed")
    since = old.since if old else None
    changed = replace(lease, claim_by=ClaimBy(after, since) if after else None)
    if lease.status is not LeaseStatus.ACTIVE:
        return changed
    return watched(changed, now, settings.warning, new_id)


def default_again(new: Lease, old: Lease, settings: ClaimBySettings, now: datetime) -> Lease:
    """Return the lease, which has got or lost reservations, with what the operator has set for its kinds,
    where these are more than before and it had what was set for those.

    What its user has asked for stays, and so does that an active lease was found to be used."""
    after, before = _most(new, settings), _most(old, settings)
    has = old.claim_by.after if old.claim_by else None
    if after == before or has != before or not _kinds(new) > _kinds(old):
        return new
    since = new.claim_by.since if new.claim_by else None
    changed = replace(new, claim_by=ClaimBy(after, since) if after else None)
    is_watched = any(event.event_type in UNCLAIMED for event in new.events)
    return watched(changed, now, settings.warning, new_id) if is_watched else changed


def _after(lease: Lease, wish: ClaimByWish | None, settings: ClaimBySettings) -> timedelta | None:
    most = _most(lease, settings)
    if wish is None or wish.after is None:
        return most
    if most and not wish.may_be_later and not NEVER < wish.after <= most:
        raise ClaimByTooLate(minutes=most // MINUTE)
    return wish.after or None


def _most(lease: Lease, settings: ClaimBySettings) -> timedelta | None:
    """Return what the operator has set for the lease: the most that is set for one of its kinds. None where
    one of them is not to be used by any time."""
    kinds = _kinds(lease)
    if not kinds or lease.project_id in settings.exempt or not kinds <= settings.after.keys():
        return None
    return max(settings.after[kind] for kind in kinds)


def _kinds(lease: Lease) -> frozenset[str]:
    return frozenset(reservation.resource_type for reservation in lease.reservations)
