"""Leases in `blazarclient.sdk`, with their reservations and events."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from openstack import resource

from blazarclient.sdk.base import ServiceResource
from blazarclient.wire_time import from_wire


class Reservation(resource.Resource):
    """One line of a lease: an amount of one resource kind.

    The keys of the installed kinds are attributes too, for example `min` and `max` of ``physical:host``.
    """

    #: The id of its lease.
    lease_id: str = resource.Body("lease_id")
    #: The kind, for example ``physical:host``.
    resource_type: str = resource.Body("resource_type")
    #: The id of the kind's own record; it is not the id of a host.
    resource_id: str = resource.Body("resource_id")
    #: ``pending``, ``active``, ``deleted`` or ``error``.
    status: str = resource.Body("status")
    #: The reason for the status, or None.
    status_reason: str | None = resource.Body("status_reason")
    #: Healing found no substitute for a failed resource.
    missing_resources: bool = resource.Body("missing_resources", type=bool)
    #: Healing replaced a failed resource.
    resources_changed: bool = resource.Body("resources_changed", type=bool)
    created_at: str = resource.Body("created_at")
    updated_at: str | None = resource.Body("updated_at")

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return the value of a key that only the reservation's kind has."""


class Event(resource.Resource):
    """A scheduled change of a lease: its start, its end, or the warning before the end."""

    lease_id: str = resource.Body("lease_id")
    #: ``start_lease``, ``before_end_lease`` or ``end_lease``.
    event_type: str = resource.Body("event_type")
    #: The time in UTC, in the service's format.
    time: str = resource.Body("time")
    #: ``UNDONE``, ``IN_PROGRESS``, ``DONE`` or ``ERROR``.
    status: str = resource.Body("status")
    created_at: str = resource.Body("created_at")
    updated_at: str | None = resource.Body("updated_at")

    @property
    def at(self) -> datetime:
        """Return the time as an aware datetime."""
        return from_wire(self.time)


class Lease(ServiceResource):
    """A user's contract: a name, an interval, reservations, and a status."""

    resource_key = "lease"
    resources_key = "leases"
    base_path = "/leases"
    allow_create = True
    allow_commit = True
    allow_delete = True

    #: Start and end in UTC, in the service's format; `starts_at` and `ends_at` are datetimes.
    start_date: str = resource.Body("start_date")
    end_date: str = resource.Body("end_date")
    #: The time of the before-end action, in requests only. Answers have the event ``before_end_lease``.
    before_end_date: str | None = resource.Body("before_end_date")
    #: ``PENDING``, ``ACTIVE``, ``TERMINATED``, ``ERROR``, or a transitional one.
    status: str = resource.Body("status")
    #: The reason for the status, or None: what a lease waits for, or what failed.
    status_reason: str | None = resource.Body("status_reason")
    #: A resource of the lease failed and was not replaced.
    degraded: bool = resource.Body("degraded", type=bool)
    project_id: str = resource.Body("project_id")
    user_id: str | None = resource.Body("user_id")
    trust_id: str | None = resource.Body("trust_id")
    reservations: list[Reservation] = resource.Body("reservations", type=list, list_type=Reservation)
    events: list[Event] = resource.Body("events", type=list, list_type=Event)
    created_at: str = resource.Body("created_at")
    updated_at: str | None = resource.Body("updated_at")

    @property
    def starts_at(self) -> datetime:
        """Return the start as an aware datetime."""
        return from_wire(self.start_date)

    @property
    def ends_at(self) -> datetime:
        """Return the end as an aware datetime; the lease does not include it."""
        return from_wire(self.end_date)

    def reservations_of(self, resource_type: str) -> list[Reservation]:
        """Return the reservations of one kind."""
        return [item for item in self.reservations if item.resource_type == resource_type]
