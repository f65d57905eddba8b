"""Cinder's tables, and the rule of quotas."""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from blazar_sandbox.clock import Clock
from blazar_sandbox.errors import ApiError, bad_request, conflict, not_found
from blazar_sandbox.identity.access import Access
from blazar_sandbox.table import Index, Table

DEFAULT_CLASS = "default"
"""The key of the limits that every project has until it gets others."""

_DEFAULTS = {
    "volumes": 10,
    "gigabytes": 1000,
    "snapshots": 10,
    "backups": 10,
    "backup_gigabytes": 1000,
    "groups": 10,
    "per_volume_gigabytes": -1,
}
_OF_EACH_TYPE = ("volumes", "gigabytes", "snapshots")


@dataclass(frozen=True, slots=True)
class VolumeType:
    """A volume type, on which no backend depends here."""

    id: str
    name: str
    description: str | None = None
    is_public: bool = True
    extra_specs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume; it has a size, and no content."""

    id: str
    name: str
    size: int
    type_id: str
    project_id: str
    user_id: str
    created_at: datetime
    updated_at: datetime | None = None
    status: str = "available"
    description: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VolumeQuota:
    """The limits that were set for a project, or as the default, by name; -1 means none."""

    limits: Mapping[str, int]


class Volumes:
    """Cinder's tables and rules."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.types: Table[VolumeType] = Table("volume_types", VolumeType)
        self.table: Table[Volume] = Table("volumes", Volume)
        self.quotas: Table[VolumeQuota] = Table("volume_quotas", VolumeQuota)
        self.types_by_name = Index(self.types, lambda row: (row.name,))
        self.of_project = Index(self.table, lambda row: (row.project_id,))
        self.of_type = Index(self.table, lambda row: (row.type_id,))

    @property
    def tables(self) -> Iterator[Table[Any]]:
        """Every table, for persistence."""
        yield from (self.types, self.table, self.quotas)

    # --- types

    def type(self, type_id: str, caller: Access) -> VolumeType:
        """Return a type; raise 404 if the caller sees none of this id."""
        row = self.types.get(type_id)
        if row is None or not (row.is_public or caller.is_admin):
            raise not_found(f"Volume type {type_id} could not be found.")
        return row

    def put_type(self, row: VolumeType) -> VolumeType:
        """Create or change a type. Its quotas follow where it gets another name."""
        namesake = self.types_by_name.first(row.name)
        if namesake is not None and namesake.id != row.id:
            raise conflict(f"Volume Type {row.name} already exists.")
        before = self.types.get(row.id)
        if before is not None and before.name != row.name:
            self._rename_quotas(before.name, row.name)
        self.types.put(row.id, row)
        return row

    def _rename_quotas(self, before: str, after: str) -> None:
        names = {f"{kind}_{before}": f"{kind}_{after}" for kind in _OF_EACH_TYPE}
        for key, row in list(self.quotas.items()):
            renamed = {names.get(name, name): limit for name, limit in row.limits.items()}
            self.quotas.put(key, VolumeQuota(renamed))

    def delete_type(self, row: VolumeType) -> None:
        """Delete a type without volumes."""
        if self.of_type.count(row.id):
            raise bad_request("Target volume type is still in use.")
        self.types.drop(row.id)

    # --- quotas

    def defaults(self) -> dict[str, int]:
        """Return the limits of a project that has none of its own."""
        of_types = (f"{kind}_{row.name}" for row in self.types for kind in _OF_EACH_TYPE)
        return {**_DEFAULTS, **dict.fromkeys(of_types, -1), **self._own(DEFAULT_CLASS)}

    def limits(self, project_id: str) -> dict[str, int]:
        """Return the limits of a project."""
        return {**self.defaults(), **self._own(project_id)}

    def _own(self, key: str) -> Mapping[str, int]:
        row = self.quotas.get(key)
        return row.limits if row is not None else {}

    def set_limits(self, key: str, wanted: Mapping[str, int]) -> None:
        """Set limits of a project, or of ``DEFAULT_CLASS``."""
        unknown = sorted(wanted.keys() - self.defaults().keys())
        if unknown:
            raise bad_request(f"Bad key(s) in quota set: {', '.join(unknown)}")
        self.quotas.put(key, VolumeQuota({**self._own(key), **wanted}))

    def in_use(self, project_id: str) -> dict[str, int]:
        """Return what a project uses, by the names of the limits."""
        used = dict.fromkeys(self.defaults(), 0)
        for row in self.of_project.rows(project_id):
            for ending in ("", f"_{self.types[row.type_id].name}"):
                used[f"volumes{ending}"] += 1
                used[f"gigabytes{ending}"] += row.size
        return used

    # --- volumes

    def create(
        self, caller: Access, volume_type: VolumeType, size: int, name: str, description: str | None
    ) -> Volume:
        """Create a volume, if the quotas of the project and of the type allow it."""
        self._check(caller.project_id, volume_type, size)
        row = Volume(
            str(uuid.uuid4()), name, size, volume_type.id, caller.project_id, caller.user.id,
            self.clock.now(), description=description,
        )  # fmt: skip
        self.table.put(row.id, row)
        return row

    def change(self, row: Volume, **changes: Any) -> Volume:
        """Store a changed volume."""
        changed = replace(row, updated_at=self.clock.now(), **changes)
        self.table.put(row.id, changed)
        return changed

    def delete(self, row: Volume) -> None:
        """Delete a volume that is not in use."""
        if row.status not in ("available", "error"):
            raise bad_request(
                "Invalid volume: Volume status must be available or error, but current status is: "
                f"{row.status}."
            )
        self.table.drop(row.id)

    def volume(self, volume_id: str, caller: Access) -> Volume:
        """Return a volume; raise 404 if the caller sees none of this id."""
        row = self.table.get(volume_id)
        if row is None or not caller.owns(row.project_id):
            raise not_found(f"Volume {volume_id} could not be found.")
        return row

    def _check(self, project_id: str, volume_type: VolumeType, size: int) -> None:
        limits, used = self.limits(project_id), self.in_use(project_id)
        for ending in ("", f"_{volume_type.name}"):
            name = f"gigabytes{ending}"
            if 0 <= limits[name] < used[name] + size:
                raise _over_quota(
                    "VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed "
                    f"{name} quota. Requested {size}G, quota is {limits[name]}G and {used[name]}G has been "
                    "consumed."
                )
            name = f"volumes{ending}"
            if 0 <= limits[name] <= used[name]:
                raise _over_quota(
                    f"VolumeLimitExceeded: Maximum number of volumes allowed ({limits[name]}) exceeded for "
                    f"quota '{name}'."
                )


def _over_quota(message: str) -> ApiError:
    return ApiError(413, message, headers=(("Retry-After", "0"),))
