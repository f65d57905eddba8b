"""The request to the planner: the demands of reservations in one pool, for one interval."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from blazar.domain.requirement.language import ANYTHING, Requirement
from blazar.domain.resource import WHOLE, Allocation, Usage
from blazar.domain.time import Interval


class Grouping(StrEnum):
    """The grouping of the units of one demand: they may, must or must not share a resource."""

    ANY = "any"
    TOGETHER = "together"
    """All units on one resource."""
    APART = "apart"
    """Every unit on a resource of its own."""


class Order(StrEnum):
    """The order in which suitable resources are taken."""

    PACKED = "packed"
    """Resources in use come first, those with the least capacity left before the others; then database
    order."""
    RANDOM = "random"
    """The order is drawn with the request's seed."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The need of one reservation: from ``minimum`` to ``maximum`` units, each of which takes ``usage`` of a
    matching resource.

    A unit is a host, an address or a slot. ``resources`` restricts the choice to these ids; ``must_include``
    names ids that have to be among the chosen. ``current`` is what the reservation has now: as much of it as
    still matches and fits is kept. With ``keep_current`` (the reservation is active) nothing of it may be
    taken away, so the answer is a shortage where it does not fit; a kept resource need not be reservable.
    ``plural`` names the resources in messages. No resource is chosen that suits one of the demands of
    ``yields_to``, to which this one must leave it.

    Raises ValueError where ``minimum`` is negative or above ``maximum``, or an amount is negative.
    """

    reservation_id: str
    minimum: int
    maximum: int
    usage: Usage = WHOLE
    requirement: Requirement = ANYTHING
    required_traits: frozenset[str] = frozenset()
    forbidden_traits: frozenset[str] = frozenset()
    grouping: Grouping = Grouping.ANY
    resources: frozenset[str] | None = None
    must_include: tuple[str, ...] = ()
    current: tuple[Allocation, ...] = ()
    keep_current: bool = False
    plural: str = "hosts"
    yields_to: tuple[Demand, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.minimum <= self.maximum:
            raise ValueError(
                f"minimum {self.minimum} and maximum {self.maximum} of a demand do not fit together"
            )
        if any(n < 0 for n in (self.usage.amounts or {}).values()):
            raise ValueError(f"a demand has negative amounts: {self.usage.amounts}")

    def replacing(self, lost: Collection[str], doubtful: Collection[str] = ()) -> Demand:
        """Return the demand of a reservation that has lost the allocations with these ids, and is to have as
        many units as before. Those that are ``doubtful`` are kept where they fit.

        As many of them as there are will do; where all units share a resource, all or none."""
        stay = tuple(row for row in self.current if row.id not in lost)
        had = sum(row.slots for row in self.current)
        certain = sum(row.slots for row in stay if row.id not in doubtful)
        least = had if self.grouping is Grouping.TOGETHER else certain
        return replace(self, minimum=least, maximum=had, current=stay)


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Demands for the same interval, planned together: all or nothing.

    ``cleaning`` is kept free before and after the interval, between these demands and all other allocations;
    not at an edge of the interval that lies within the time that a demand has on the resource now. The
    allocations of the demands' own reservations do not count, for the plan replaces them; every other
    allocation counts, also those of the same lease, but for those of the reservations ``given_up``. So a
    change of a lease's interval names all of its reservations in this pool. ``seed`` is for
    Order.RANDOM."""

    interval: Interval
    demands: tuple[Demand, ...]
    cleaning: timedelta = timedelta(0)
    order: Order = Order.PACKED
    seed: int | None = None
    given_up: frozenset[str] = frozenset()
    """The ids of reservations that the lease gives up by the same change."""
    contended: frozenset[str] = frozenset()
    """The ids of resources that others are about to take: they are chosen where no others will do."""

    @property
    def replaced(self) -> list[str]:
        """Return the ids of the reservations whose allocations do not count."""
        return [*(demand.reservation_id for demand in self.demands), *sorted(self.given_up)]
