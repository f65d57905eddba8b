"""The order of work: of events that are due at the same time, and of leases that follow each other on a
resource."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from blazar.domain.lease.event import EventType
from blazar.domain.resource import Allocation

PRECEDENCE: Mapping[EventType, int] = {
    EventType.END: 0,
    EventType.DELETE: 0,
    EventType.CONVERGE: 1,
    EventType.START: 2,
    EventType.READY: 3,
    EventType.BEFORE_END: 3,
    EventType.WARN_UNCLAIMED: 4,
    EventType.CLOSE_UNCLAIMED: 4,
    EventType.END_UNCLAIMED: 4,
}
"""The order of events of the same time: what frees resources before what needs them, and a lease's start
before a warning of its end, which can have the time of the start and never that of the end."""


def shared_with(starting: Sequence[Allocation], unfinished: Sequence[Allocation]) -> frozenset[str]:
    """Return the ids of the resources on which ``starting`` takes amounts, and earlier leases have not given
    theirs back: there it depends on the amounts who has to wait."""
    return frozenset(
        earlier.resource_id
        for earlier, later in _followed(starting, unfinished)
        if not (earlier.usage.whole or later.usage.whole)
    )


def must_wait_for(
    starting: Sequence[Allocation],
    unfinished: Sequence[Allocation],
    planned: Sequence[Allocation] = (),
    capacity: Mapping[str, Mapping[str, int]] | None = None,
) -> frozenset[str]:
    """Return the ids of the leases that must have ended before ``starting`` may take its resources.

    An allocation waits for an unfinished earlier one of another lease on the same resource where either of
    the two takes the whole resource. Where both take amounts, it waits as long as those of the unfinished
    ones do not fit beside all that is ``planned`` on the resource at the start; ``capacity`` is by resource
    id and resource class. Example: on a host of 8 CPUs, leases of 4 and 4 follow a lease of 4 that has not
    ended. Both wait, for one of them would find no room; were the host one of 12, none would.

    Earlier is what ends at the start or before it, so two allocations never wait for each other."""
    followed = _followed(starting, unfinished)
    crowded = {
        resource_id
        for resource_id, classes in (capacity or {}).items()
        if not _fit(
            [*{e.id: e for e, _ in followed if e.resource_id == resource_id}.values()],
            [a for a in planned if a.resource_id == resource_id],
            classes,
        )
    }
    return frozenset(
        earlier.lease_id
        for earlier, later in followed
        if earlier.usage.whole or later.usage.whole or earlier.resource_id in crowded
    )


def _followed(
    starting: Sequence[Allocation], unfinished: Sequence[Allocation]
) -> list[tuple[Allocation, Allocation]]:
    """Return the unfinished allocations that another lease's follow on the same resource, with these."""
    on_resource: dict[str, list[Allocation]] = {}
    for allocation in starting:
        on_resource.setdefault(allocation.resource_id, []).append(allocation)
    return [
        (earlier, later)
        for earlier in unfinished
        for later in on_resource.get(earlier.resource_id, ())
        if earlier.lease_id != later.lease_id and earlier.interval.end <= later.interval.start
    ]


def _fit(earlier: Sequence[Allocation], planned: Sequence[Allocation], classes: Mapping[str, int]) -> bool:
    taken: Counter[str] = Counter()
    for allocation in (*earlier, *planned):
        taken.update(allocation.amounts or {})
    return all(amount <= classes.get(name, 0) for name, amount in taken.items())
