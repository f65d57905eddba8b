"""The comparison of reservations of servers with Nova: the aggregates of the hosts that are kept for them,
and those that no lease has."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from blazar.kinds.aggregates import (
    SERVER,
    aggregates_by_name,
    all_aggregates,
    differing_metadata,
    named,
    service_name,
)
from blazar.kinds.server.marks import expected_metadata, remove_mark
from blazar.kinds.server.schema import ServerParameters
from blazar.service.ports import Aggregate, Cloud, Difference, Look, MarkedObject, is_reservation_id
from blazar.service.ports.kind import Work

SORT = "aggregate"


def differences(work: Work, look: Look, asked: ServerParameters, owner_key: str) -> Iterator[Difference]:
    """Compare the aggregate of an active reservation with the host that is kept. The host from which the
    server has to be evacuated may be in it as well."""
    name = work.reservation.id
    subject = f"aggregate {name}"
    hosts = {service_name(work, each.resource_id) for each in work.reservation.allocations}
    wanted = {host for host in hosts if host is not None}
    aggregate = aggregates_by_name(look).get(name)
    if aggregate is None:
        yield Difference(SORT, subject, named(list(wanted)), "no such aggregate")
        return
    if wanted != set(aggregate.hosts) - _left_behind(asked, wanted, aggregate, look.cloud):
        yield Difference(SORT, subject, named(list(wanted)), named(aggregate.hosts))
    expected = expected_metadata(work.lease, work.reservation, asked.adopted_id, owner_key)
    yield from differing_metadata(aggregate, expected)


def _left_behind(asked: ServerParameters, wanted: set[str], aggregate: Aggregate, cloud: Cloud) -> set[str]:
    """Return the host on which the server still is, where that is not the one that is kept for it."""
    others = set(aggregate.hosts) - wanted
    server = cloud.compute.server(asked.adopted_id) if others else None
    return others & {server.host} if server is not None and server.host is not None else set()


def marked(look: Look) -> Iterator[MarkedObject]:
    """Return the aggregates that have name and metadata as the service writes them."""
    for aggregate in all_aggregates(look):
        if _is_marked(aggregate):
            remove = partial(_remove, aggregate)
            yield MarkedObject(aggregate.name, SORT, f"aggregate {aggregate.name}", remove)


def _is_marked(aggregate: Aggregate) -> bool:
    metadata = aggregate.metadata
    is_named = metadata.get("reservation") == aggregate.name and is_reservation_id(aggregate.name)
    return is_named and SERVER in metadata and aggregate.availability_zone is None


def _remove(seen: Aggregate, cloud: Cloud) -> str | None:
    """Forget the host that was kept, and free the server for other reservations. Return why both stay."""
    compute = cloud.compute
    aggregate = compute.aggregate(seen.id)
    if aggregate is None or aggregate.name != seen.name:
        return None
    server = compute.server(aggregate.metadata[SERVER]) if SERVER in aggregate.metadata else None
    if server is not None and server.host in aggregate.hosts:
        return f"server {server.id} is on host {server.host}: shelve, move or delete it first"
    for host in aggregate.hosts:
        compute.remove_host(aggregate.id, host)
    if server is not None:
        remove_mark(server, seen.name, compute)
    compute.delete_aggregate(aggregate.id)
    return None
