"""The refusal of a shortage, in words and for programs."""

from __future__ import annotations

from blazar.domain.errors import NotEnoughResources
from blazar.domain.lease.lease import Reservation
from blazar.domain.planning.plan import Shortage
from blazar.service.ports.kind import Kinds


def refusal_of(reservation: Reservation, shortage: Shortage, kinds: Kinds) -> NotEnoughResources:
    """Return the error for the user: the sentence of its kind, and beside it what the sentence is made of."""
    parts: list[dict[str, str | int]] = [
        {"part": each.part, "matched": each.matched} for each in shortage.parts
    ]
    error = kinds[reservation.resource_type].refusal(reservation, shortage)
    start = shortage.first_fit
    error.fields |= {
        "cause": str(shortage.cause),
        "resource_type": reservation.resource_type,
        "wanted": shortage.wanted,
        "matched": shortage.matched,
        "free": shortage.free,
        "buffered": shortage.buffered,
        "unknown_properties": sorted(shortage.unknown_properties),
        "parts": parts,
        "first_possible_start": None if start is None else start.isoformat(),
        "cut_short": shortage.cut_short or shortage.first_fit_cut_short,
    }
    return error
