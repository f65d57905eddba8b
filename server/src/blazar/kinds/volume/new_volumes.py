"""Volumes that are made at the start: by the user's trust, within the quota that was raised for them.

Cinder makes a new volume with each request. So each volume is marked with its reservation and its number, and
looked for before it is made: a crash after the request, and before it was written down, makes none twice.
Where two requests were under way all the same, the later volume goes, as long as the start is not over: by
then its user may have something in it.

What is known to be made is never made again, so a volume that its user deletes stays away. A volume that
Cinder could not make is another thing. It is written down as failed before it is deleted: so what is missing
afterwards is not taken for what a user has deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from blazar.domain.errors import CloudRefused
from blazar.domain.lease.lease import Reservation, ReservationStatus
from blazar.domain.lease.outcome import Done, GiveUp, NotYet, Outcome
from blazar.kinds.trusts import NO_TRUST, owner_of
from blazar.kinds.volume.marks import NUMBER, RESERVATION, marked_volumes, name_of, numbers_of
from blazar.kinds.volume.schema import VolumeParameters
from blazar.service.ports import Cloud, NewVolume, Volume
from blazar.service.ports.kind import Work

MADE, SEEN = "made_volumes", "seen_statuses"
"""In what a reservation remembers: the ids of its volumes by their numbers; by their ids, the statuses that
they had when they were last looked at."""
FAILED = "failed_volumes"
"""In what a reservation remembers: the numbers of the volumes that failed, by their ids, and the reason of
the last one."""
ATTACHED = "attached_volumes"
"""In what a reservation remembers: how often each number was to be attached."""
MOST_TRIES = 3
"""How often each volume is made, and attached, before the start is given up."""
LOOK_AFTER = timedelta(seconds=1)
ERROR, STUCK = "error", "error_deleting"
DELETABLE = frozenset({"available", ERROR})
IN_THE_MAKING = frozenset({"creating", "downloading"})
ON_THE_WAY = frozenset({"reserved", "attaching"})
NOT_ATTACHED = "error_attaching"
UNATTACHED = frozenset({"available", NOT_ATTACHED})


@dataclass(frozen=True, slots=True)
class _Sight:
    """The reservation's volumes as one look finds them."""

    volumes: Mapping[str, Volume]
    """By number."""
    failed: Sequence[Volume]
    """Those that are known to have failed."""
    doubles: Sequence[Volume]
    """Those that another volume with their number was there before."""


def activate(work: Work, cloud: Cloud, asked: VolumeParameters) -> Outcome:
    """Have all volumes made and, where it is asked for, attached. Once they are, they are their user's: they
    are only looked at."""
    sight = _look(work, cloud)
    if work.reservation.status is ReservationStatus.ACTIVE:
        return Done(_remembered(work.reservation, sight))
    if failures := [each for each in sight.volumes.values() if each.status == ERROR]:
        return _written_down(work, cloud, sight, failures)
    state = _remembered(work.reservation, sight)
    if leftovers := [*sight.failed, *sight.doubles]:
        return _removed(work, cloud, leftovers, state)
    failed = work.reservation.cloud_state.get(FAILED) or {"numbers": {}}
    missing = [number for number in numbers_of(asked) if number not in state[MADE]]
    tries = list(failed["numbers"].values())
    if any(tries.count(number) >= MOST_TRIES for number in missing):
        return GiveUp(failed["reason"])
    if missing:
        return _make(work, cloud, asked, missing, state)
    if making := [each for each in sight.volumes.values() if each.status in IN_THE_MAKING]:
        return NotYet(_is_made(making[0].name, work), LOOK_AFTER, state)
    if asked.server_id is not None and (waiting := _attach(work, cloud, asked.server_id, sight, state)):
        return waiting
    return Done({**state, FAILED: None, ATTACHED: None})


def shown(reservation: Reservation) -> Sequence[Mapping[str, str | None]]:
    """Return the volumes as answers show them: id and status, as they were last seen. One that is gone has
    no status."""
    known = reservation.cloud_state.get(MADE) or {}
    statuses = reservation.cloud_state.get(SEEN) or {}
    return [{"id": known[n], "status": statuses.get(known[n])} for n in sorted(known, key=int)]


def _look(work: Work, cloud: Cloud) -> _Sight:
    known = (work.reservation.cloud_state.get(MADE) or {}).values()
    known_to_fail = _failed_numbers(work.reservation)
    volumes: dict[str, Volume] = {}
    failed: list[Volume] = []
    doubles: list[Volume] = []
    found = marked_volumes(work, cloud.storage)
    for volume in sorted(found, key=lambda each: (each.id not in known, each.created_at, each.id)):
        number = volume.metadata.get(NUMBER, "")
        if volume.id in known_to_fail:
            failed.append(volume)
        elif number in volumes:
            doubles.append(volume)
        elif number.isdecimal():
            volumes[number] = volume
    return _Sight(volumes, failed, doubles)


