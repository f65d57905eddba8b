"""The use cases of volume types: operators register how much of each can be reserved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from blazar.domain.errors import Stale
from blazar.domain.resource import Inventory, Pool, Registration
from blazar.kinds.promised import most_at_once
from blazar.kinds.volume.errors import (
    CloudVolumeTypeNotFound,
    VolumeTypeAlreadyRegistered,
    VolumeTypeNotFound,
    VolumeTypeReserved,
)
from blazar.service.context import Caller
from blazar.service.interface import call_options
from blazar.service.ports import Clock, Cloud, Database, UnitOfWork, VolumeType
from blazar.service.request_cloud import within_request

POOL = Pool("volumetype")
GIGABYTE, VOLUME = "VOLUME_GB", "VOLUME"
"""The resource classes on the calendar."""
NAME = "name"


@dataclass(frozen=True, slots=True)
class OfferedVolumes:
    """How much of a volume type can be reserved."""

    gigabytes: int
    volumes: int

    @property
    def inventory(self) -> Mapping[str, Inventory]:
        amounts = {GIGABYTE: self.gigabytes, VOLUME: self.volumes}
        return {name: Inventory(amount, amount) for name, amount in amounts.items()}


class VolumeTypesInterface(Protocol):
    """The use cases of volume types, as blazar-api may call them."""

    @call_options(repeatable=False, once=True)
    def register(self, reference: str, offered: OfferedVolumes, caller: Caller | None = None) -> Registration:
        """Offer a volume type, by its id or name. Cinder is used no longer than the caller waits."""
        ...

    def get(self, volume_type_id: str) -> Registration:
        """Return the volume type. Raises VolumeTypeNotFound."""
        ...

    def list(self) -> Sequence[Registration]:
        """Return the volume types by name."""
        ...

    @call_options(once=True)
    def change(self, volume_type_id: str, offered: OfferedVolumes) -> Registration:
        """Offer more or less of it, but no less than is promised."""
        ...

    @call_options(once=True)
    def unregister(self, volume_type_id: str) -> None: ...


class VolumeTypes:
    """The same calls, as blazar-manager carries them out. A registration has Cinder's id of the volume type,
    which stays when its name changes."""

    def __init__(self, database: Database, cloud: Cloud, clock: Clock) -> None:
        self._database = database
        self._cloud = cloud
        self._clock = clock

    def register(self, reference: str, offered: OfferedVolumes, caller: Caller | None = None) -> Registration:
        """Raises CloudVolumeTypeNotFound, VolumeTypeAlreadyRegistered."""
        storage = within_request(self._cloud, caller, self._clock).storage
        found = named(reference, storage.volume_types())
        registration = Registration(
            found.id, POOL, found.name, {NAME: found.name}, inventory=offered.inventory
        )
        now = self._clock.now()
        try:
            return self._database.transact(lambda uow: uow.resources.add(registration, now))
        except Stale:
            raise VolumeTypeAlreadyRegistered(volume_type=found.name) from None

    def get(self, volume_type_id: str) -> Registration:
        with self._database.read() as uow:
            return _existing(uow, volume_type_id)

    def list(self) -> Sequence[Registration]:
        with self._database.read() as uow:
            return sorted(uow.resources.list(POOL), key=lambda each: each.name)

    def change(self, volume_type_id: str, offered: OfferedVolumes) -> Registration:
        """Raises VolumeTypeNotFound, VolumeTypeReserved."""
        now = self._clock.now()

        def commit(uow: UnitOfWork) -> Registration:
            known = _existing(uow, volume_type_id)
            reserved = uow.resources.allocations(POOL, resource_ids=[volume_type_id])
            gigabytes, volumes = (most_at_once(reserved, each) for each in (GIGABYTE, VOLUME))
            if gigabytes > offered.gigabytes or volumes > offered.volumes:
                reason = f"Promised at once: {gigabytes} GB; volumes: {volumes}."
                raise VolumeTypeReserved(volume_type=known.name, change="reduced so far", reason=reason)
            return uow.resources.save(replace(known, inventory=offered.inventory), now)

        return self._database.transact(commit)

    def unregister(self, volume_type_id: str) -> None:
        """Raises VolumeTypeNotFound, VolumeTypeReserved."""

        def commit(uow: UnitOfWork) -> None:
            known = _existing(uow, volume_type_id)
            if uow.resources.allocations(POOL, resource_ids=[volume_type_id]):
                raise VolumeTypeReserved(volume_type=known.name, change="removed", reason="It is reserved.")
            uow.resources.remove(volume_type_id, known.generation)

        self._database.transact(commit)


def named(reference: str, volume_types: Sequence[VolumeType]) -> VolumeType:
    """Return the volume type with this id, or else with this name. Raises CloudVolumeTypeNotFound."""
    by_id = (each for each in volume_types if each.id == reference)
    by_name = (each for each in volume_types if each.name == reference)
    found = next(by_id, None) or next(by_name, None)
    if found is None:
        raise CloudVolumeTypeNotFound(volume_type=reference)
    return found


def _existing(uow: UnitOfWork, volume_type_id: str) -> Registration:
    found = uow.resources.get(volume_type_id)
    if found is None or found.pool != POOL:
        raise VolumeTypeNotFound(volume_type=volume_type_id)
    return found
