"""What the in-memory database holds at one moment."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from blazar.domain.lease import Lease, Reservation
from blazar.domain.resource import Allocation, Registration, database_order
from blazar.service.ports import Notice, PropertyRecord


@dataclass(frozen=True, slots=True)
class LeaseClaim:
    """Who works on an event of a lease, and for how long; a lease has at most one."""

    event_id: str
    token: str
    until: datetime


@dataclass
class State:
    """All rows, as values that are never changed but replaced; so a shallow copy is a snapshot."""

    leases: dict[str, Lease] = field(default_factory=dict)
    claims: dict[str, LeaseClaim] = field(default_factory=dict)  # by lease
    registrations: dict[str, Registration] = field(default_factory=dict)
    touched: dict[str, datetime] = field(default_factory=dict)  # by resource
    properties: dict[tuple[str, str], PropertyRecord] = field(default_factory=dict)  # by resource type and name
    notices: dict[int, Notice] = field(default_factory=dict)
    notices_held: dict[int, datetime] = field(default_factory=dict)  # by notice: until when
    last_notice: int = 0

    def copy(self) -> State:
        return State(
            leases=dict(self.leases),
            claims=dict(self.claims),
            registrations=dict(self.registrations),
            touched=dict(self.touched),
            properties=dict(self.properties),
            notices=dict(self.notices),
            notices_held=dict(self.notices_held),
            last_notice=self.last_notice,
        )


def through_json(value: Any) -> Any:
    """The value as it comes back from a database; also a copy that the caller cannot change any more."""
    return json.loads(json.dumps(value))


def stored(reservation: Reservation) -> Reservation:
    """The reservation as it comes back from a database."""
    return replace(
        reservation,
        parameters=through_json(dict(reservation.parameters)),
        cloud=through_json(dict(reservation.cloud)),
        allocations=tuple(sorted(reservation.allocations, key=allocation_key)),
    )


def allocation_key(allocation: Allocation) -> tuple[tuple[bool, int, str], datetime, str]:
    """Sorts allocations by resource, start and id."""
    return database_order(allocation.resource_id), allocation.interval.start, allocation.id
