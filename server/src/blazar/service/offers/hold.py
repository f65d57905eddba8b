"""The creation of an offer: drafted, checked and planned as a lease is, and held."""

from __future__ import annotations

from datetime import datetime, timedelta

from blazar.domain.errors import InvalidInput, NotEnoughResources, QuotaExceeded, Stale, UsageRefused
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.offer import Offer, held
from blazar.domain.time import MINUTE
from blazar.service.admission import Admission
from blazar.service.commands import ByDuration, CreateLease
from blazar.service.context import Caller
from blazar.service.enforcement import Enforcement
from blazar.service.leases.create import LeaseCreation, placed
from blazar.service.leases.late_binding import LateBinding
from blazar.service.leases.settings import LeaseSettings
from blazar.service.offers.settings import OfferSettings
from blazar.service.offers.store import OfferStore
from blazar.service.ports import Clock
from blazar.service.preparation import Preparation

USUAL = timedelta(minutes=15)
"""How long an offer is held unless the user says."""


class OfferCreation:
    """The story of an offer's creation."""

    def __init__(
        self,
        store: OfferStore,
        creation: LeaseCreation,
        admission: Admission,
        preparation: Preparation,
        enforcement: Enforcement,
        clock: Clock,
        settings: OfferSettings,
        late_binding: LateBinding,
    ) -> None:
        self._late_binding = late_binding
        self._store = store
        self._creation = creation
        self._admission = admission
        self._preparation = preparation
        self._enforcement = enforcement
        self._clock = clock
        self._settings = settings

    def create(
        self,
        command: CreateLease,
        hold: timedelta | None,
        caller: Caller,
        settings: LeaseSettings,
        by_duration: ByDuration | None,
    ) -> Offer:
        """Hold what the lease needs, or return the offer that the same request has made before.

        All that a create could be refused for is looked at now, so that the claim is not."""
        hold = min(USUAL, self._settings.longest) if hold is None else hold
        if hold > self._settings.longest:
            longest = self._settings.longest // MINUTE
            raise InvalidInput(f"An offer may be held for at most {longest} minutes.")
        now = self._clock.now()
        draft = self._creation.draft(command, caller, now, settings, by_duration)
        draft = self._preparation.complete(None, draft, caller)
        task = self._preparation.task(None, draft, caller)
        self._preparation.require_rights(draft, task, caller)
        return self._reserve(draft, hold, caller, now, by_duration)

    def _reserve(
        self, draft: Lease, hold: timedelta, caller: Caller, now: datetime, by_duration: ByDuration | None
    ) -> Offer:
        check = self._enforcement.of_request(caller)

        def attempt() -> Offer:
            try:
                asked = self._creation.in_regions(draft, by_duration, caller)
                plan, room = self._creation.with_room(asked, by_duration, caller)
                planned = placed(asked, plan, now)
                check.check(None, planned)
                offer = held(planned, self._clock.now(), hold)
                stored = self._store.hold(offer, plan.generations, caller, room)
                # The next plan reads it, as those of other managers do, and learns when it expires.
                if room is not None:
                    self._late_binding.tell(room.replanned)
                return stored
            except (NotEnoughResources, UsageRefused, QuotaExceeded, Stale):
                # As at a create: the first attempt of the same request may have been stored.
                existing = self._store.find(draft.id)
                if existing is None or existing.lease.project_id != draft.project_id:
                    raise
                return existing

        return self._admission.until_committed(attempt, caller.deadline)
