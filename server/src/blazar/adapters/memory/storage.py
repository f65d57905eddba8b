"""Cinder in memory: volume types, volumes and snapshots, and the quotas of projects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from blazar.adapters.memory.cloud_state import Actor, Called, CloudState
from blazar.domain.errors import CloudRefused
from blazar.service.ports import NewVolume, Volume, VolumeSnapshot, VolumeType

DEFAULTS = {"volumes": 10, "gigabytes": 1000}
AFTERWARDS = {"creating": "available", "attaching": "in-use", "detaching": "available"}
"""The statuses in which volumes are for a time, and those that follow."""


class MemoryStorage:
    """The Storage port."""

    def __init__(self, state: CloudState, called: Called) -> None:
        self._state = state
        self._called = called

    def volume_types(self) -> Sequence[VolumeType]:
        self._called("volume_types")
        return list(self._state.volume_types)

    def volume_quota(self, project_id: str) -> Mapping[str, int]:
        self._called("volume_quota")
        return self._limits(project_id)

    def set_volume_quota(self, project_id: str, limits: Mapping[str, int]) -> None:
        self._called("set_volume_quota")
        with self._state.lock:
            if unknown := limits.keys() - self._limits(project_id).keys():
                raise _refused(f"Bad key(s) in quota set: {', '.join(sorted(unknown))} (HTTP 400)")
            own, used = self._state.volume_quotas.setdefault(project_id, {}), self._usage(project_id)
            if short := [name for name in limits.keys() & own.keys() if 0 <= limits[name] < used[name]]:
                raise _refused(f"Quota {short[0]} limit must be no less than existing resources. (HTTP 400)")
            own.update(limits)

    def volume_usage(self, project_id: str) -> Mapping[str, int]:
        self._called("volume_usage")
        with self._state.lock:
            return self._usage(project_id)

    def volumes(self, project_id: str) -> Sequence[Volume]:
        self._called("volumes")
        return self._newest_first(project_id)

    def volumes_with(self, project_id: str, key: str, value: str) -> Sequence[Volume]:
        self._called("volumes_with")
        return [each for each in self._newest_first(project_id) if each.metadata.get(key) == value]

    def create_volume(self, new: NewVolume) -> str:
        project_id, state = _project_of(self._called("create_volume")), self._state
        with state.lock:
            made = Volume(
                str(UUID(int=state.next_id())),
                self._type_name(new.volume_type),
                new.gigabytes,
                "creating",
                _moment(state.last_id),
                new.name,
                dict(new.metadata),
            )
            self._require_quota(project_id, made)
            state.volumes.setdefault(project_id, {})[made.id] = made
            state.new_volumes[made.id] = new
            if not state.slow_volumes:
                settle_volumes(state)
            return made.id

    def _type_name(self, reference: str) -> str:
        known = (each.name for each in self._state.volume_types if reference in (each.id, each.name))
        found = next(known, None)
        if found is None:
            raise _refused(f"Volume type {reference} could not be found. (HTTP 404)")
        return found

    def _require_quota(self, project_id: str, new: Volume) -> None:
        limits, used = self._limits(project_id), self._usage(project_id)
        for ending in ("", f"_{new.volume_type}"):
            for kind, size in (("gigabytes", new.gigabytes), ("volumes", 1)):
                name = kind + ending
                if 0 <= limits[name] < used[name] + size:
                    raise _refused(f"Requested volume exceeds allowed {name} quota. (HTTP 413)")

    def volume_fault(self, volume_id: str) -> str | None:
        self._called("volume_fault")
        return self._state.volume_faults.get(volume_id)

    def delete_volume(self, volume_id: str) -> None:
        actor, state = self._called("delete_volume"), self._state
        with state.lock:
            for project_id, volumes in state.volumes.items():
                if actor is not None and actor.project_id != project_id:
                    continue
                known = volumes.get(volume_id)
                if known is not None and known.status not in ("available", "error"):
                    raise _refused(f"Invalid volume: its status is {known.status}. (HTTP 400)")
                if any(each.volume_id == volume_id for each in state.volume_snapshots.values()):
                    raise _refused("Invalid volume: it has snapshots. (HTTP 400)")
                if known is not None and state.slow_volumes:
                    volumes[volume_id] = replace(known, status="deleting")
                else:
                    volumes.pop(volume_id, None)

    def snapshot(self, snapshot_id: str) -> VolumeSnapshot | None:
        actor, found = self._called("snapshot"), self._state.volume_snapshots.get(snapshot_id)
        if found is None or (actor and found.volume_id not in self._state.volumes.get(actor.project_id, {})):
            return None
        return found

    def snapshots_of(self, volume_id: str) -> Sequence[VolumeSnapshot]:
        project_id, state = _project_of(self._called("snapshots_of")), self._state
        if volume_id not in state.volumes.get(project_id, {}):
            return []
        return [each for each in state.volume_snapshots.values() if each.volume_id == volume_id]

    def create_snapshot(self, volume_id: str, name: str, metadata: Mapping[str, str]) -> None:
        project_id, state = _project_of(self._called("create_snapshot")), self._state
        with state.lock:
            volume = state.volumes.get(project_id, {}).get(volume_id)
            if volume is None:
                raise _refused(f"Volume {volume_id} could not be found. (HTTP 404)")
            if volume.status not in ("available", "in-use"):
                raise _refused(f"Invalid volume: its status is {volume.status}. (HTTP 400)")
            made = str(UUID(int=state.next_id()))
            state.volume_snapshots[made] = VolumeSnapshot(
                made, volume_id, volume.gigabytes, "creating", dict(metadata)
            )
            if not state.slow_volumes:
                settle_volumes(state)

    def _newest_first(self, project_id: str) -> Sequence[Volume]:
        found = self._state.volumes.get(project_id, {}).values()
        return sorted(found, key=lambda each: (each.created_at, each.id), reverse=True)

    def _usage(self, project_id: str) -> dict[str, int]:
        used = dict.fromkeys(self._limits(project_id), 0)
        for volume in self._state.volumes.get(project_id, {}).values():
            for ending in ("", f"_{volume.volume_type}"):
                for kind, size in (("gigabytes", volume.gigabytes), ("volumes", 1)):
                    used[kind + ending] = used.get(kind + ending, 0) + size
        return used

    def _limits(self, project_id: str) -> dict[str, int]:
        of_types = {f"{kind}_{each.name}": -1 for each in self._state.volume_types for kind in DEFAULTS}
        return {**DEFAULTS, **of_types, **self._state.volume_quotas.get(project_id, {})}


def settle_volumes(state: CloudState) -> None:
    """Complete what Cinder and Nova do with volumes and snapshots."""
    for volumes in state.volumes.values():
        for volume in list(volumes.values()):
            if volume.status == "deleting":
                del volumes[volume.id]
            elif volume.status == "creating" and state.volume_failures:
                volumes[volume.id] = replace(volume, status="error")
                state.volume_faults[volume.id] = state.volume_failures.pop(0)
            elif (after := AFTERWARDS.get(volume.status)) is not None:
                left = () if volume.status == "detaching" else volume.attached_to
                volumes[volume.id] = replace(volume, status=after, attached_to=left)
    made = "error" if state.snapshot_fails else "available"
    for snapshot in list(state.volume_snapshots.values()):
        if snapshot.status == "creating":
            state.volume_snapshots[snapshot.id] = replace(snapshot, status=made)


def _project_of(actor: Actor | None) -> str:
    return actor.project_id if actor else "service"


def _moment(number: int) -> datetime:
    """Return when a volume was made: one after the other, and after all that tests have made before."""
    return datetime(2100, 1, 1, tzinfo=UTC) + timedelta(seconds=number)


def _refused(reason: str) -> CloudRefused:
    return CloudRefused(service="Cinder", reason=reason)
