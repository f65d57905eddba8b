"""The decision about servers with a known end on hosts of the freepool, which other servers may not use.

It is a pure function of values, as the rule is that it stands beside."""

from collections.abc import Sequence

from blazarnova.bounded import BoundedServer
from blazarnova.intervals import Promises, takes
from blazarnova.rule import (
    RESERVATION_KEY,
    SERVER_KEY,
    Aggregate,
    Reason,
    RequestSpec,
    Settings,
    Verdict,
    decide,
    pools_of,
)


def decide_beside(
    request: RequestSpec,
    server: BoundedServer | None,
    host: str,
    aggregates: Sequence[Aggregate],
    settings: Settings,
    promises: Promises | None,
    now: int,
) -> Verdict:
    """Decide as the rule does, but let ``server`` onto a host of the freepool where it ends before it is in
    the way. Without ``server`` or without ``promises`` that are fresh, the rule alone decides."""
    verdict = decide(request, aggregates, settings)
    if verdict.reason is not Reason.HOST_IS_RESERVABLE or server is None or promises is None:
        return verdict
    if not is_only_waiting(aggregates, settings) or not ends_in_time(server, host, promises, now):
        return verdict
    return Verdict(True, Reason.ENDS_IN_TIME, settings.freepool)


def is_only_waiting(aggregates: Sequence[Aggregate], settings: Settings) -> bool:
    """Return whether the host is in the freepool and serves no reservation now. What it serves is refused by
    Nova's own aggregates, also while the reservation service is away."""
    pools = [pool.name for pool in pools_of(aggregates, settings)]
    serves = any(key in each.metadata for each in aggregates for key in (RESERVATION_KEY, SERVER_KEY))
    return pools == [settings.freepool] and not serves


def ends_in_time(server: BoundedServer, host: str, promises: Promises, now: int) -> bool:
    """Return whether the host has room for the server until its end, and for the margin after it."""
    if (kept := promises.leases.get(server.lease_id)) is not None:
        # Its lease has counted it already, on this host or on another one.
        return kept == host
    there = promises.hosts.get(host)
    if there is None or server.end is None or server.amounts is None:
        return False
    end = server.end + promises.margin
    if end > promises.until or not server.amounts.keys() <= set(promises.classes):
        return False
    amounts = tuple(server.amounts.get(name, 0) for name in promises.classes)
    return takes(there, amounts, now - promises.cleaning, end)
