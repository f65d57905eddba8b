"""The marks by which volumes of a reservation are found: what bears them is the reservation's."""

from __future__ import annotations

from collections.abc import Sequence

from blazar.kinds.volume.schema import VolumeParameters
from blazar.service.ports import Storage, Volume
from blazar.service.ports.kind import Work

RESERVATION = "blazar_reservation_id"
"""The key of the reservation's id in the metadata of a volume, and in those of its snapshot."""
NUMBER = "blazar_index"
"""The key of a volume's number in its metadata."""


def marked_volumes(work: Work, storage: Storage) -> Sequence[Volume]:
    """Return the volumes of the reservation. One whose user has taken the mark away is theirs alone."""
    return storage.volumes_with(work.lease.project_id, RESERVATION, work.reservation.id)


def numbers_of(asked: VolumeParameters) -> Sequence[str]:
    return [str(number) for number in range(1, asked.volumes + 1)]


def name_of(asked: VolumeParameters, number: str) -> str:
    return str(asked.volume_name) if asked.volumes == 1 else f"{asked.volume_name}-{number}"
