"""The quota of a project in Cinder, by names that stay when a volume type is renamed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from blazar.service.ports import Storage

Amounts = Mapping[str, int]
"""Amounts by limit: ``gigabytes`` and ``volumes`` of all volumes, and the same of a volume type, with a colon
and its id behind it."""
KINDS = ("gigabytes", "volumes")
UNLIMITED = -1


def amounts_of(volume_type_id: str, gigabytes: int, volumes: int) -> Amounts:
    """Return what such volumes take of each limit: Cinder counts them for their type and among all."""
    sizes = dict(zip(KINDS, (gigabytes, volumes), strict=True))
    return sizes | {f"{kind}:{volume_type_id}": size for kind, size in sizes.items()}


class ProjectQuota:
    """The limits of one project."""

    def __init__(self, storage: Storage, project_id: str) -> None:
        self._storage = storage
        self._project_id = project_id
        self._types = {each.id: each.name for each in storage.volume_types()}

    def has_type(self, volume_type_id: str) -> bool:
        return volume_type_id in self._types

    def limits(self, names: Iterable[str]) -> Amounts:
        """Return those of the limits that there are, as they are now."""
        found = self._storage.volume_quota(self._project_id)
        known = {name: found.get(self.cinders(name), UNLIMITED) for name in names}
        return {name: limit for name, limit in known.items() if limit != UNLIMITED}

    def set(self, limits: Amounts) -> None:
        set_to = {self.cinders(name): limit for name, limit in limits.items()}
        self._storage.set_volume_quota(self._project_id, set_to)

    def type_name(self, volume_type_id: str) -> str | None:
        return self._types.get(volume_type_id)

    def cinders(self, name: str) -> str:
        """Return Cinder's name of a limit; that of a volume type that is gone is none."""
        kind, _, volume_type_id = name.partition(":")
        return f"{kind}_{self._types.get(volume_type_id, '')}" if volume_type_id else kind
