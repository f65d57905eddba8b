"""Do the resources that a reservation has still suit it? They may have changed since it was planned."""

from __future__ import annotations

from blazar.domain.calendar.columns import amounts_of
from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.planning.demand import Demand
from blazar.domain.time import Interval


def misfits(calendar: CalendarSnapshot, demand: Demand, interval: Interval) -> frozenset[str]:
    """Return the ids of the demand's allocations whose resource does not meet the requirement any more, or
    has promised more in the interval than it has. Resources that the calendar does not know are left out."""
    indexes = {row.id: calendar.index_of(row.resource_id) for row in demand.current}
    known = {name: index for name, index in indexes.items() if index is not None}
    if not known:
        return frozenset()
    columns = calendar.columns
    suits = columns.matching(
        demand.requirement, demand.required_traits, demand.forbidden_traits, demand.usage
    ).copy()
    if not demand.usage.whole:
        window = calendar.window(interval)
        for resource_class, _ in amounts_of(demand.usage):
            suits &= window.peak(resource_class) <= columns.capacity(resource_class)
    return frozenset(name for name, index in known.items() if not suits[index])
