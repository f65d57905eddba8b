"""What operators do with licences: register them, look at them, and remove them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID, uuid5

from blazar.domain.errors import Stale
from blazar.domain.resource import Inventory, Pool, Registration
from blazar.service.interface import call_options
from blazar.service.ports import Clock, Database, UnitOfWork
from blazar_licences.errors import CantDeleteLicence, LicenceAlreadyRegistered, LicenceNotFound

POOL = Pool("licence")
NAME = "name"
TOKEN = "TOKEN"  # noqa: S105 - a resource class, no secret
_NAMESPACE = UUID("b1a2a700-5e5e-4a7e-9f00-0000000011ce")


@dataclass(frozen=True, slots=True)
class RegisterLicence:
    name: str
    tokens: int


class LicencesInterface(Protocol):
    """The calls that blazar-api may make. Arguments and results cross the message broker by their types."""

    @call_options(repeatable=False, once=True)  # the second time it would be refused
    def register(self, command: RegisterLicence) -> Registration: ...

    def get(self, licence_id: str) -> Registration:
        """Raises LicenceNotFound."""
        ...

    def list(self) -> Sequence[Registration]: ...

    @call_options(once=True)
    def unregister(self, licence_id: str) -> None: ...


class Licences:
    """The same calls, as blazar-manager carries them out."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def register(self, command: RegisterLicence) -> Registration:
        licence = Registration(
            id=str(uuid5(_NAMESPACE, command.name)),
            pool=POOL,
            name=command.name,
            facts={NAME: command.name},
            inventory={TOKEN: Inventory(capacity=command.tokens, max_unit=command.tokens)},
        )
        now = self._clock.now()
        try:
            return self._database.transact(lambda uow: uow.resources.add(licence, now))
        except Stale:
            raise LicenceAlreadyRegistered(name=command.name) from None

    def get(self, licence_id: str) -> Registration:
        with self._database.read() as uow:
            return _existing(uow, licence_id)

    def list(self) -> Sequence[Registration]:
        with self._database.read() as uow:
            return sorted(uow.resources.list(POOL), key=lambda licence: licence.name)

    def unregister(self, licence_id: str) -> None:
        def commit(uow: UnitOfWork) -> None:
            licence = _existing(uow, licence_id)
            if uow.resources.allocations(POOL, resource_ids=[licence_id]):
                raise CantDeleteLicence(licence=licence_id)
            uow.resources.remove(licence_id, licence.generation)

        self._database.transact(commit)


def _existing(uow: UnitOfWork, licence_id: str) -> Registration:
    licence = uow.resources.get(licence_id)
    if licence is None or licence.pool != POOL:
        raise LicenceNotFound(licence=licence_id)
    return licence
