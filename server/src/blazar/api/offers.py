"""Offers over HTTP."""

from __future__ import annotations

from blazar.api.authorization import Authorizer
from blazar.api.explanations import Explanations
from blazar.api.later_parameters import body_of
from blazar.api.routing import Request
from blazar.api.schemas.fields import validated
from blazar.api.schemas.offers import OfferCreate
from blazar.api.views.offers import OfferReply, OffersReply, offer_reply, offer_view
from blazar.domain.errors import OfferNotFound, PolicyNotAuthorized
from blazar.domain.lease.offer import Offer
from blazar.policies import offers as rules
from blazar.service.context import Caller
from blazar.service.interface import OffersInterface, Service
from blazar.service.ports.kind import Kinds


class OfferActions:
    """The actions on offers. Every rule is asked about the offer's own project and user."""

    def __init__(
        self, service: Service, kinds: Kinds, authorizer: Authorizer, explanations: Explanations
    ) -> None:
        self._explanations = explanations
        self._service = service
        self._kinds = kinds
        self._authorizer = authorizer

    def list(self, request: Request) -> OffersReply:
        """List the offers of the caller's project."""
        caller = request.caller
        self._authorizer.require(rules.GET, caller)
        found = offers_of(self._service, caller).list(str(caller.project_id))
        return {
            "offers": [
                offer_view(each, caller, self._kinds)
                for each in found
                if self._allows(rules.GET, caller, each)
            ]
        }

    def create(self, request: Request) -> OfferReply:
        """Hold what a lease needs, for some minutes.

        No other lease gets what is held, until it expires, is deleted, or is claimed: by the creation of a
        lease with the offer's id."""
        caller = request.caller
        self._authorizer.require(rules.POST, caller)
        asked = validated(OfferCreate, body_of(request, self._kinds))
        offers, command, by_duration = offers_of(self._service, caller), asked.command(), asked.by_duration()
        with self._explanations.explained(request, lambda e: e.explain_create(command, caller, by_duration)):
            offer = offers.create(command, asked.hold, caller, by_duration)
        return offer_reply(offer, caller, self._kinds)

    def show(self, request: Request) -> OfferReply:
        """Show an offer."""
        return offer_reply(self._visible(request, rules.GET), request.caller, self._kinds)

    def delete(self, request: Request) -> None:
        """Give back what an offer holds."""
        offer = self._visible(request, rules.DELETE)
        if not self._allows(rules.DELETE, request.caller, offer):
            raise PolicyNotAuthorized(action=rules.DELETE)
        offers_of(self._service, request.caller).delete(offer.id, request.caller)

    def _visible(self, request: Request, rule: str) -> Offer:
        """Return the offer in the path; ``rule`` names what was tried where the token has no project. Raises
        OfferNotFound, PolicyNotAuthorized."""
        caller = request.caller
        self._authorizer.require_project(rule, caller)
        offer_id = request.id("offer_id")
        offer = offers_of(self._service, caller).get(offer_id)
        if not self._allows(rules.GET, caller, offer):
            raise OfferNotFound(offer=offer_id)
        return offer

    def _allows(self, rule: str, caller: Caller, offer: Offer) -> bool:
        return self._authorizer.allows(rule, caller, offer.lease.project_id, offer.lease.user_id)


def offers_of(service: Service, caller: Caller) -> OffersInterface:
    offers: OffersInterface = service.called_by(caller).noun("offers")
    return offers
