"""Cinder: volume types and quotas, as the Storage port wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from blazar.adapters.openstack.session import ServiceApi
from blazar.service.ports import Volume, VolumeType

PAGE = 500


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

    def volumes(self, project_id: str) -> Sequence[Volume]:
        found = self._all("/volumes/detail", "volumes", all_tenants="1", project_id=project_id)
        return sorted(map(_volume, found), key=lambda each: (each.created_at, each.id), reverse=True)

    def delete_volume(self, volume_id: str) -> None:
        self._api.delete(f"/volumes/{volume_id}")

    def _all(self, path: str, noun: str, **conditions: str) -> Sequence[Mapping[str, Any]]:
        """Return all pages of a list. Cinder may have shorter pages than were asked for."""
        found: list[Mapping[str, Any]] = []
        marker: dict[str, str] = {}
        while True:
            page = self._api.get(path, limit=PAGE, **conditions, **marker)[noun]
            if not page:
                return found
            found += page
            marker = {"marker": str(page[-1]["id"])}


def _volume(raw: Mapping[str, Any]) -> Volume:
    return Volume(
        id=str(raw["id"]),
        volume_type=str(raw.get("volume_type") or ""),
        gigabytes=int(raw["size"]),
        status=str(raw["status"]),
        created_at=datetime.fromisoformat(str(raw["created_at"])).replace(tzinfo=UTC),
    )
