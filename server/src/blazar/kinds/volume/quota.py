"""The quota of a project in Cinder, by names that stay when a volume type is renamed, and the volumes that
count in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from blazar.kinds.excess import Counted
from blazar.kinds.quota_shares import UNLIMITED, Amounts
from blazar.service.ports import Storage

KINDS = ("gigabytes", "volumes")
"""The limits of all volumes. Those of a volume type are called the same, with a colon and its id behind
it."""
DELETABLE = frozenset({"available", "error"})


def of_type(volume_type_id: str, gigabytes: int, volumes: int) -> Amounts:
    """Return what such volumes take of the limits of their type."""
    sizes = dict(zip(KINDS, (gigabytes, volumes), strict=True))
    return {f"{kind}:{volume_type_id}": size for kind, size in sizes.items()}


def amounts_of(volume_type_id: str, gigabytes: int, volumes: int) -> Amounts:
    """Return what such volumes take of each limit: Cinder counts them for their type and among all."""
    return {"gigabytes": gigabytes, "volumes": volumes, **of_type(volume_type_id, gigabytes, volumes)}


class VolumeQuota:
    """The limits of one project."""

    noun = "volumes"

    def __init__(self, storage: Storage, project_id: str) -> None:
        self._storage = storage
        self._project_id = project_id
        self._types: Mapping[str, str] | None = None

    def has_type(self, volume_type_id: str) -> bool:
        return volume_type_id in self._names()

    def limits(self, names: Iterable[str]) -> Amounts:
        found = self._storage.volume_quota(self._project_id)
        known = {name: found.get(self.title(name), UNLIMITED) for name in names}
        return {name: limit for name, limit in known.items() if limit != UNLIMITED}

    def used(self, names: Iterable[str]) -> Amounts:
        found = self._storage.volume_usage(self._project_id)
        return {name: found.get(self.title(name), 0) for name in names}

    def least(self, names: Iterable[str]) -> Amounts:
        """Cinder takes no limit below what is used."""
        return self.used(names)

    def set(self, limits: Amounts) -> None:
        set_to = {self.title(name): limit for name, limit in limits.items()}
        self._storage.set_volume_quota(self._project_id, set_to)

    def type_name(self, volume_type_id: str) -> str | None:
        return self._names().get(volume_type_id)

    def title(self, name: str) -> str:
        """Return Cinder's name of a limit; that of a volume type that is gone is none."""
        kind, _, volume_type_id = name.partition(":")
        return f"{kind}_{self._names().get(volume_type_id, '')}" if volume_type_id else kind

    def _names(self) -> Mapping[str, str]:
        """Return the names of the volume types by their ids, which are asked for once."""
        if self._types is None:
            self._types = {each.id: each.name for each in self._storage.volume_types()}
        return self._types


class VolumesOfType:
    """The volumes of one type that a project has."""

    def __init__(self, volume_type_id: str, storage: Storage, project_id: str) -> None:
        self.quota = VolumeQuota(storage, project_id)
        self._volume_type_id = volume_type_id
        self._storage = storage
        self._project_id = project_id

    def list(self) -> Sequence[Counted]:
        name = self.quota.type_name(self._volume_type_id)
        return [
            Counted(
                each.id,
                each.created_at,
                of_type(self._volume_type_id, each.gigabytes, 1),
                each.status in DELETABLE,
            )
            for each in self._storage.volumes(self._project_id)
            if each.volume_type == name
        ]

    def delete(self, id_: str) -> None:
        self._storage.delete_volume(id_)
