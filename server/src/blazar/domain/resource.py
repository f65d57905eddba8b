"""The objects of reservations: a resource with properties, traits and inventory, and the usage that an
allocation lays on it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NewType

from blazar.domain.failure import Failure
from blazar.domain.time import Interval

PropertyValue = str | int | float | bool | None


Pool = NewType("Pool", str)
"""The name of a calendar, as a kind declares it. Kinds that reserve the same resources name the same pool, so
they can never collide.

A cloud of several regions has a calendar for each: that of another region than the first is named by
``pool_in``."""
_AT = "@"


def pool_in(pool: Pool, region: str | None) -> Pool:
    """Return the calendar of a kind's resources in a region; None is the first region, whose calendar has the
    name that the kind declares."""
    return pool if region is None else Pool(f"{pool}{_AT}{region}")


def region_of(pool: Pool) -> str | None:
    """Return the region whose calendar it is, None for the first one."""
    return pool.partition(_AT)[2] or None


def declared(pool: Pool) -> Pool:
    """Return the calendar's name without its region, as a kind declares it."""
    return Pool(pool.partition(_AT)[0])


BUFFER_ID = "b0ffe400-0000-4000-8000-000000000045"
"""The id of what holds the resources that are kept as a buffer, as a lease does. It is always the same, so
that a plan which may use them need not look for it."""


def database_order(resource_id: str) -> tuple[bool, int, str]:
    """Return the key that sorts resource ids as the database does: numbers by number and first, then texts as
    text.

    An id is a number where all of its characters are the digits 0 to 9. The digits of other scripts are text,
    for so they are to the database."""
    if resource_id.isascii() and resource_id.isdecimal():
        return False, int(resource_id), ""
    return True, 0, resource_id


@dataclass(frozen=True, slots=True)
class Inventory:
    """The amount of one resource class that a resource has.

    ``capacity`` is the total less the reserved part, times the ratio; ``max_unit`` is the most for one
    server."""

    capacity: int
    max_unit: int


@dataclass(frozen=True, slots=True)
class Resource:
    """A reservable thing.

    ``properties`` holds what a requirement may ask about: the facts that the cloud tells and the operator's
    own resource properties. ``generation`` grows with every change to the resource or to its allocations; a
    commit whose plan stands on an older one is refused."""

    id: str
    pool: Pool
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    inventory: Mapping[str, Inventory] = field(default_factory=dict)
    reservable: bool = True
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """The part of its resource that an allocation takes: all (``amounts`` is None), or amounts per resource
    class."""

    amounts: Mapping[str, int] | None = None

    @property
    def whole(self) -> bool:
        return self.amounts is None


WHOLE = Usage()


@dataclass(frozen=True, slots=True)
class Allocation:
    """The decision that ``resource_id`` serves ``reservation_id`` in ``interval`` with ``slots`` times
    ``usage``.

    ``bound`` tells whether the cloud serves it from there already; until then the resource is only a plan.
    """

    id: str
    reservation_id: str
    lease_id: str
    resource_id: str
    interval: Interval
    usage: Usage = WHOLE
    slots: int = 1
    bound: bool = False
    created_at: datetime | None = None

    @property
    def amounts(self) -> Mapping[str, int] | None:
        """Return the amounts of all slots together, per resource class; None means the whole resource."""
        if self.usage.amounts is None:
            return None
        return {resource_class: n * self.slots for resource_class, n in self.usage.amounts.items()}


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """So many slots of an allocation that is only planned go to another resource."""

    allocation: Allocation
    resource_id: str
    slots: int


def first_generation() -> int:
    """Return a random number of 48 bits, with which the generations of a new registration begin.

    A host that is deregistered and registered again has the same id. If its generations began at 0 both
    times, a manager whose calendar still has generation 1 of its first life would take generation 1 of the
    second for the same, and would promise what is promised already."""
    return random.getrandbits(48)


@dataclass(frozen=True, slots=True)
class Registration:
    """A resource as the operator registered it.

    ``id`` is what clients know it by. ``cloud_id`` is the id that its service in the cloud gives it and
    nothing else in the pool: a host has Nova's UUID of its hypervisor. It is None where it is not known.
    ``facts`` is what the cloud tells about it, ``capabilities`` are the operator's own resource properties
    (always text), and ``resource`` is what the calendar needs.

    Two facts decide whether it can be reserved: ``reservable``, which is false while it is given back, and
    ``failure``, which only a monitor writes."""

    id: str
    pool: Pool
    name: str
    facts: Mapping[str, PropertyValue] = field(default_factory=dict)
    capabilities: Mapping[str, str] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    inventory: Mapping[str, Inventory] = field(default_factory=dict)
    reservable: bool = True
    generation: int = field(default_factory=first_generation)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    failure: Failure | None = None
    cloud_id: str | None = None

    @property
    def region(self) -> str | None:
        """Return the region that it lies in; None is the first one."""
        return region_of(self.pool)

    @property
    def can_be_reserved(self) -> bool:
        return self.reservable and self.failure is None

    @property
    def resource(self) -> Resource:
        return Resource(
            id=self.id,
            pool=self.pool,
            properties={**self.facts, **self.capabilities},
            traits=self.traits,
            inventory=self.inventory,
            reservable=self.can_be_reserved,
            generation=self.generation,
        )
