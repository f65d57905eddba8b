"""Cinder: volume types and quotas, as the Storage port wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from blazar.adapters.openstack.session import ServiceApi
from blazar.service.ports import VolumeType

PAGE = 500


class CinderStorage:
    """The Storage port over Cinder's HTTP API, whose version the catalog's address has in it."""

    def __init__(self, api: ServiceApi) -> None:
        self._api = api

    def volume_types(self) -> Sequence[VolumeType]:
        found: list[VolumeType] = []
        marker: dict[str, str] = {}
        # "None" is Cinder's word for both: without it administrators get the public ones only.
        while True:
            page = self._api.get("/types", is_public="None", limit=PAGE, **marker)["volume_types"]
            found += [VolumeType(str(raw["id"]), str(raw["name"])) for raw in page]
            if len(page) < PAGE:
                return found
            marker = {"marker": found[-1].id}

    def volume_quota(self, project_id: str) -> Mapping[str, int]:
        limits = self._api.get(f"/os-quota-sets/{project_id}")["quota_set"]
        return {name: limit for name, limit in limits.items() if isinstance(limit, int)}

    def set_volume_quota(self, project_id: str, limits: Mapping[str, int]) -> None:
        self._api.put(f"/os-quota-sets/{project_id}", {"quota_set": dict(limits)})
