"""Cinder's tables, and the rules of quotas and of attachments."""

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
class Attachment:
    """A volume's place in a server."""

    id: str
    server_id: str
    attached_at: datetime


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
    snapshot_id: str | None = None
    image_id: str | None = None
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of a volume."""

    id: str
    volume_id: str
    name: str
    size: int
    type_id: str
    project_id: str
    user_id: str
    created_at: datetime
    status: str = "available"
    description: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Message:
    """What Cinder tells a user of a failure."""

    id: str
    project_id: str
    resource_id: str
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class NewVolume:
    """What a volume is made from."""

    type: VolumeType
    size: int
    name: str
    description: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    snapshot_id: str | None = None
    image_id: str | None = None


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
        self.snapshots: Table[Snapshot] = Table("volume_snapshots", Snapshot)
        self.messages: Table[Message] = Table("volume_messages", Message)
        self.create_fails = ""
        """Why volumes that are made come into status error; empty where they don't."""
        self.types_by_name = Index(self.types, lambda row: (row.name,))
        self.of_project = Index(self.table, lambda row: (row.project_id,))
        self.of_type = Index(self.table, lambda row: (row.type_id,))
        self.of_server = Index(self.table, lambda row: tuple(each.server_id for each in row.attachments))
        self.snapshots_of = Index(self.snapshots, lambda row: (row.volume_id,))
        self.snapshots_in = Index(self.snapshots, lambda row: (row.project_id,))

    @property
    def tables(self) -> Iterator[Table[Any]]:
        """Every table, for persistence."""
        yield from (self.types, self.table, self.quotas, self.snapshots, self.messages)

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
        """Set limits of a project, or of ``DEFAULT_CLASS``.

        As in Cinder, a limit that the project has of its own is not set to less than it uses."""
        unknown = sorted(wanted.keys() - self.defaults().keys())
        if unknown:
            raise bad_request(f"Bad key(s) in quota set: {', '.join(unknown)}")
        own, used = self._own(key), self.in_use(key)
        for name, limit in wanted.items():
            if name in own and 0 <= limit < used[name]:
                raise bad_request(
                    f"Quota {name} limit must be equal or greater than existing resources. Current usage is "
                    f"{used[name]} and the requested limit is {limit}."
                )
        self.quotas.put(key, VolumeQuota({**own, **wanted}))

    def in_use(self, project_id: str) -> dict[str, int]:
        """Return what a project uses, by the names of the limits."""
        used = dict.fromkeys(self.defaults(), 0)
        for volume in self.of_project.rows(project_id):
            for ending in ("", f"_{self.types[volume.type_id].name}"):
                used[f"volumes{ending}"] += 1
                used[f"gigabytes{ending}"] += volume.size
        for row in self.snapshots_in.rows(project_id):
            for ending in ("", f"_{self.types[row.type_id].name}"):
                used[f"snapshots{ending}"] += 1
                used[f"gigabytes{ending}"] += row.size
        return used

    # --- volumes

    def create(self, caller: Access, new: NewVolume) -> Volume:
        """Create a volume, if the quotas of the project and of the type allow it."""
        self._check(caller.project_id, new.type, new.size, "volumes", "VolumeLimitExceeded")
        row = Volume(
            str(uuid.uuid4()), new.name, new.size, new.type.id, caller.project_id, caller.user.id,
            self.clock.now(), description=new.description, metadata=new.metadata,
            snapshot_id=new.snapshot_id, image_id=new.image_id,
            status="error" if self.create_fails else "available",
        )  # fmt: skip
        self.table.put(row.id, row)
        if self.create_fails:
            told = Message(str(uuid.uuid4()), row.project_id, row.id, self.create_fails, self.clock.now())
            self.messages.put(told.id, told)
        return row

    def change(self, row: Volume, **changes: Any) -> Volume:
        """Store a changed volume."""
        changed = replace(row, updated_at=self.clock.now(), **changes)
        self.table.put(row.id, changed)
        return changed

    def delete(self, row: Volume) -> None:
        """Delete a volume that is not in use, and has no snapshots."""
        if row.status not in ("available", "error") or self.snapshots_of.count(row.id):
            raise bad_request(
                "Invalid volume: Volume status must be available or error or error_restoring or "
                "error_extending or error_managing and must not be migrating, attached, belong to a group, "
                "have snapshots, awaiting a transfer, or be disassociated from snapshots after volume "
                f"transfer. Its status is {row.status}."
            )
        self.table.drop(row.id)

    def extend(self, row: Volume, size: int) -> Volume:
        """Make a volume that is available larger."""
        if row.status != "available" or size <= row.size:
            raise bad_request(
                f"Invalid input received: New size for extend must be greater than current size. (current: "
                f"{row.size}, extended: {size}, status: {row.status})."
            )
        self._check_gigabytes(row.project_id, self.types[row.type_id], size - row.size)
        return self.change(row, size=size)

    # --- attachments

    def attach(self, row: Volume, server_id: str) -> Volume:
        """Let a server have a volume that is available."""
        if row.status != "available":
            raise bad_request(
                f"Invalid volume: volume '{row.id}' status must be 'available' or 'downloading'. Currently "
                f"in '{row.status}' status"
            )
        attachment = Attachment(str(uuid.uuid4()), server_id, self.clock.now())
        return self.change(row, status="in-use", attachments=(attachment,))

    def detach(self, row: Volume, server_id: str) -> Volume:
        """Take a volume from a server."""
        left = tuple(each for each in row.attachments if each.server_id != server_id)
        return self.change(row, status="in-use" if left else "available", attachments=left)

    def leave(self, server_id: str) -> None:
        """Take all volumes from a server that is gone."""
        for row in self.of_server.rows(server_id):
            self.detach(row, server_id)

    # --- snapshots

    def create_snapshot(
        self, caller: Access, row: Volume, name: str, description: str | None, metadata: Mapping[str, str]
    ) -> Snapshot:
        """Create a snapshot of a volume, if the quotas of the project and of the type allow it."""
        volume_type = self.types[row.type_id]
        self._check(caller.project_id, volume_type, row.size, "snapshots", "SnapshotLimitExceeded")
        snapshot = Snapshot(
            str(uuid.uuid4()), row.id, name, row.size, row.type_id, caller.project_id, caller.user.id,
            self.clock.now(), description=description, metadata=metadata,
        )  # fmt: skip
        self.snapshots.put(snapshot.id, snapshot)
        return snapshot

    def snapshot(self, snapshot_id: str, caller: Access) -> Snapshot:
        """Return a snapshot; raise 404 if the caller sees none of this id."""
        row = self.snapshots.get(snapshot_id)
        if row is None or not caller.owns(row.project_id):
            raise not_found(f"Snapshot {snapshot_id} could not be found.")
        return row

    # --- what a caller sees

    def volume(self, volume_id: str, caller: Access) -> Volume:
        """Return a volume; raise 404 if the caller sees none of this id."""
        row = self.table.get(volume_id)
        if row is None or not caller.owns(row.project_id):
            raise not_found(f"Volume {volume_id} could not be found.")
        return row

    def _check(self, project_id: str, volume_type: VolumeType, size: int, counted: str, fault: str) -> None:
        """Refuse one more of what is ``counted`` where a quota does not allow it."""
        self._check_gigabytes(project_id, volume_type, size)
        limits, used = self.limits(project_id), self.in_use(project_id)
        for name in (counted, f"{counted}_{volume_type.name}"):
            if 0 <= limits[name] <= used[name]:
                raise _over_quota(
                    f"{fault}: Maximum number of {counted} allowed ({limits[name]}) exceeded for "
                    f"quota '{name}'."
                )

    def _check_gigabytes(self, project_id: str, volume_type: VolumeType, size: int) -> None:
        limits, used = self.limits(project_id), self.in_use(project_id)
        for name in ("gigabytes", f"gigabytes_{volume_type.name}"):
            if 0 <= limits[name] < used[name] + size:
                raise _over_quota(
                    "VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed "
                    f"{name} quota. Requested {size}G, quota is {limits[name]}G and {used[name]}G has been "
                    "consumed."
                )


def _over_quota(message: str) -> ApiError:
    return ApiError(413, message, headers=(("Retry-After", "0"),))
