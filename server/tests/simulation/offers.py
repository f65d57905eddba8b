"""Users who hold what they need, and claim it a while later, or not.

Half of the seeds have some of them, drawn by themselves: the other seeds are the same without this module."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

from blazar.domain.errors import BlazarError, NotEnoughResources, OfferClaimed, OfferNotFound, QuotaExceeded
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.offer import Offer
from blazar.service.commands import NOW, ClaimOffer, CreateLease

from .broker import PATIENCE
from .draws import some_replaced
from .kinds import KINDS

if TYPE_CHECKING:
    from .people import Action, User

HOLD = "hold and decide"
MARGIN = timedelta(seconds=PATIENCE + 5)
"""How long a claim may be on its way, by clocks that differ."""
PROMPT = timedelta(seconds=5)
"""A claim that takes longer, with a slow database, may have been undone: what it needs in the cloud was made
too late. The offer is lost with it."""
REFUSALS = (OfferNotFound, OfferClaimed, NotEnoughResources, QuotaExceeded)
"""What no claim in time may be answered with. What has to be made in the cloud may fail."""


def added(random: Random, actions: Sequence[Action]) -> list[Action]:
    """Return the actions with some that hold what they need."""
    return some_replaced(random, actions, HOLD, (1, 2, 4, 8))


def hold_and_decide(user: User, random: Random) -> None:
    offer = _hold(user, random)
    if offer is None:
        return
    user.world.scheduler.sleep(random.choice((0, 1, 20, 80)) * random.random())
    decision = random.choice(("claim", "claim", "claim", "delete", "leave"))
    if decision == "claim":
        _claim(user, offer)
    elif decision == "delete":
        _delete(user, offer)


def _hold(user: User, random: Random) -> Offer | None:
    kinds = random.sample(user.kinds, min(len(user.kinds), random.choice((1, 1, 2))))
    minute = user.world.now().replace(second=0, microsecond=0)
    start = random.choice((0, 1, 1, 2, 3))
    begin: datetime | None = minute + timedelta(minutes=start) if start else None
    end = minute + timedelta(minutes=max(start, 1) + random.choice((1, 2, 5, 30)))
    requests = tuple(KINDS[kind].request(random) for kind in kinds)
    offer_id = str(UUID(int=user.ids.getrandbits(128), version=4))
    command = CreateLease("", begin or NOW, end, None, requests, offer_id)
    hold = timedelta(minutes=random.choice((1, 2, 3)))
    user.world.tell(f"hold {' '.join(kinds)}", "asked")
    try:
        offer: Offer = user.offers.create(command, hold, user.caller)
    except BlazarError as failure:
        user.world.tell(f"hold {' '.join(kinds)}", f"{type(failure).__name__}: {failure}")
        return None
    user.world.tell(f"hold {' '.join(kinds)}", f"{offer.id[:4]} until {offer.expires_at:%H:%M:%S}")
    return offer


def _claim(user: User, offer: Offer) -> None:
    command = ClaimOffer("lease", id=str(UUID(int=user.ids.getrandbits(128), version=4)))
    asked = user.world.now()
    is_in_time = asked + MARGIN < offer.expires_at

    def claim() -> Lease:
        try:
            lease: Lease = user.offers.claim(offer.id, command, user.caller)
        except REFUSALS as refusal:
            if is_in_time and user.world.now() - asked < PROMPT:
                user.rules.fail("a claim in time succeeds", f"offer {offer.id}: {refusal}")
            raise
        return lease

    user.ask(offer.id, f"claim {offer.id[:4]}", claim)


def _delete(user: User, offer: Offer) -> None:
    user.world.tell(f"give back {offer.id[:4]}", "asked")
    try:
        user.offers.delete(offer.id, user.caller)
    except BlazarError as failure:
        user.world.tell(f"give back {offer.id[:4]}", f"{type(failure).__name__}: {failure}")
