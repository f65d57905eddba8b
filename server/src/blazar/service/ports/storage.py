"""The port to Cinder: volume types, quotas, volumes and snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class VolumeType:
    """A volume type of Cinder."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume of Cinder; it can be deleted while its status is ``available`` or ``error``."""

    id: str
    volume_type: str
    """The type's name."""
    gigabytes: int
    status: str
    created_at: datetime
    name: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    attached_to: tuple[str, ...] = ()
    """The servers that have it, by id."""


@dataclass(frozen=True, slots=True)
class NewVolume:
    """What a volume is made from; it is empty where there is neither an image nor a snapshot."""

    name: str
    volume_type: str
    """Its id or name."""
    gigabytes: int
    image_id: str | None = None
    snapshot_id: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VolumeSnapshot:
    """A snapshot of a volume. The volume is not deleted while there is one."""

    id: str
    volume_id: str
    gigabytes: int
    status: str
    metadata: Mapping[str, str] = field(default_factory=dict)


class Storage(Protocol):
    """Cinder. Raises as Compute does."""

    def volume_types(self) -> Sequence[VolumeType]:
        """Return the volume types that these credentials may see."""
        ...

    def volume_quota(self, project_id: str) -> Mapping[str, int]:
        """Return the limits of a project by Cinder's names for them: ``gigabytes`` is for all volumes,
        ``gigabytes_fast`` for those of the volume type ``fast``. -1 is no limit."""
        ...

    def set_volume_quota(self, project_id: str, limits: Mapping[str, int]) -> None:
        """Set these limits of a project; the others stay.

        Raises CloudRefused for a name that Cinder does not know, and for less than the project uses where it
        has a limit of its own already; it sets none then."""
        ...

    def volume_usage(self, project_id: str) -> Mapping[str, int]:
        """Return what a project uses, by the names of its limits. Cinder counts a volume until a moment after
        it is gone."""
        ...

    def volumes(self, project_id: str) -> Sequence[Volume]:
        """Return the volumes of a project, newest first."""
        ...

    def volumes_with(self, project_id: str, key: str, value: str) -> Sequence[Volume]:
        """Return the volumes of a project in whose metadata the key has the value, newest first."""
        ...

    def create_volume(self, new: NewVolume) -> str:
        """Have Cinder make a volume in the project of these credentials, which takes time. Return its id;
        from then on it is listed. It must not be repeated unseen: each request makes one.

        Raises CloudRefused also where the quota is exhausted."""
        ...

    def volume_fault(self, volume_id: str) -> str | None:
        """Return what Cinder tells these credentials of the last failure of a volume of their project; None
        where it tells nothing."""
        ...

    def delete_volume(self, volume_id: str) -> None:
        """Have Cinder delete a volume, which takes time; one that is gone is no error. Raises CloudRefused
        where it is in use, or has snapshots."""
        ...

    def snapshot(self, snapshot_id: str) -> VolumeSnapshot | None:
        """Return a snapshot; None where these credentials see none of this id."""
        ...

    def snapshots_of(self, volume_id: str) -> Sequence[VolumeSnapshot]:
        """Return the snapshots of a volume in the project of these credentials."""
        ...

    def create_snapshot(self, volume_id: str, name: str, metadata: Mapping[str, str]) -> None:
        """Have Cinder make a snapshot of a volume, also of one in use, which takes time; from then on it is
        listed. It must not be repeated unseen. Raises CloudRefused also where the quota is exhausted."""
        ...
