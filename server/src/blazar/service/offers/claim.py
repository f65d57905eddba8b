"""The claim of an offer: it becomes a lease, in one transaction."""

from __future__ import annotations

from dataclasses import dataclass, replace

from blazar.domain.errors import OfferClaimed, OfferNotFound
from blazar.domain.lease import change
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.offer import Offer, claimed, is_of_claim, marked_by
from blazar.domain.time import floor_minute
from blazar.service.admission import Admission
from blazar.service.commands import ClaimByWish, ClaimOffer
from blazar.service.context import Caller
from blazar.service.ids import new_id
from blazar.service.leases.claim_by import claimed_by
from blazar.service.leases.confirm import CONFIRM_WITHIN, LeaseConfirmation
from blazar.service.leases.settings import LeaseSettings
from blazar.service.leases.store import LeaseStore
from blazar.service.offers.store import OfferStore
from blazar.service.ports import Clock, Nudge
from blazar.service.preparation import Preparation, Task


class OfferClaim:
    """The story of a claim.

    Nothing is planned, compared with quotas or asked of filters: that was done when the offer was made."""

    def __init__(
        self,
        store: OfferStore,
        leases: LeaseStore,
        admission: Admission,
        preparation: Preparation,
        confirmation: LeaseConfirmation,
        clock: Clock,
        nudge: Nudge,
    ) -> None:
        self._store = store
        self._leases = leases
        self._admission = admission
        self._preparation = preparation
        self._confirmation = confirmation
        self._clock = clock
        self._nudge = nudge

    def claim(
        self,
        offer_id: str,
        command: ClaimOffer,
        caller: Caller,
        settings: LeaseSettings,
        claim_by: ClaimByWish | None = None,
    ) -> Lease:
        """Return the lease that the offer has become. Raises OfferNotFound, OfferClaimed, ClaimByTooLate."""
        claim_id = command.id or new_id()
        tries: list[_Try] = []

        def attempt() -> Lease:
            offer = self._store.find(offer_id)
            if offer is None or offer.lease.project_id != caller.project_id:
                return self._claimed_before(offer_id, claim_id, caller)
            tries.append(self._try(offer, command, claim_id, caller, settings, claim_by))
            return self._store.claim(offer, tries[-1].first, caller)

        lease = self._admission.until_committed(attempt, caller.deadline)
        own = next((each for each in tries if each.is_stored_as(lease)), None)
        if own is None:
            return self._confirmation.created_before(lease.id, caller)
        if own.task is not None:
            lease = self._confirmation.make_and_confirm(lease, own.task, own.whole.events, caller, settings)
        self._nudge(lease.next_due)
        return lease

    def _try(
        self,
        offer: Offer,
        command: ClaimOffer,
        claim_id: str,
        caller: Caller,
        settings: LeaseSettings,
        claim_by: ClaimByWish | None,
    ) -> _Try:
        before_end = None if command.before_end is None else floor_minute(command.before_end)
        owned = replace(offer, lease=replace(offer.lease, name=command.name, user_id=caller.user_id))
        whole = claimed(owned, before_end, settings.notification, claim_id, new_id)
        whole = claimed_by(whole, claim_by, settings.claim_by)
        task = self._preparation.task(None, whole, caller)
        if task is None:
            return _Try(whole, whole, None)
        until = self._clock.now() + CONFIRM_WITHIN
        first = change.unconfirmed(task.marked(whole), until, new_id)
        return _Try(whole, marked_by(first, claim_id), task)

    def _claimed_before(self, offer_id: str, claim_id: str, caller: Caller) -> Lease:
        """Return the lease that the same claim has made before."""
        lease = self._leases.find(offer_id)
        if lease is None or lease.project_id != caller.project_id:
            raise OfferNotFound(offer=offer_id)
        if not is_of_claim(lease, claim_id):
            raise OfferClaimed(offer=offer_id)
        return lease


@dataclass(frozen=True, slots=True)
class _Try:
    """The lease that an offer is to become, as it is to be and as it is stored first, and what has to be made
    for it in between."""

    whole: Lease
    first: Lease
    task: Task | None

    def is_stored_as(self, stored: Lease) -> bool:
        return {event.id for event in self.first.events} <= {event.id for event in stored.events}