def _remembered(reservation: Reservation, sight: _Sight) -> dict[str, Any]:
    """Return what the reservation is to remember of its volumes."""
    known = reservation.cloud_state.get(MADE) or {}
    return {
        MADE: {**{number: each.id for number, each in sight.volumes.items()}, **known},
        SEEN: {each.id: each.status for each in sight.volumes.values()},
    }


def _failed_numbers(reservation: Reservation) -> Mapping[str, str]:
    numbers: Mapping[str, str] = (reservation.cloud_state.get(FAILED) or {}).get("numbers", {})
    return numbers


def _written_down(work: Work, cloud: Cloud, sight: _Sight, failures: Sequence[Volume]) -> Outcome:
    """Remember volumes that failed as such, before anything is done with them."""
    state = _remembered(work.reservation, sight)
    numbers = {each.id: each.metadata[NUMBER] for each in failures}
    first = failures[0]
    reason = f"volume {first.name} was not made: {_fault(work, cloud, first.id)}"
    return NotYet(
        reason,
        timedelta(0),
        {
            MADE: {number: each for number, each in state[MADE].items() if each not in numbers},
            FAILED: {"numbers": {**_failed_numbers(work.reservation), **numbers}, "reason": reason},
        },
    )


def _fault(work: Work, cloud: Cloud, volume_id: str) -> str:
    user = owner_of(work.lease, cloud)
    try:
        told = None if user is None else user.storage.volume_fault(volume_id)
    except CloudRefused as refusal:
        told = refusal.message
    return told or "Cinder does not say why"


def _removed(work: Work, cloud: Cloud, leftovers: Sequence[Volume], state: Mapping[str, Any]) -> Outcome:
    """Have volumes deleted that have no use, and wait until they are gone: until then they are counted."""
    if stuck := [each for each in leftovers if each.status == STUCK]:
        return GiveUp(f"volume {stuck[0].id} has failed, and cannot be deleted")
    actor = owner_of(work.lease, cloud) or cloud
    for volume in leftovers:
        if volume.status in DELETABLE:
            actor.storage.delete_volume(volume.id)
    return NotYet(_is_made(leftovers[0].name, work), LOOK_AFTER, state)


def _make(
    work: Work, cloud: Cloud, asked: VolumeParameters, missing: Sequence[str], state: Mapping[str, Any]
) -> Outcome:
    user = owner_of(work.lease, cloud)
    first = name_of(asked, missing[0])
    if user is None:
        return GiveUp(f"volume {first} was not made: {NO_TRUST}")
    known = dict(state[MADE])
    for number in missing:
        new = _new_volume(work.reservation, asked, number)
        try:
            known[number] = user.storage.create_volume(new)
        except CloudRefused as refusal:
            reason = f"volume {new.name} cannot be made: {refusal.message}"
            is_known = known == state[MADE]
            return GiveUp(reason) if is_known else NotYet(reason, LOOK_AFTER, {**state, MADE: known})
    return NotYet(_is_made(first, work), LOOK_AFTER, {**state, MADE: known})


def _attach(
    work: Work, cloud: Cloud, server_id: str, sight: _Sight, state: Mapping[str, Any]
) -> Outcome | None:
    """Attach what is available, and wait for what is on its way; None where neither is left."""
    free = {number: each for number, each in sight.volumes.items() if each.status in UNATTACHED}
    on_the_way = [each for each in sight.volumes.values() if each.status in ON_THE_WAY]
    if not free and not on_the_way:
        return None
    tried = work.reservation.cloud_state.get(ATTACHED) or {}
    for number, volume in free.items():
        if tried.get(number, 0) >= MOST_TRIES or volume.status == NOT_ATTACHED:
            return GiveUp(f"volume {volume.name} was not attached to server {server_id}")
    user = owner_of(work.lease, cloud)
    if user is None:
        return GiveUp(f"no volume was attached to server {server_id}: {NO_TRUST}")
    for volume in free.values():
        user.compute.attach_volume(server_id, volume.id)
    tried = {**tried, **{number: tried.get(number, 0) + 1 for number in free}}
    name = [*free.values(), *on_the_way][0].name
    return NotYet(f"volume {name} is being attached", LOOK_AFTER, {**state, ATTACHED: tried})


def _new_volume(reservation: Reservation, asked: VolumeParameters, number: str) -> NewVolume:
    return NewVolume(
        name=name_of(asked, number),
        volume_type=asked.volume_type,
        gigabytes=asked.size,
        image_id=asked.image_id,
        snapshot_id=asked.snapshot_id,
        metadata={RESERVATION: reservation.id, NUMBER: number},
    )


def _is_made(name: str, work: Work) -> str:
    failed = work.reservation.cloud_state.get(FAILED)
    return f"volume {name} is being made" + (f" again, for {failed['reason']}" if failed else "")
