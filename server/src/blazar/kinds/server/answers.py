"""The answers in a server's metadata: its lease, or why it has none. There its user sees them, and the next
look that it is answered."""

from __future__ import annotations

import logging

from blazar.domain.errors import CloudRefused
from blazar.domain.lease.lease import Lease
from blazar.kinds.shelving import LONGEST_VALUE, REFUSED
from blazar.service.ports import Cloud

LOG = logging.getLogger(__name__)
LEASE = "blazar_lease"
"""The key of the lease's id in the metadata of a server whose lease was made."""


def answer(server_id: str, outcome: Lease | str, cloud: Cloud) -> None:
    """Write into the server's metadata what became of it."""
    if isinstance(outcome, Lease):
        key, value = LEASE, outcome.id
    else:
        key, value = REFUSED, outcome[:LONGEST_VALUE]
        LOG.info("Server %s gets no lease: %s", server_id, value)
    try:
        cloud.compute.set_server_metadata(server_id, key, value)
    except CloudRefused as refusal:
        # Its metadata are full: it is found again, and has the same lease.
        LOG.warning("Server %s cannot be told about its lease: %s", server_id, refusal.message)
