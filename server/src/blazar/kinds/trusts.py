"""The cloud as the user of a lease has it, by the trust that the lease keeps."""

from __future__ import annotations

from blazar.domain.lease.lease import Lease
from blazar.service.ports import Cloud

NO_TRUST = "the trust by which the user allowed it is no longer valid"


def owner_of(lease: Lease, cloud: Cloud) -> Cloud | None:
    """Return the cloud with the rights of the lease's user; None where the trust is no longer valid."""
    if lease.trust_id is None or not cloud.identity.is_trust_valid(lease.trust_id):
        return None
    return cloud.as_trustee(lease.trust_id)
