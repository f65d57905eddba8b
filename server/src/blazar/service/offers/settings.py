"""The operator's settings for offers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class OfferSettings:
    """The operator's settings for offers."""

    most: int = 5
    """Offers that a project may have at once; 0 for none."""
    longest: timedelta = timedelta(minutes=60)
    """How long one may be held."""
