"""How a manager removes offers that have expired, where no plan has come upon them."""

from __future__ import annotations

import logging

from blazar.engine.background import Background
from blazar.service.offer_expiry import OfferExpiry

LOG = logging.getLogger(__name__)
PACE = 1.0
"""Seconds between two small rounds, so that requests and events do not notice."""
LOOK = 30.0
"""Seconds until the next look when nothing is left to be removed."""


class Expiring(Background):
    """Removes offers that have expired. Several managers may do so at once."""

    patience = PACE + 5

    def __init__(self, expiry: OfferExpiry) -> None:
        super().__init__("offers", first_wait=LOOK)
        self._expiry = expiry

    def round(self) -> float:
        """Remove some offers. Return the seconds to wait until the next round."""
        removed = self._expiry.remove_some()
        if not removed:
            return LOOK
        LOG.info("Removed %d offers that had expired", removed, extra={"action": "expire", "offers": removed})
        return PACE
