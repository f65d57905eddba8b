"""The Nova aggregate of a reservation, and how it is found again after a crash."""

from __future__ import annotations

from collections.abc import Sequence

from blazar.domain.lease.lease import Reservation
from blazar.service.ports import Aggregate, Compute, Look, Server

AGGREGATE_ID = "aggregate_id"
"""The key of the aggregate's id in the reservation's ``cloud_state``."""


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


def named(hosts: Sequence[str]) -> str:
    """Return the hosts of an aggregate as a text."""
    return "hosts " + ", ".join(sorted(hosts)) if hosts else "no hosts"


def still_used(servers: Sequence[Server], by: str) -> str | None:
    """Return why an object stays: users have servers that need it. None where there are none."""
    return f"{len(servers)} servers {by}: delete or move them first" if servers else None
