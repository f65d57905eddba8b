"""The resource properties that a caller may see and ask for: private ones are for those whom the
policy allows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from blazar.domain.lease.lease import Reservation
from blazar.domain.planning.plan import Cause, Shortage
from blazar.domain.resource import Registration
from blazar.service.context import Caller
from blazar.service.ports import Database, PropertyRecord, UnitOfWork
from blazar.service.ports.kind import Kinds
from blazar.service.shortages import refusal_of

RESOURCE_TYPE = "physical:host"
"""The resource type under which API 1.0 files the properties of hosts."""


class PrivateProperties:
    """Refuses requirements over private properties.

    Without this, a member could read them: a refusal tells a property that no host has from one whose hosts
    are occupied, and ``>=`` finds a value in as many requests as it has bits."""

    def __init__(self, database: Database, kinds: Kinds) -> None:
        self._database = database
        self._kinds = kinds

    def check(self, before: Reservation | None, reservation: Reservation, caller: Caller) -> None:
        """Refuse the reservation where it asks for what the caller may not see, in the words for a property
        that no host has. A requirement that the reservation has already, as ``before``, may stay.

        Raises NotEnoughResources."""
        if caller.sees_private_properties:
            return
        kind = self._kinds[reservation.resource_type]
        demand = kind.demand(reservation)
        if not demand.requirement.names or (
            before is not None and kind.demand(before).requirement == demand.requirement
        ):
            return
        with self._database.read() as uow:
            hidden = demand.requirement.names & private_names(uow)
        if hidden:
            unknown = Shortage(
                reservation.id, demand.plural, Cause.TOO_FEW, demand.minimum, 0, 0, unknown_properties=hidden
            )
            raise refusal_of(reservation, unknown, self._kinds)

    def hidden(self, names: frozenset[str], caller: Caller) -> frozenset[str]:
        """Return those of the names that are private, where the caller may not see private properties."""
        if caller.sees_private_properties or not names:
            return frozenset()
        with self._database.read() as uow:
            return names & private_names(uow)


def private_names(uow: UnitOfWork) -> frozenset[str]:
    """Return the names of all private properties."""
    records: Iterable[PropertyRecord] = uow.resources.private_properties(RESOURCE_TYPE).values()
    return frozenset(record.name for record in records if record.private)


def shown(hosts: Sequence[Registration], uow: UnitOfWork, caller: Caller) -> Sequence[Registration]:
    """Return the hosts with the properties that the caller may see."""
    hidden = frozenset() if caller.sees_private_properties else private_names(uow)
    if not hidden:
        return hosts
    return [
        replace(
            host, capabilities={name: text for name, text in host.capabilities.items() if name not in hidden}
        )
        for host in hosts
    ]
