"""Cinder: volume types, quotas, volumes and snapshots, as the Storage port wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from blazar.adapters.openstack.session import ServiceApi
from blazar.service.ports import NewVolume, Volume, VolumeSnapshot, VolumeType

PAGE = 500
WITH_MESSAGES = "3.5"
"""From here on Cinder tells users why one thing has failed."""
OVER_QUOTA = 413


class CinderStorage:
    """The Storage port over Cinder's HTTP API, whose version the catalog's address has in it."""

    def __init__(self, api: ServiceApi) -> None:
        self._api = api

    def volume_types(self) -> Sequence[VolumeType]:
        # "None" is Cinder's word for both: without it administrators get the public ones only.
        found = self._all("/types", "volume_types", is_public="None")
        return [VolumeType(str(raw["id"]), str(raw["name"])) for raw in found]

    def volume_quota(self, project_id: str) -> Mapping[str, int]:
        limits = self._api.get(f"/os-quota-sets/{project_id}")["quota_set"]
        return {name: limit for name, limit in limits.items() if isinstance(limit, int)}

    def set_volume_quota(self, project_id: str, limits: Mapping[str, int]) -> None:
        self._api.put(f"/os-quota-sets/{project_id}", {"quota_set": dict(limits)})

    def volume_usage(self, project_id: str) -> Mapping[str, int]:
        found = self._api.get(f"/os-quota-sets/{project_id}", usage="true")["quota_set"]
        return {
            name: int(each["in_use"]) + int(each["reserved"])
            for name, each in found.items()
            if isinstance(each, dict)
        }

    def volumes(self, project_id: str) -> Sequence[Volume]:
        return self._volumes(project_id)

    def volumes_with(self, project_id: str, key: str, value: str) -> Sequence[Volume]:
        # Cinder reads a dictionary as Python writes it.
        found = self._volumes(project_id, metadata=repr({key: value}))
        return [each for each in found if each.metadata.get(key) == value]

    def _volumes(self, project_id: str, **conditions: str) -> Sequence[Volume]:
        found = self._all("/volumes/detail", "volumes", all_tenants="1", project_id=project_id, **conditions)
        return sorted(map(_volume, found), key=lambda each: (each.created_at, each.id), reverse=True)

    def create_volume(self, new: NewVolume) -> str:
        source = {"imageRef": new.image_id, "snapshot_id": new.snapshot_id}
        body = {
            "name": new.name,
            "volume_type": new.volume_type,
            "size": new.gigabytes,
            "metadata": dict(new.metadata),
            **{name: value for name, value in source.items() if value},
        }
        answer = self._api.post("/volumes", {"volume": body}, refused=(OVER_QUOTA,))
        return str((answer or {})["volume"]["id"])

    def volume_fault(self, volume_id: str) -> str | None:
        found = self._api.get("/messages", WITH_MESSAGES, resource_uuid=volume_id, sort="created_at:desc")
        return next((str(each["user_message"]) for each in found["messages"]), None)

    def delete_volume(self, volume_id: str) -> None:
        self._api.delete(f"/volumes/{volume_id}")

    def snapshot(self, snapshot_id: str) -> VolumeSnapshot | None:
        found = self._api.find(f"/snapshots/{quote(snapshot_id, safe='')}")
        return None if found is None else _snapshot(found["snapshot"])

    def snapshots_of(self, volume_id: str) -> Sequence[VolumeSnapshot]:
        found = map(_snapshot, self._all("/snapshots/detail", "snapshots", volume_id=volume_id))
        return [each for each in found if each.volume_id == volume_id]

    def create_snapshot(self, volume_id: str, name: str, metadata: Mapping[str, str]) -> None:
        # By force: otherwise Cinder refuses it of a volume that is in use.
        body = {"volume_id": volume_id, "name": name, "force": True, "metadata": dict(metadata)}
        self._api.post("/snapshots", {"snapshot": body}, refused=(OVER_QUOTA,))

    def _all(self, path: str, noun: str, **conditions: Any) -> Sequence[Mapping[str, Any]]:
        """Return all pages of a list. Cinder may have shorter pages than were asked for."""
        found: list[Mapping[str, Any]] = []
        while True:
            page = self._page(path, conditions, found)
            if page is None:
                found.pop()  # it was deleted meanwhile
            elif page[noun]:
                found += page[noun]
            else:
                return found

    def _page(self, path: str, conditions: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> Any:
        """Return what follows on what was found; None where Cinder does not know the last of it any more."""
        if not found:
            return self._api.get(path, limit=PAGE, **conditions)
        return self._api.find(path, limit=PAGE, **conditions, marker=str(found[-1]["id"]))


def _volume(raw: Mapping[str, Any]) -> Volume:
    return Volume(
        id=str(raw["id"]),
        volume_type=str(raw.get("volume_type") or ""),
        gigabytes=int(raw["size"]),
        status=str(raw["status"]),
        created_at=datetime.fromisoformat(str(raw["created_at"])).replace(tzinfo=UTC),
        name=str(raw.get("name") or ""),
        metadata=dict(raw.get("metadata") or {}),
        attached_to=tuple(
            str(each["server_id"]) for each in raw.get("attachments") or () if each["server_id"]
        ),
    )


def _snapshot(raw: Mapping[str, Any]) -> VolumeSnapshot:
    return VolumeSnapshot(
        id=str(raw["id"]),
        volume_id=str(raw["volume_id"]),
        gigabytes=int(raw["size"]),
        status=str(raw["status"]),
        metadata=dict(raw.get("metadata") or {}),
    )
