"""Cinder in memory: volume types, and the quotas of projects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from blazar.adapters.memory.cloud_state import Called, CloudState
from blazar.domain.errors import CloudRefused
from blazar.service.ports import Volume, VolumeType

DEFAULTS = {"volumes": 10, "gigabytes": 1000}


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
                reason = f"Bad key(s) in quota set: {', '.join(sorted(unknown))} (HTTP 400)"
                raise CloudRefused(service="Cinder", reason=reason)
            self._state.volume_quotas.setdefault(project_id, {}).update(limits)

    def volumes(self, project_id: str) -> Sequence[Volume]:
        self._called("volumes")
        found = self._state.volumes.get(project_id, {}).values()
        return sorted(found, key=lambda each: (each.created_at, each.id), reverse=True)

    def delete_volume(self, volume_id: str) -> None:
        self._called("delete_volume")
        with self._state.lock:
            for volumes in self._state.volumes.values():
                known = volumes.get(volume_id)
                if known is not None and known.status not in ("available", "error"):
                    reason = f"Invalid volume: its status is {known.status}. (HTTP 400)"
                    raise CloudRefused(service="Cinder", reason=reason)
                volumes.pop(volume_id, None)

    def _limits(self, project_id: str) -> dict[str, int]:
        of_types = {f"{kind}_{each.name}": -1 for each in self._state.volume_types for kind in DEFAULTS}
        return {**DEFAULTS, **of_types, **self._state.volume_quotas.get(project_id, {})}
