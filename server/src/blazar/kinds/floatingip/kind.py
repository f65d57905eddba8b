"""The kind virtual:floatingip: what it asks of its own calendar and which verb does what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from oslo_config import cfg

from blazar.domain.errors import InvalidInput
from blazar.domain.lease.lease import Reservation, ReservationStatus
from blazar.domain.lease.outcome import Done, Outcome
from blazar.domain.planning.demand import Demand
from blazar.domain.planning.plan import Shortage
from blazar.domain.requirement.comparison import Operator, term_of
from blazar.domain.requirement.language import Comparison, Requirement
from blazar.domain.resource import WHOLE, Registration
from blazar.kinds.fields import described, without_blanks
from blazar.kinds.floatingip import actuator, comparison, schema
from blazar.kinds.floatingip.errors import (
    CantUpdateFloatingIPReservation,
    FloatingIPNetworkNotExternal,
    FloatingIPNetworkNotFound,
    NotEnoughFloatingIPs,
)
from blazar.kinds.floatingip.extension import FloatingIPExtension
from blazar.kinds.floatingip.names import ADDRESS, NETWORK_ID, POOL, floating_ip_id
from blazar.kinds.floatingip.replies import floatingip_view
from blazar.kinds.floatingip.schema import FloatingIPParameters
from blazar.service.ports import Cloud, CloudNetwork, Difference, Look, MarkedObject
from blazar.service.ports.kind import Kind, Measure, RequestContext, Work


class FloatingIPKind(Kind[FloatingIPParameters]):
    """Addresses that operators registered, each a whole resource."""

    resource_type = "virtual:floatingip"
    pool = POOL
    extension = FloatingIPExtension
    quantities = ("floating_ips",)
    parameters_schema = described(FloatingIPParameters, ("network_id", "amount"))

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> FloatingIPKind:
        return cls()

    def decode(self, parameters: Mapping[str, Any]) -> FloatingIPParameters:
        return FloatingIPParameters.model_validate(parameters)

    def encode(self, asked: FloatingIPParameters) -> Mapping[str, Any]:
        return asked.model_dump(mode="json")

    def parse(self, parameters: Mapping[str, Any]) -> FloatingIPParameters:
        return schema.parse(parameters)

    def complete(self, asked: FloatingIPParameters, request: RequestContext) -> FloatingIPParameters:
        return asked.model_copy(update={"network_id": _external(asked.network_id, request).id})

    def revise(self, current: Reservation, changes: Mapping[str, Any]) -> FloatingIPParameters:
        old = self.asked(current)
        known = {name: value for name, value in changes.items() if name in schema.PARAMETERS}
        new = schema.parse({**current.parameters, **without_blanks(known, schema.PARAMETERS)})
        if new.network_id != old.network_id:
            raise CantUpdateFloatingIPReservation(reason="The network stays what it was.")
        if new.required_floatingips and set(new.required_floatingips) != set(old.required_floatingips):
            raise CantUpdateFloatingIPReservation(
                reason="The required floating IPs stay what they were, or are given up."
            )
        if current.status is ReservationStatus.ACTIVE and new.amount < old.amount:
            raise CantUpdateFloatingIPReservation(
                reason="An active reservation keeps all of its floating IPs."
            )
        return new

    def render(self, reservation: Reservation) -> dict[str, Any]:
        shown = self.encode(self.asked(reservation))
        return {name: shown[name] for name in schema.PARAMETERS}

    def demand(self, reservation: Reservation) -> Demand:
        asked = self.asked(reservation)
        return Demand(
            reservation_id=reservation.id,
            minimum=asked.amount,
            maximum=asked.amount,
            usage=WHOLE,
            requirement=Requirement(Comparison(NETWORK_ID, Operator.EQUAL, (term_of(asked.network_id),))),
            must_include=tuple(
                floating_ip_id(asked.network_id, address) for address in asked.required_floatingips
            ),
            current=reservation.allocations,
            keep_current=reservation.status is ReservationStatus.ACTIVE,
            plural="floating IPs",
        )

    def counted(self, reservation: Reservation) -> Mapping[str, int]:
        return {"floating_ips": self.asked(reservation).amount}

    def measures(self, resource_classes: Collection[str]) -> Sequence[Measure]:
        return (Measure("floating_ips"),)

    def with_units(self, asked: FloatingIPParameters, units: int) -> Mapping[str, Any]:
        return {"amount": units} if units >= max(1, len(asked.required_floatingips)) else {}

    def label(self, resource: Registration) -> str:
        return str(resource.facts[ADDRESS])

    def describe(self, resource: Registration) -> Mapping[str, Any]:
        return {**floatingip_view(resource)}

    def refusal(self, reservation: Reservation, shortage: Shortage) -> NotEnoughFloatingIPs:
        """Return the shortage, with addresses for ids: those that are required, and those that the
        reservation has."""
        asked = self.asked(reservation)
        addresses = (*asked.required_floatingips, *reservation.cloud_state.get(actuator.FLOATING_IPS, {}))
        by_id = {floating_ip_id(asked.network_id, address): address for address in addresses}
        named = replace(shortage, resources=tuple(by_id.get(id_, id_) for id_ in shortage.resources))
        return NotEnoughFloatingIPs(noun=named.plural, reason=named.reason)

    def activate(self, work: Work, cloud: Cloud) -> Outcome:
        return actuator.activate(work, self.asked(work.reservation).network_id, cloud.network)

    def before_end(self, work: Work, cloud: Cloud) -> Outcome:
        return Done()

    def deactivate(self, work: Work, cloud: Cloud) -> Outcome:
        return actuator.deactivate(work, self.asked(work.reservation).network_id, cloud.network)

    def used(self, work: Work, cloud: Cloud) -> int:
        return actuator.used(work, self.asked(work.reservation).network_id, cloud.network)

    def differences(self, work: Work, look: Look) -> Iterable[Difference]:
        return comparison.differences(work, self.asked(work.reservation).network_id, look)

    def marked(self, look: Look) -> Iterable[MarkedObject]:
        return comparison.marked(look)


def _external(network_id: str, request: RequestContext) -> CloudNetwork:
    """Return the network, seen with the caller's own eyes: a network may be external to some projects only.

    Raises FloatingIPNetworkNotFound, FloatingIPNetworkNotExternal."""
    project_id = request.caller.project_id
    if project_id is None:
        raise InvalidInput("A lease belongs to a project: ask with a project-scoped token.")
    network = request.own_cloud(project_id).network.network(network_id)
    if network is None:
        raise FloatingIPNetworkNotFound(network=network_id)
    if not network.is_external:
        raise FloatingIPNetworkNotExternal(network=network_id)
    return network
