"""What is a lease, and what is in it?"""

from __future__ import annotations

from datetime import datetime

from openstack import resource

from blazarclient.sdk.base import ServiceResource
from blazarclient.wire_time import from_wire


class Reservation(resource.Resource):
    """One line of a lease: an amount of one resource kind. Which of the later fields are set depends on the kind."""

    #: The lease it belongs to.
    lease_id: str = resource.Body("lease_id")
    #: The kind: ``physical:host``, ``virtual:instance``, ``flavor:instance``, ``virtual:floatingip``.
    resource_type: str = resource.Body("resource_type")
    #: The id of the kind's own record, not of a host.
    resource_id: str = resource.Body("resource_id")
    #: ``pending``, ``active``, ``deleted`` or ``error``.
    status: str = resource.Body("status")
    #: Why, where the service has something to say.
    status_reason: str | None = resource.Body("status_reason")
    #: Healing found no substitute for something that failed.
    missing_resources: bool = resource.Body("missing_resources", type=bool)
    #: Healing replaced something that failed.
    resources_changed: bool = resource.Body("resources_changed", type=bool)
    created_at: str = resource.Body("created_at")
    updated_at: str | None = resource.Body("updated_at")

    #: How many hosts at least and at most (physical:host).
    min: int | None = resource.Body("min")
    max: int | None = resource.Body("max")
    #: Requirements, as JSON text.
    hypervisor_properties: str | None = resource.Body("hypervisor_properties")
    resource_properties: str | None = resource.Body("resource_properties")
    #: What happens to servers before the end (physical:host).
    before_end: str | None = resource.Body("before_end")

    #: Size and number of instances (virtual:instance, flavor:instance); the number of addresses (virtual:floatingip).
    vcpus: int | None = resource.Body("vcpus")
    memory_mb: int | None = resource.Body("memory_mb")
    disk_gb: int | None = resource.Body("disk_gb")
    amount: int | None = resource.Body("amount")
    #: All on one host (True), all on different hosts (False), or no matter (None).
    affinity: bool | None = resource.Body("affinity")
    #: The flavor to boot with, and where its servers go.
    flavor_id: str | None = resource.Body("flavor_id")
    aggregate_id: int | None = resource.Body("aggregate_id")
    server_group_id: str | None = resource.Body("server_group_id")

    #: The external network, and addresses that must be among those reserved (virtual:floatingip).
    network_id: str | None = resource.Body("network_id")
    required_floatingips: list[str] | None = resource.Body("required_floatingips")


class Event(resource.Resource):
    """A timed moment of a lease."""

    lease_id: str = resource.Body("lease_id")
    #: ``start_lease``, ``before_end_lease`` or ``end_lease``.
    event_type: str = resource.Body("event_type")
    #: When, UTC, as the service writes it.
    time: str = resource.Body("time")
    #: ``UNDONE``, ``IN_PROGRESS``, ``DONE`` or ``ERROR``.
    status: str = resource.Body("status")
    created_at: str = resource.Body("created_at")
    updated_at: str | None = resource.Body("updated_at")

    @property
    def at(self) -> datetime:
        """When, as an aware moment."""
        return from_wire(self.time)


class Lease(ServiceResource):
    """A user's contract: a name, an interval, reservations, and a status."""

    resource_key = "lease"
    resources_key = "leases"
    base_path = "/leases"
    allow_create = True
    allow_commit = True
    allow_delete = True

    #: Start and end, UTC, as the service writes them; `starts_at` and `ends_at` are moments.
    start_date: str = resource.Body("start_date")
    end_date: str = resource.Body("end_date")
    #: Only in requests: when the before-end action is to happen. In answers see the event ``before_end_lease``.
    before_end_date: str | None = resource.Body("before_end_date")
    #: ``PENDING``, ``ACTIVE``, ``TERMINATED``, ``ERROR``, or a transitional one.
    status: str = resource.Body("status")
    #: Why, where the service has something to say: what a lease waits for, or what failed.
    status_reason: str | None = resource.Body("status_reason")
    #: Something in it failed and was not replaced.
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
        """The start as an aware moment."""
        return from_wire(self.start_date)

    @property
    def ends_at(self) -> datetime:
        """The end as an aware moment; the lease does not include it."""
        return from_wire(self.end_date)

    def reservations_of(self, resource_type: str) -> list[Reservation]:
        """The reservations of one kind."""
        return [item for item in self.reservations if item.resource_type == resource_type]
