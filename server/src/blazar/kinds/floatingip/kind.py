"""The kind virtual:floatingip: what it asks of its own calendar and which verb does what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from oslo_config import cfg

from blazar.domain.comparison import Operator, term_of
from blazar.domain.demand import Demand, Shortage
from blazar.domain.errors import (
    CantUpdateFloatingIPReservation,
    FloatingIPNetworkNotExternal,
    FloatingIPNetworkNotFound,
    InvalidInput,
    NotEnoughFloatingIPs,
)
from blazar.domain.floatingip import NETWORK_ID, floating_ip_id
from blazar.domain.lease import Reservation, ReservationStatus
from blazar.domain.outcome import Done, Outcome
from blazar.domain.requirement import Comparison, Requirement
from blazar.domain.resource import WHOLE, Pool
from blazar.kinds.base import Kind, Request, Work
from blazar.kinds.fields import without_blanks
from blazar.kinds.floatingip import actuator, schema
from blazar.kinds.floatingip.schema import FloatingIPParameters
from blazar.service.ports import Cloud, CloudNetwork


class FloatingIPKind(Kind):
    """Addresses that operators registered, each a whole resource."""

    resource_type = "virtual:floatingip"
    pool = Pool.FLOATING_IP

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> FloatingIPKind:
        return cls()

    def parse(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        return schema.parse(parameters).model_dump(mode="json")

    def complete(self, parameters: Mapping[str, Any], request: Request) -> Mapping[str, Any]:
        return {**parameters, "network_id": _external(parameters["network_id"], request).id}

    def revise(self, current: Reservation, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        old = FloatingIPParameters.model_validate(current.parameters)
        known = {name: value for name, value in changes.items() if name in schema.PARAMETERS}
        new = schema.parse({**current.parameters, **without_blanks(known, schema.PARAMETERS)})
        if new.network_id != old.network_id:
            raise CantUpdateFloatingIPReservation(reason="The network stays what it was.")
        if new.required_floatingips and set(new.required_floatingips) != set(old.required_floatingips):
            raise CantUpdateFloatingIPReservation(
                reason="The required floating IPs stay what they were, or are given up."
            )
        if current.status is ReservationStatus.ACTIVE and new.amount < old.amount:
            raise CantUpdateFloatingIPReservation(reason="An active reservation keeps all of its floating IPs.")
        return new.model_dump(mode="json")

    def render(self, reservation: Reservation) -> dict[str, Any]:
        return {name: reservation.parameters[name] for name in schema.PARAMETERS}

    def demand(self, reservation: Reservation) -> Demand:
        asked = FloatingIPParameters.model_validate(reservation.parameters)
        return Demand(
            reservation_id=reservation.id,
            minimum=asked.amount,
            maximum=asked.amount,
            claim=WHOLE,
            requirement=Requirement(Comparison(NETWORK_ID, Operator.EQUAL, (term_of(asked.network_id),))),
            must_include=tuple(floating_ip_id(asked.network_id, address) for address in asked.required_floatingips),
            current=reservation.allocations,
            keep_current=reservation.status is ReservationStatus.ACTIVE,
            noun="floating IPs",
        )

    def refusal(self, reservation: Reservation, shortage: Shortage) -> NotEnoughFloatingIPs:
        """The shortage, with addresses for ids: those that are required, and those that the reservation has."""
        asked = FloatingIPParameters.model_validate(reservation.parameters)
        addresses = (*asked.required_floatingips, *reservation.cloud.get(actuator.FLOATING_IPS, {}))
        by_id = {floating_ip_id(asked.network_id, address): address for address in addresses}
        named = replace(shortage, resources=tuple(by_id.get(id_, id_) for id_ in shortage.resources))
        return NotEnoughFloatingIPs(noun=named.noun, reason=named.reason)

    def activate(self, work: Work, cloud: Cloud) -> Outcome:
        return actuator.activate(work, cloud.network)

    def before_end(self, work: Work, cloud: Cloud) -> Outcome:
        return Done()

    def deactivate(self, work: Work, cloud: Cloud) -> Outcome:
        return actuator.deactivate(work, cloud.network)


def _external(network_id: str, request: Request) -> CloudNetwork:
    """The network, seen with the caller's own eyes: a network may be external to some projects only.

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
