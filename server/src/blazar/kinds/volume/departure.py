"""The deletion of volumes at the end of a reservation that asks for it.

The volumes are chosen once, when the quota has been lowered, and remembered before any is deleted: so a
repetition deletes the same, and no more. They are of the reservation's type and project, were made since its
lease started, and are in no use; the newest come first, for as long as the project has more than its quota,
and together they are no more than was reserved. What cannot be deleted in time stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from blazar.domain.errors import CloudRefused
from blazar.domain.lease.outcome import Done, NotYet, Outcome
from blazar.kinds.volume.quota import ProjectQuota
from blazar.kinds.volume.schema import VolumeParameters
from blazar.service.ports import Storage, Volume
from blazar.service.ports.kind import Work

CHOSEN, SINCE = "volumes_to_delete", "deleting_since"
"""In what a reservation remembers."""
DELETABLE = frozenset({"available", "error"})
PATIENCE = timedelta(minutes=5)
LOOK_AFTER = timedelta(seconds=1)
REASON = "volumes are being deleted"


def delete_excess(work: Work, lowered: Done, asked: VolumeParameters, storage: Storage) -> Outcome:
    """Delete what the project has beyond its quota, which was ``lowered`` before."""
    state = work.reservation.cloud_state
    if not state:
        return lowered  # it has never started
    found = storage.volumes(work.lease.project_id)
    if CHOSEN not in state:
        chosen = [each.id for each in _excess(work, asked, found, storage)]
        remembered = {**lowered.cloud_state, CHOSEN: chosen, SINCE: work.now.isoformat()}
        return NotYet(REASON, timedelta(0), remembered) if chosen else lowered
    left = [each for each in found if each.id in state[CHOSEN]]
    for volume in left:
        _delete(volume, storage)
    if not left or work.now - datetime.fromisoformat(state[SINCE]) > PATIENCE:
        return lowered
    return NotYet(REASON, LOOK_AFTER)


def _delete(volume: Volume, storage: Storage) -> None:
    """Delete the volume, unless it is being deleted already, or came into use meanwhile."""
    if volume.status not in DELETABLE:
        return
    try:
        storage.delete_volume(volume.id)
    except CloudRefused:
        return  # it has snapshots, or was attached just now


def _excess(
    work: Work, asked: VolumeParameters, found: Sequence[Volume], storage: Storage
) -> Iterator[Volume]:
    quota = ProjectQuota(storage, work.lease.project_id)
    of_type = [each for each in found if each.volume_type == quota.type_name(asked.volume_type)]
    gigabytes, volumes = (f"{kind}:{asked.volume_type}" for kind in ("gigabytes", "volumes"))
    limits = quota.limits((gigabytes, volumes))
    used = sum(each.gigabytes for each in of_type), len(of_type)
    over = used[0] - limits.get(gigabytes, used[0]), used[1] - limits.get(volumes, used[1])
    reserved = asked.gigabytes, asked.volumes
    for volume in of_type:
        if max(over) <= 0:
            return
        size = volume.gigabytes, 1
        is_ours = volume.created_at >= work.lease.interval.start and volume.status in DELETABLE
        if is_ours and all(part <= rest for part, rest in zip(size, reserved, strict=True)):
            yield volume
            over = over[0] - size[0], over[1] - size[1]
            reserved = reserved[0] - size[0], reserved[1] - size[1]
