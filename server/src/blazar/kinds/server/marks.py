"""The marks by which a server is found, and the host that is kept for it: one lease has it at a time."""

from __future__ import annotations

from collections.abc import Callable

from blazar.domain.lease.lease import Lease, Reservation
from blazar.kinds import trusts
from blazar.kinds.aggregates import SERVER
from blazar.service.ports import Cloud, Compute, ServerDetails

RESERVATION = "blazar_reservation"
"""The key of the reservation's id in the server's metadata, and among the properties of its images."""
NUMBER = "blazar_number"
"""The key of a server's number in its metadata, where it was booted for the reservation."""
ON_A_HOST = frozenset({"ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED"})
"""The statuses of a server that Nova lets be shelved, and be marked."""
SERVER_ID = "blazar_server"
"""The key of a server's id among the properties of its image, where the reservation has several."""


def other_reservation(
    server: ServerDetails, is_unfinished: Callable[[str], bool], reservation_id: str | None = None
) -> str | None:
    """Return the id of another reservation that has the server; None where there is none.

    The mark of one that is over counts for nothing: Nova lets it not be taken from a server that is
    shelved."""
    marked = server.metadata.get(RESERVATION)
    return marked if marked and marked != reservation_id and is_unfinished(marked) else None


def set_mark(server: ServerDetails, reservation_id: str, compute: Compute) -> None:
    """Mark the server as the reservation's, where Nova lets its metadata be changed."""
    if server.metadata.get(RESERVATION) != reservation_id and server.status in ON_A_HOST:
        compute.set_server_metadata(server.id, RESERVATION, reservation_id)


def remove_mark(server: ServerDetails, reservation_id: str, compute: Compute) -> None:
    """Take the reservation's mark from the server, where Nova lets its metadata be changed."""
    if server.metadata.get(RESERVATION) == reservation_id and server.status in ON_A_HOST:
        compute.remove_server_metadata(server.id, RESERVATION)


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
