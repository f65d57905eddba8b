"""The use cases of the port pool: operators say how many ports can be reserved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from blazar.domain.resource import Inventory, Pool, Registration
from blazar.kinds.port.errors import PortPoolNotFound, PortPoolReserved
from blazar.kinds.promised import most_at_once
from blazar.service.interface import call_options
from blazar.service.ports import Clock, Database, UnitOfWork

POOL = Pool("port")
PORT = "PORT"
"""The resource class on the calendar."""
POOL_ID, NAME = "b1a2a700-5e5e-4a7e-9f00-000000000004", "ports"
"""Of the one resource on the calendar: Neutron counts the ports of a project, wherever they are."""


class PortPoolInterface(Protocol):
    """The use cases of the port pool, as blazar-api may call them."""

    def get(self) -> Registration:
        """Return how many ports can be reserved. Raises PortPoolNotFound."""
        ...

    @call_options(once=True)
    def set(self, ports: int) -> Registration:
        """Let so many ports be reserved, but no fewer than are promised."""
        ...

    @call_options(once=True)
    def remove(self) -> None:
        """Let no ports be reserved any more."""
        ...


class PortPool:
    """The same calls, as blazar-manager carries them out."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def get(self) -> Registration:
        with self._database.read() as uow:
            return _existing(uow)

    def set(self, ports: int) -> Registration:
        """Raises PortPoolReserved."""
        now, inventory = self._clock.now(), _inventory(ports)

        def commit(uow: UnitOfWork) -> Registration:
            known = uow.resources.get(POOL_ID)
            if known is None:
                return uow.resources.add(Registration(POOL_ID, POOL, NAME, inventory=inventory), now)
            if (promised := _promised(uow)) > ports:
                raise PortPoolReserved(change="reduced so far", promised=promised)
            return uow.resources.save(replace(known, inventory=inventory), now)

        return self._database.transact(commit)

    def remove(self) -> None:
        """Raises PortPoolNotFound, PortPoolReserved."""

        def commit(uow: UnitOfWork) -> None:
            known = _existing(uow)
            if promised := _promised(uow):
                raise PortPoolReserved(change="removed", promised=promised)
            uow.resources.remove(POOL_ID, known.generation)

        self._database.transact(commit)


def _inventory(ports: int) -> Mapping[str, Inventory]:
    return {PORT: Inventory(ports, ports)}


def _existing(uow: UnitOfWork) -> Registration:
    found = uow.resources.get(POOL_ID)
    if found is None:
        raise PortPoolNotFound()
    return found


def _promised(uow: UnitOfWork) -> int:
    return most_at_once(uow.resources.allocations(POOL, resource_ids=[POOL_ID]), PORT)
