"""What comes first: of events that are due at the same time, and of leases that follow each other on a resource."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from blazar.domain.event import EventType
from blazar.domain.resource import Allocation

PRECEDENCE: Mapping[EventType, int] = {
    EventType.END: 0,
    EventType.DELETE: 0,
    EventType.CONVERGE: 1,
    EventType.START: 2,
    EventType.BEFORE_END: 3,
}
"""The order of events of the same time: what frees resources before what needs them, and a lease's start before a warning of
its end, which can have the time of the start and never that of the end."""


def must_wait_for(starting: Sequence[Allocation], unfinished: Sequence[Allocation]) -> frozenset[str]:
    """The ids of the leases that must have ended before ``starting`` may take their resources.

    An allocation waits for an unfinished earlier one of another lease on the same resource where either of
    the two claims the whole resource; amounts side by side don't wait, for the inventory has room for both.
    Earlier is what ends at the start or before it, so two allocations never wait for each other.
    """
    on_resource: dict[str, list[Allocation]] = {}
    for allocation in starting:
        on_resource.setdefault(allocation.resource_id, []).append(allocation)
    return frozenset(
        earlier.lease_id
        for earlier in unfinished
        for later in on_resource.get(earlier.resource_id, ())
        if earlier.lease_id != later.lease_id
        and (earlier.claim.whole or later.claim.whole)
        and earlier.interval.end <= later.interval.start
    )
