"""The marks by which a server is found, and the host that is kept for it: one lease has it at a time."""

from __future__ import annotations

from blazar.domain.lease.lease import Lease, Reservation
from blazar.kinds import trusts
from blazar.kinds.aggregates import SERVER
from blazar.service.ports import Cloud, ServerDetails

RESERVATION = "blazar_reservation"
"""The key of the reservation's id in the server's metadata, and among the properties of its images."""
NUMBER = "blazar_number"
"""The key of a server's number in its metadata, where it was booted for the reservation."""
SERVER_ID = "blazar_server"
"""The key of a server's id among the properties of its image, where the reservation has several."""


def other_reservation(server: ServerDetails, reservation_id: str | None = None) -> str | None:
    """Return the id of another reservation that has the server; None where there is none."""
    marked = server.metadata.get(RESERVATION)
    return marked if marked and marked != reservation_id else None


def expected_metadata(
    lease: Lease, reservation: Reservation, server_id: str, owner_key: str
) -> dict[str, str]:
    """Return the metadata that the reservation's aggregate should have."""
    return {
        "reservation": reservation.id,
        "filter_tenant_id": lease.project_id,
        owner_key: lease.project_id,
        SERVER: server_id,
    }


def owner_of(lease: Lease, cloud: Cloud, is_hinted: bool = False) -> Cloud | None:
    """Return the cloud with the rights of the lease's user; None where the trust is no longer valid. Who has
    said it by hints could give none: the service acts with its own."""
    return cloud if is_hinted else trusts.owner_of(lease, cloud)
