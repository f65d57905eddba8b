"""The kind physical:host: what it asks of the calendar and which verb does what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar

from oslo_config import cfg

from blazar.domain.errors import CantUpdateParameter, InvalidInput
from blazar.domain.lease.lease import Reservation, ReservationStatus
from blazar.domain.lease.outcome import Done, Outcome
from blazar.domain.planning.demand import Demand
from blazar.domain.requirement.language import parse as parse_requirement
from blazar.domain.resource import WHOLE, Registration
from blazar.kinds.fields import described
from blazar.kinds.host import comparison, schema
from blazar.kinds.host.actuator import HostActuator, HostKindSettings
from blazar.kinds.host.lending import LendingLook, LendingSettings
from blazar.kinds.host.schema import HostParameters, Match
from blazar.kinds.preemptibles import hosts_of
from blazar.kinds.registered_hosts import POOL, ZONE, HostsExtension
from blazar.kinds.registered_hosts.replies import host_view
from blazar.kinds.registered_hosts.sizes import sizes
from blazar.kinds.snapshots import BeforeEnd, take_snapshots
from blazar.service.ports import Cloud, Difference, Look, MarkedObject
from blazar.service.ports.kind import Kind, Measure, RequestContext, Work


class HostKind(Kind[HostParameters]):
    """Whole hosts. ``before_end`` is what reservations with the default action get."""

    resource_type = "physical:host"
    pool = POOL
    is_regional = True
    takes_other_users = True
    extension = HostsExtension
    quantities = ("hosts",)
    zone_property = ZONE
    requirement_parameters = ("hypervisor_properties", "resource_properties")
    parameters_schema = described(HostParameters, schema.REQUIRED)
    later_parameters: ClassVar[Mapping[str, tuple[int, int]]] = schema.LATER

    def __init__(
        self,
        settings: HostKindSettings | None = None,
        before_end: BeforeEnd = BeforeEnd.NOTHING,
        image_prefix: str = "reserved_",
    ) -> None:
        self._settings = settings or HostKindSettings()
        self._actuator = HostActuator(self._settings)
        self._before_end = before_end
        self._image_prefix = image_prefix

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> HostKind:
        nova, own = conf.nova, conf["physical:host"]
        settings = HostKindSettings(
            nova.aggregate_freepool_name,
            own.blazar_az_prefix,
            nova.blazar_owner,
            nova.backfill,
            nova.end_preemptibles,
            LendingSettings(nova.lent_aggregate_name, timedelta(minutes=nova.lend_after_minutes))
            if nova.lend_idle_hosts
            else None,
        )
        return cls(settings, BeforeEnd(own.before_end), nova.image_prefix)

    def decode(self, parameters: Mapping[str, Any]) -> HostParameters:
        return HostParameters.model_validate(parameters)

    def encode(self, asked: HostParameters) -> Mapping[str, Any]:
        encoded = asked.model_dump(mode="json")
        if asked.match is Match.EXPLICIT:
            del encoded[schema.MATCH]  # as it was stored before there was anything else
        if not asked.lend:
            del encoded[schema.LEND], encoded[schema.KEEP_FREE]
        return encoded

    def parse(self, parameters: Mapping[str, Any]) -> HostParameters:
        return schema.parse(parameters)

    def revise(self, current: Reservation, changes: Mapping[str, Any]) -> HostParameters:
        known = {
            name: value for name, value in changes.items() if name in (*schema.PARAMETERS, *schema.LATER)
        }
        revised = schema.parse({**current.parameters, **known})
        if current.status is ReservationStatus.ACTIVE and revised.max < len(current.allocations):
            raise CantUpdateParameter(
                param=f"max of an active reservation that holds {len(current.allocations)} hosts to fewer"
            )
        return revised

    def render(self, reservation: Reservation) -> dict[str, Any]:
        shown = self.encode(self.asked(reservation))
        return {name: shown[name] for name in schema.PARAMETERS}

    def render_later(self, reservation: Reservation) -> Mapping[str, Any]:
        shown = self.asked(reservation).model_dump(mode="json")
        return {name: shown[name] for name in schema.LATER}

    def has_other_use(self, old: Reservation, new: Reservation) -> bool:
        return schema.match_of(old) is not schema.match_of(new) or schema.lends(old) is not schema.lends(new)

    def complete(self, asked: HostParameters, request: RequestContext) -> HostParameters:
        if asked.lend and self._settings.lending is None:
            raise InvalidInput("Reservations of this cloud lend no hosts: leave lend out, or false.")
        return asked

    def counted(self, reservation: Reservation) -> Mapping[str, int]:
        return {"hosts": max(len(reservation.allocations), self.asked(reservation).min)}

    def demand(self, reservation: Reservation) -> Demand:
        asked = self.asked(reservation)
        return Demand(
            reservation_id=reservation.id,
            minimum=asked.min,
            maximum=asked.max,
            usage=WHOLE,
            requirement=parse_requirement(asked.hypervisor_properties).joined(
                parse_requirement(asked.resource_properties)
            ),
            current=reservation.allocations,
            keep_current=reservation.status is ReservationStatus.ACTIVE,
            plural="hosts",
        )

    def with_units(self, asked: HostParameters, units: int) -> Mapping[str, Any]:
        return {"min": units, "max": units} if units else {}

    def describe(self, resource: Registration) -> Mapping[str, Any]:
        return {**host_view(resource)}

    def amounts(self, resource: Registration) -> Mapping[str, int]:
        return sizes(resource)

    def measures(self, resource_classes: Collection[str]) -> Sequence[Measure]:
        return (Measure("hosts"),)

    def acts_for_user(self, reservation: Reservation) -> bool:
        """Snapshots are the user's own images, so the user makes them."""
        asked = self.asked(reservation).before_end
        return (self._before_end if asked is BeforeEnd.DEFAULT else asked) is BeforeEnd.SNAPSHOT

    def activate(self, work: Work, cloud: Cloud) -> Outcome:
        return self._actuator.activate(work, cloud)

    def before_end(self, work: Work, cloud: Cloud) -> Outcome:
        if not self.acts_for_user(work.reservation):
            return Done()
        return take_snapshots(work.lease, self._actuator.servers(work, cloud), self._image_prefix, cloud)

    def hosts_to_clear(self, work: Work) -> Sequence[str]:
        return hosts_of(work)

    def deactivate(self, work: Work, cloud: Cloud) -> Outcome:
        return self._actuator.deactivate(work, cloud)

    def used(self, work: Work, cloud: Cloud) -> int:
        return self._actuator.used(work, cloud)

    def close(self, work: Work, cloud: Cloud) -> bool:
        return self._actuator.close(work, cloud)

    def lending(self, cloud: Cloud) -> LendingLook | None:
        return self._actuator.lending(cloud)

    def differences(self, work: Work, look: Look) -> Iterable[Difference]:
        return comparison.differences(work, look, self._settings)

    def marked(self, look: Look) -> Iterable[MarkedObject]:
        return comparison.marked(look, self._settings)
