"""The end of volumes that were made at the start: what their user asked for, step by step, each with all of
them until it is done.

A step that takes too long is given up for the next one, so that the capacity is given back at last. What is
marked as the reservation's is treated so, wherever its user has attached it; what is gone is no matter. No
step needs what it has done before to be written down, for Cinder tells it: snapshots bear the mark as
well."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.domain.lease.outcome import NotYet
from blazar.kinds.trusts import NO_TRUST, owner_of
from blazar.kinds.volume.marks import RESERVATION, marked_volumes
from blazar.kinds.volume.new_volumes import DELETABLE, LOOK_AFTER
from blazar.kinds.volume.schema import Step
from blazar.service.ports import Cloud, Volume
from blazar.service.ports.kind import Work

LOG = logging.getLogger(__name__)
ENDING = "ending"
"""In what a reservation remembers: the step that is waited for, since when, and those that are over."""
SNAPSHOT_NAME = "{name} at the end of lease {lease}"
LONGEST_NAME = 255
DOING = {
    Step.SNAPSHOT: "snapshots of volumes are being made",
    Step.DETACH: "volumes are being detached",
    Step.DELETE: "volumes are being deleted",
}
WITH_CONTENT = frozenset({"available", "in-use"})
IN_BETWEEN = frozenset(
    {
        "creating",
        "downloading",
        "reserved",
        "attaching",
        "detaching",
        "extending",
        "retyping",
        "uploading",
        "deleting",
    }
)
"""The statuses in which a volume is for a time: it is asked for nothing meanwhile."""

_Ask = Callable[[Work, Cloud, Sequence[Volume]], "list[str]"]


def take(work: Work, cloud: Cloud, steps: Sequence[Step], patience: timedelta) -> NotYet | None:
    """Take the first of these steps that is not over, or wait for it; None where none is left."""
    ending = work.reservation.cloud_state.get(ENDING) or {}
    over = ending.get("over", [])
    step = next((each for each in steps if each not in over), None)
    if step is None or not work.reservation.cloud_state:
        return None
    since = datetime.fromisoformat(ending["since"]) if ending.get("step") == step else work.now
    waiting = {ENDING: {"step": step.value, "since": since.isoformat(), "over": over}}
    is_late = work.now - since > patience
    try:
        reasons = ASKING[step](work, cloud, marked_volumes(work, cloud.storage))
    except (CloudUnavailable, CloudRefused) as failure:
        # Told as a value, for what an exception tells does not remember since when this is tried.
        reasons = [failure.message]
        if isinstance(failure, CloudUnavailable) and not is_late:
            return NotYet(failure.message, None, waiting)
    if reasons and not is_late:
        return NotYet(reasons[0], LOOK_AFTER, waiting)
    if reasons:
        LOG.warning("The step %s of reservation %s is given up: %s", step, work.reservation.id, reasons[0])
    # Cinder counts what is gone a moment later: the quota is looked at once more.
    return NotYet(DOING[step], LOOK_AFTER, {ENDING: {"over": [*over, step.value]}})


def _snapshot(work: Work, cloud: Cloud, volumes: Sequence[Volume]) -> list[str]:
    """Have one snapshot of each volume. Return the reasons why there is more to do."""
    user = owner_of(work.lease, cloud)
    if user is None:
        LOG.warning("No snapshots of volumes of lease %s are made: %s", work.lease.id, NO_TRUST)
        return []
    reasons = [DOING[Step.SNAPSHOT] for each in volumes if each.status in IN_BETWEEN]
    for volume in volumes:
        if volume.status not in WITH_CONTENT:
            continue
        found = user.storage.snapshots_of(volume.id)
        ours = [each for each in found if each.metadata.get(RESERVATION) == work.reservation.id]
        if not ours:
            name = SNAPSHOT_NAME.format(name=volume.name, lease=work.lease.name)[:LONGEST_NAME]
            marks = {RESERVATION: work.reservation.id}
            reasons += _refused(Step.SNAPSHOT, user.storage.create_snapshot, volume.id, name, marks)
        elif ours[0].status == "creating":
            reasons.append(DOING[Step.SNAPSHOT])
    return reasons


def _detach(work: Work, cloud: Cloud, volumes: Sequence[Volume]) -> list[str]:
    """Have no server have any of the volumes."""
    actor = owner_of(work.lease, cloud) or cloud
    reasons: list[str] = []
    for volume in volumes:
        if volume.status in IN_BETWEEN:
            reasons.append(DOING[Step.DETACH])
            continue
        for server_id in volume.attached_to:
            reasons += _refused(Step.DETACH, actor.compute.detach_volume, server_id, volume.id)
    return reasons


def _delete(work: Work, cloud: Cloud, volumes: Sequence[Volume]) -> list[str]:
    """Have none of the volumes."""
    actor = owner_of(work.lease, cloud) or cloud
    reasons: list[str] = []
    for volume in volumes:
        if volume.status in DELETABLE:
            reasons += _refused(Step.DELETE, actor.storage.delete_volume, volume.id)
        elif volume.status in IN_BETWEEN:
            reasons.append(DOING[Step.DELETE])
        else:
            reasons.append(f"volume {volume.name} is not deleted, for its status is {volume.status}")
    return reasons


def _refused(step: Step, ask: Callable[..., None], *what: Any) -> list[str]:
    """Ask, and return the reason to look again: what was asked for takes time, or was refused."""
    try:
        ask(*what)
    except CloudRefused as refusal:
        return [refusal.message]
    return [DOING[step]]


ASKING: Mapping[Step, _Ask] = {Step.SNAPSHOT: _snapshot, Step.DETACH: _detach, Step.DELETE: _delete}
