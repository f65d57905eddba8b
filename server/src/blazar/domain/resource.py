"""What can be reserved: a resource with properties, traits and inventory, and the claim that an allocation lays on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from blazar.domain.time import Interval

PropertyValue = str | int | float | bool | None


class Pool(StrEnum):
    """The calendars. All kinds that live on hosts share one, so they can never collide."""

    HOST = "host"
    FLOATING_IP = "floatingip"


def database_order(resource_id: str) -> tuple[bool, int, str]:
    """The sort key of resource ids: numeric ones (hosts) by number and first, others as text."""
    return (False, int(resource_id), "") if resource_id.isdecimal() else (True, 0, resource_id)


@dataclass(frozen=True, slots=True)
class Inventory:
    """How much of one resource class a resource has: ``capacity`` in all (reserved taken off, ratio applied),
    and ``max_unit`` for one server."""

    capacity: int
    max_unit: int


@dataclass(frozen=True, slots=True)
class Resource:
    """A reservable thing.

    ``properties`` holds what a requirement may ask about: the built-in facts and the operator's own resource
    properties. ``generation`` grows with every change to the resource or to its allocations; a commit that planned on an
    older one is refused.
    """

    id: str
    pool: Pool
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    inventory: Mapping[str, Inventory] = field(default_factory=dict)
    reservable: bool = True
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """What one allocation takes of its resource: all of it (``amounts`` is None), or amounts per resource class."""

    amounts: Mapping[str, int] | None = None

    @property
    def whole(self) -> bool:
        return self.amounts is None


WHOLE = Claim()


@dataclass(frozen=True, slots=True)
class Allocation:
    """The decision that ``resource_id`` serves ``reservation_id`` in ``interval`` with ``slots`` times ``claim``.

    ``bound`` tells whether the cloud already serves it from there; until then the resource is only a plan.
    """

    id: str
    reservation_id: str
    lease_id: str
    resource_id: str
    interval: Interval
    claim: Claim = WHOLE
    slots: int = 1
    bound: bool = False
    created_at: datetime | None = None

    @property
    def amounts(self) -> Mapping[str, int] | None:
        """All that the allocation takes, per resource class; None means the whole resource."""
        if self.claim.amounts is None:
            return None
        return {resource_class: n * self.slots for resource_class, n in self.claim.amounts.items()}


@dataclass(frozen=True, slots=True)
class Registration:
    """A resource as the operator registered it: what the cloud tells about it (``facts``), the operator's own resource
    properties (``capabilities``, always text), and what the calendar needs of it (``resource``)."""

    id: str
    pool: Pool
    name: str
    facts: Mapping[str, PropertyValue] = field(default_factory=dict)
    capabilities: Mapping[str, str] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    inventory: Mapping[str, Inventory] = field(default_factory=dict)
    reservable: bool = True
    generation: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def resource(self) -> Resource:
        return Resource(
            id=self.id,
            pool=self.pool,
            properties={**self.facts, **self.capabilities},
            traits=self.traits,
            inventory=self.inventory,
            reservable=self.reservable,
            generation=self.generation,
        )
