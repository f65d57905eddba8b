"""Questions for availability over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import uuid4

from blazar.api.authorization import Authorizer
from blazar.api.errors import told
from blazar.api.later_parameters import body_of
from blazar.api.microversion import newest
from blazar.api.offers import offers_of
from blazar.api.routing import Request
from blazar.api.schemas.availability import QUESTION, AvailabilityRequestWithHold
from blazar.api.schemas.fields import validated
from blazar.api.views.availability import AvailabilityReply, HeldAnswer, availability_reply
from blazar.domain.errors import BlazarError, Busy, CloudUnavailable, PolicyNotAuthorized
from blazar.policies import availability as rules
from blazar.policies import offers as offer_rules
from blazar.service.answers import AvailabilityAnswer
from blazar.service.commands import CreateLease
from blazar.service.context import Caller
from blazar.service.interface import AvailabilityInterface, Service
from blazar.service.offers.store import OFFERS
from blazar.service.ports.kind import Kinds


class AvailabilityActions:
    """The action on availability. ``tells_shortages``: callers who are not administrators may know how much
    is free."""

    def __init__(self, service: Service, kinds: Kinds, authorizer: Authorizer, tells_shortages: bool) -> None:
        self._service = service
        self._kinds = kinds
        self._authorizer = authorizer
        self._tells_shortages = tells_shortages

    def ask(self, request: Request) -> AvailabilityReply:
        """Ask when, and for how long, a lease could be had.

        The first answer is the earliest start of the range at which all of it can be had; others follow with
        fewer, with a shorter duration, or with the most that is wanted, and since 1.6 with another
        requirement or another flavor. No answer is one that a quota or the longest duration of leases would
        refuse. Nothing is made, and nothing is held unless `hold` is sent (since 1.6)."""
        caller = request.caller
        self._authorizer.require(rules.POST, caller)
        if not (self._tells_shortages or caller.is_admin):
            raise PolicyNotAuthorized(action=rules.POST)
        asked = validated(newest(QUESTION, request.version), body_of(request, self._kinds))
        hold = asked.hold if isinstance(asked, AvailabilityRequestWithHold) else None
        if hold is not None:
            self._authorizer.require(offer_rules.POST, caller)
        availability: AvailabilityInterface = self._service.called_by(caller).noun("availability")
        found = availability.ask(asked.question(), caller)
        held = () if hold is None else self._held(found.answers, hold, caller)
        return availability_reply(found, request.version, held)

    def _held(
        self, answers: Sequence[AvailabilityAnswer], hold: timedelta, caller: Caller
    ) -> Sequence[HeldAnswer]:
        """Hold one answer after the other. One may take what another one needs."""
        held: list[HeldAnswer] = []
        offers = offers_of(self._service, caller)
        hopeless: str | None = None
        for answer in answers:
            offer = None
            reason = hopeless
            if hopeless is None:
                try:
                    offer = offers.create(_command(answer), hold, caller)
                except BlazarError as refusal:
                    reason = told(refusal, caller, self._tells_shortages)
                    hopeless = reason if _is_of_all(refusal) else None
            held.append(HeldAnswer(offer, reason))
        return held


def _command(answer: AvailabilityAnswer) -> CreateLease:
    interval = answer.interval
    return CreateLease("", interval.start, interval.end, None, answer.reservations, str(uuid4()))


def _is_of_all(refusal: BlazarError) -> bool:
    """Return whether the next answers would be refused as well."""
    is_unavailable = isinstance(refusal, CloudUnavailable | Busy)
    return is_unavailable or refusal.fields.get("limit_name") == OFFERS
