"""The kind instance:server: what it asks of the calendar, and what becomes of its server."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any, ClassVar

from oslo_config import cfg, types

from blazar.domain.errors import CantUpdateParameter, MalformedParameter
from blazar.domain.lease.lease import Lease, Reservation, ReservationStatus
from blazar.domain.lease.outcome import Done, Outcome
from blazar.domain.planning.demand import Demand
from blazar.domain.requirement.language import parse as parse_requirement
from blazar.domain.resource import Registration, Usage
from blazar.kinds.aggregates import AGGREGATE_ID
from blazar.kinds.fields import described
from blazar.kinds.registered_hosts import POOL, ZONE, HostsExtension
from blazar.kinds.registered_hosts.replies import host_view
from blazar.kinds.server import comparison, schema
from blazar.kinds.server.arrival import OFFLOADED, ON_A_HOST, SHELVED, Arrival
from blazar.kinds.server.departure import Departure, DepartureSettings
from blazar.kinds.server.errors import ServerNotFound, ServerNotReservable
from blazar.kinds.server.marks import other_reservation
from blazar.kinds.server.schema import ReservedServer, ServerParameters, Step
from blazar.kinds.slots.kind import MEASURES, NOUN
from blazar.kinds.slots.needs import needs_of
from blazar.kinds.slots.source_flavor import SourceFlavor
from blazar.service.ports import Cloud, Difference, Look, MarkedObject
from blazar.service.ports.kind import Kind, Measure, RequestContext, Work

GROUP = "instance:server"
RESERVABLE = ON_A_HOST | {SHELVED, OFFLOADED}


class ServerKind(Kind[ServerParameters]):
    """A server that exists: shelved until the start, on a host that is kept for it until the end."""

    resource_type = "instance:server"
    pool = POOL
    extension = HostsExtension
    quantities = ("instances", "vcpus", "memory_mb")
    zone_property = ZONE
    requirement_parameters = (schema.PROPERTIES,)
    parameters_schema = described(ServerParameters, (schema.SERVER_ID,), own=("server",))
    options: ClassVar[Mapping[str, Sequence[cfg.Opt]]] = {
        GROUP: (
            cfg.ListOpt(
                "on_end",
                default=["shelve"],
                item_type=types.String(choices=list(Step)),
                help="What is done with the server at the end of reservations that do not say it. One of "
                "shelve and delete must be among it.",
            ),
            cfg.IntOpt(
                "step_timeout",
                default=900,
                min=60,
                help="How many seconds each step at the end may take, such as an image, before it is given "
                "up for the next one.",
            ),
            cfg.BoolOpt(
                "delete_at_last",
                default=True,
                help="Delete a server that could not be shelved within step_timeout, also where its user did "
                "not ask for that: its host is promised to others. Without it, their leases wait.",
            ),
        )
    }

    def __init__(
        self,
        on_end: Sequence[Step] = (Step.SHELVE,),
        owner_key: str = "blazar:owner",
        settings: DepartureSettings | None = None,
    ) -> None:
        self._on_end = on_end
        self._owner_key = owner_key
        self._arrival = Arrival(owner_key)
        self._departure = Departure(settings or DepartureSettings())

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> ServerKind:
        own = conf[GROUP]
        try:
            on_end = schema.parse_on_end(own.on_end)
        except MalformedParameter as refusal:
            raise ValueError(f"[{GROUP}] {refusal.message}") from refusal
        patience = timedelta(seconds=own.step_timeout)
        settings = DepartureSettings(conf.nova.image_prefix, patience, own.delete_at_last)
        return cls(on_end, conf.nova.blazar_owner, settings)

    # hooks of the request

    def decode(self, parameters: Mapping[str, Any]) -> ServerParameters:
        return ServerParameters.model_validate(parameters)

    def encode(self, asked: ServerParameters) -> Mapping[str, Any]:
        return asked.model_dump(mode="json")

    def parse(self, parameters: Mapping[str, Any]) -> ServerParameters:
        return schema.parse(parameters, self._on_end)

    def complete(self, asked: ServerParameters, request: RequestContext) -> ServerParameters:
        if asked.server is not None:
            return asked
        server = request.cloud.compute.server(asked.server_id)
        if server is None or server.project_id != request.caller.project_id:
            raise ServerNotFound(server=asked.server_id)
        if server.status not in RESERVABLE:
            raise ServerNotReservable(server=server.id, reason=f"it is in status {server.status}")
        if server.is_locked:
            raise ServerNotReservable(server=server.id, reason="it is locked")
        if other := other_reservation(server):
            raise ServerNotReservable(server=server.id, reason=f"it is in reservation {other}")
        flavor = SourceFlavor.model_validate({**asdict(server.flavor), "id": server.flavor.name})
        needs_of(flavor)
        return asked.model_copy(update={"server": ReservedServer(name=server.name, flavor=flavor)})

    def revise(self, current: Reservation, changes: Mapping[str, Any]) -> ServerParameters:
        old = self.asked(current)
        known = {name: value for name, value in changes.items() if name in schema.PARAMETERS}
        revised = self.parse({**current.parameters, **known})
        if revised.server_id != old.server_id:
            raise CantUpdateParameter(param=schema.SERVER_ID)
        if revised.locked != old.locked:
            raise CantUpdateParameter(param=schema.LOCKED)
        is_moved = revised.resource_properties != old.resource_properties
        if is_moved and current.status is ReservationStatus.ACTIVE:
            raise CantUpdateParameter(param=schema.PROPERTIES)
        return revised.model_copy(update={"server": old.server})

    def render(self, reservation: Reservation) -> dict[str, Any]:
        asked = self.asked(reservation)
        flavor = asked.reserved.flavor
        return {
            schema.SERVER_ID: asked.server_id,
            "server_name": asked.reserved.name,
            schema.ON_END: list(asked.on_end),
            schema.PROPERTIES: asked.resource_properties,
            schema.LOCKED: asked.locked,
            "vcpus": flavor.vcpus,
            "memory_mb": flavor.ram,
            "disk_gb": flavor.disk,
            "aggregate_id": reservation.cloud_state.get(AGGREGATE_ID),
        }

    def demand(self, reservation: Reservation) -> Demand:
        asked = self.asked(reservation)
        needs = needs_of(asked.reserved.flavor)
        return Demand(
            reservation_id=reservation.id,
            minimum=1,
            maximum=1,
            usage=Usage(needs.amounts),
            requirement=parse_requirement(asked.resource_properties),
            required_traits=needs.required,
            forbidden_traits=needs.forbidden,
            current=reservation.allocations,
            keep_current=reservation.status is ReservationStatus.ACTIVE,
            plural=NOUN,
        )

    def counted(self, reservation: Reservation) -> Mapping[str, int]:
        flavor = self.asked(reservation).reserved.flavor
        return {"instances": 1, "vcpus": flavor.vcpus, "memory_mb": flavor.ram}

    def measures(self, resource_classes: Collection[str]) -> Sequence[Measure]:
        return MEASURES

    def describe(self, resource: Registration) -> Mapping[str, Any]:
        return {**host_view(resource)}

    def preparing(self, old: Reservation | None, new: Reservation) -> Mapping[str, Any] | None:
        """Remember the server from the beginning: a deletion has to take the mark from it."""
        return {schema.SERVER_ID: self.asked(new).server_id} if old is None else None

    def prepare(self, lease: Lease, reservation: Reservation, request: RequestContext) -> Mapping[str, Any]:
        return {}

    def acts_for_user(self, reservation: Reservation) -> bool:
        """The server is the user's, and so are its images."""
        return True

    def is_made_ready(self, reservation: Reservation) -> bool:
        return True

    # verbs of events

    def make_ready(self, work: Work, cloud: Cloud) -> Outcome:
        return self._arrival.make_ready(work, cloud, self.asked(work.reservation))

    def activate(self, work: Work, cloud: Cloud) -> Outcome:
        return self._arrival.activate(work, cloud, self.asked(work.reservation))

    def before_end(self, work: Work, cloud: Cloud) -> Outcome:
        return Done()

    def deactivate(self, work: Work, cloud: Cloud) -> Outcome:
        return self._departure.deactivate(work, cloud, self.asked(work.reservation))

    # comparison

    def differences(self, work: Work, look: Look) -> Iterable[Difference]:
        return comparison.differences(work, look, self.asked(work.reservation), self._owner_key)

    def marked(self, look: Look) -> Iterable[MarkedObject]:
        return comparison.marked(look)
