"""The Nova aggregates of reservations and the freepool, and how they are found again after a crash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from blazar.domain.errors import CloudRefused
from blazar.domain.lease.lease import Reservation
from blazar.service.ports import Aggregate, Compute, Difference, Look, Server
from blazar.service.ports.kind import Work

AGGREGATE_ID = "aggregate_id"
"""The key of the aggregate's id in the reservation's ``cloud_state``."""
OF_RESERVATIONS = "reservation:"
"""What the names of the flavors of reservations begin with."""
SERVER = "blazar:server"
"""The key of a server's id in the metadata of the aggregate whose host is kept for it. The filter lets this
server onto the host."""


class NamedAggregate:
    """An aggregate with a name of the operator's, such as the freepool, which has the hosts that are in no
    active host reservation. Any thread may use it.

    It is found by the id that it had before, and by its name where that id is gone: an operator may make it
    anew. So it is one request to Nova however many aggregates there are, but for the first one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._id: int | None = None

    def find(self, compute: Compute) -> Aggregate | None:
        known = self._id
        found = compute.aggregate(known) if known is not None else None
        if found is None or found.name != self._name:
            found = compute.find_aggregate(self._name)
        self._id = found.id if found is not None else None
        return found

    def require(self, compute: Compute) -> Aggregate:
        """Return the aggregate. Raises CloudRefused where there is none."""
        found = self.find(compute)
        if found is None:
            raise CloudRefused(service="Nova", reason=f"there is no aggregate {self._name}")
        return found


def known_aggregate(reservation: Reservation, compute: Compute) -> Aggregate | None:
    """Return the aggregate whose id the reservation has; None where it is gone, or is not the
    reservation's."""
    known = reservation.cloud_state.get(AGGREGATE_ID)
    aggregate = compute.aggregate(known) if known is not None else None
    return aggregate if aggregate is not None and aggregate.name == reservation.id else None


def existing_aggregate(reservation: Reservation, compute: Compute) -> Aggregate | None:
    """Return the reservation's aggregate, by its id or else by its name: a crash may have come between the
    creation of the aggregate and the commit of its id."""
    return known_aggregate(reservation, compute) or compute.find_aggregate(reservation.id)


def all_aggregates(look: Look) -> Sequence[Aggregate]:
    """Return all aggregates of the cloud, which one look asks for once."""
    return look.once("aggregates", look.cloud.compute.aggregates)


def aggregates_by_name(look: Look) -> Mapping[str, Aggregate]:
    """Return all aggregates of the cloud by name; the first of those that share one."""
    return look.once("aggregates by name", lambda: {a.name: a for a in reversed(all_aggregates(look))})


def service_name(work: Work, resource_id: str) -> str | None:
    """Return the compute service host of one of the resources; None where it is no longer registered."""
    registration = work.resources.get(resource_id)
    return str(registration.facts["service_name"]) if registration else None


def named(hosts: Sequence[str]) -> str:
    """Return the hosts of an aggregate as a text."""
    return "hosts " + ", ".join(sorted(hosts)) if hosts else "no hosts"


def differing_metadata(aggregate: Aggregate, expected: Mapping[str, str]) -> Iterator[Difference]:
    """Return what the aggregate's metadata lack, as one difference."""
    if not expected.items() <= aggregate.metadata.items():
        found = {key: aggregate.metadata[key] for key in expected if key in aggregate.metadata}
        yield Difference("metadata", f"metadata of aggregate {aggregate.name}", told(expected), told(found))


def told(values: Mapping[str, str]) -> str:
    """Return pairs of names and values as a text."""
    return ", ".join(f"{key}={value}" for key, value in sorted(values.items())) or "nothing"


def still_used(servers: Sequence[Server], by: str) -> str | None:
    """Return why an object stays: users have servers that need it. None where there are none."""
    return f"{len(servers)} servers {by}: delete or move them first" if servers else None
