"""The comparison of host reservations with Nova: their aggregates, and those that no lease has."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from blazar.kinds.aggregates import aggregates_by_name, all_aggregates, named, still_used
from blazar.kinds.host.actuator import MATCH_KEY, HostKindSettings, to_let_in, users_in
from blazar.kinds.host.schema import Match, lends, match_of
from blazar.kinds.registered_hosts import POOL
from blazar.service.ports import Aggregate, Cloud, Difference, Look, MarkedObject, is_reservation_id
from blazar.service.ports.kind import Work

SORT = "aggregate"
ZONE_ADVICE = "set the availability zone of the aggregate, which Nova allows while no server is on its hosts"


def differences(work: Work, look: Look, settings: HostKindSettings) -> Iterator[Difference]:
    """Compare the aggregate of an active reservation with its allocations."""
    name = work.reservation.id
    subject = f"aggregate {name}"
    aggregates = aggregates_by_name(look)
    wanted = named([str(r.facts["service_name"]) for r in work.resources.values()])
    aggregate = aggregates.get(name)
    if aggregate is None:
        yield Difference(SORT, subject, wanted, "no such aggregate")
        return
    if named(aggregate.hosts) != wanted:
        yield Difference(SORT, subject, wanted, named(aggregate.hosts))
    owner, project = aggregate.metadata.get(settings.owner_key), work.lease.project_id
    if owner != project:
        yield Difference("metadata", f"{settings.owner_key} of {subject}", project, owner or "nothing")
    if (users := users_in(aggregate)) != (allowed := to_let_in(work, aggregate)):
        wanted = ", ".join(allowed) or "none"
        yield Difference("access", f"other projects of {subject}", wanted, ", ".join(users) or "none")
    match, found = match_of(work.reservation), aggregate.metadata.get(MATCH_KEY, Match.EXPLICIT)
    if found != match:
        yield Difference("metadata", f"{MATCH_KEY} of {subject}", match, found)
    if settings.lending is not None and lends(work.reservation):
        lent = aggregates.get(settings.lending.aggregate)
        if lent is None or name not in lent.metadata:
            yield Difference("metadata", f"aggregate {settings.lending.aggregate}", f"has {name}", "does not")
    zone = settings.availability_zone_prefix + name
    if aggregate.availability_zone != zone:
        found = aggregate.availability_zone or "none"
        yield Difference("zone", f"availability zone of {subject}", zone, found, advice=ZONE_ADVICE)
    freepool = aggregates.get(settings.freepool)
    for host in sorted(set(aggregate.hosts) & set(freepool.hosts if freepool else ())):
        yield Difference("freepool", f"host {host}", f"in {subject} only", f"in {settings.freepool} as well")


def marked(look: Look, settings: HostKindSettings) -> Iterator[MarkedObject]:
    """Return the aggregates that have name, zone and owner as the actuator writes them. One without hosts
    may lack its owner, which is written after it is made: Nova may make it long after it was asked to."""
    for aggregate in all_aggregates(look):
        zone = settings.availability_zone_prefix + aggregate.name
        has_owner = settings.owner_key in aggregate.metadata or not aggregate.hosts
        is_marked = aggregate.availability_zone == zone and has_owner
        if is_marked and is_reservation_id(aggregate.name):
            remove = partial(_remove, aggregate, look, settings.freepool)
            yield MarkedObject(aggregate.name, SORT, f"aggregate {aggregate.name}", remove)


def _remove(seen: Aggregate, look: Look, freepool_name: str, cloud: Cloud) -> str | None:
    """Give the registered hosts of the aggregate back to the freepool, and delete it."""
    compute = cloud.compute
    aggregate = compute.aggregate(seen.id)
    if aggregate is None or aggregate.name != seen.name:
        return None
    for host in aggregate.hosts:
        if reason := still_used(compute.servers_on(host), f"are on host {host}"):
            return reason
    freepool = compute.find_aggregate(freepool_name)
    if aggregate.hosts and freepool is None:
        return f"there is no aggregate {freepool_name}"
    registered = {str(r.facts["service_name"]) for r in look.registered(POOL)}
    for host in aggregate.hosts:
        # Never in none of the two, as when a lease ends.
        if freepool is not None and host in registered:
            compute.add_host(freepool.id, host)
        compute.remove_host(aggregate.id, host)
    compute.delete_aggregate(aggregate.id)
    return None
