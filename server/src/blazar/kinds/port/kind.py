"""The kind network:port: what it asks of its own calendar, and which verb does what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from oslo_config import cfg

from blazar.domain.errors import CantUpdateParameter
from blazar.domain.lease.lease import Reservation, ReservationStatus
from blazar.domain.lease.outcome import Done, Outcome
from blazar.domain.planning.demand import Demand
from blazar.domain.planning.plan import Shortage
from blazar.domain.resource import Usage
from blazar.kinds import excess, quota_shares
from blazar.kinds.fields import described, without_blanks
from blazar.kinds.port import quota, schema
from blazar.kinds.port.errors import NotEnoughPorts
from blazar.kinds.port.extension import PortPoolExtension
from blazar.kinds.port.port_pool import POOL, PORT
from blazar.kinds.port.quota import PortLimit, PortsOfProject
from blazar.kinds.port.schema import OnEnd, PortParameters
from blazar.service.ports import Cloud, Difference, Look
from blazar.service.ports.kind import Kind, Measure, Work

PORTS = "ports"


class PortKind(Kind[PortParameters]):
    """Ports of the project's networks, and of those that are shared with it, counted by its quota."""

    resource_type = "network:port"
    pool = POOL
    extension = PortPoolExtension
    quantities = (PORTS,)
    parameters_schema = described(PortParameters, (schema.AMOUNT,))

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> PortKind:
        return cls()

    def decode(self, parameters: Mapping[str, Any]) -> PortParameters:
        return PortParameters.model_validate(parameters)

    def encode(self, asked: PortParameters) -> Mapping[str, Any]:
        return asked.model_dump(mode="json")

    def parse(self, parameters: Mapping[str, Any]) -> PortParameters:
        return schema.parse(parameters)

    def revise(self, current: Reservation, changes: Mapping[str, Any]) -> PortParameters:
        known = {name: value for name, value in changes.items() if name in schema.PARAMETERS}
        new = self.parse({**current.parameters, **without_blanks(known, schema.PARAMETERS)})
        if current.status is ReservationStatus.ACTIVE and new.amount < self.asked(current).amount:
            raise CantUpdateParameter(param="the amount of an active reservation, to less")
        return new

    def render(self, reservation: Reservation) -> dict[str, Any]:
        return dict(self.encode(self.asked(reservation)))

    def demand(self, reservation: Reservation) -> Demand:
        asked = self.asked(reservation)
        return Demand(
            reservation_id=reservation.id,
            minimum=asked.amount,
            maximum=asked.amount,
            usage=Usage({PORT: 1}),
            current=reservation.allocations,
            keep_current=reservation.status is ReservationStatus.ACTIVE,
            plural=PORTS,
        )

    def counted(self, reservation: Reservation) -> Mapping[str, int]:
        return {PORTS: self.asked(reservation).amount}

    def measures(self, resource_classes: Collection[str]) -> tuple[Measure, ...]:
        return (Measure(PORTS, PORT),) if PORT in resource_classes else ()

    def with_units(self, asked: PortParameters, units: int) -> Mapping[str, Any]:
        return {schema.AMOUNT: units} if units >= 1 else {}

    def refusal(self, reservation: Reservation, shortage: Shortage) -> NotEnoughPorts:
        return NotEnoughPorts(noun=shortage.plural, reason=shortage.reason)

    def activate(self, work: Work, cloud: Cloud) -> Outcome:
        wanted = {quota.PORT: self.asked(work.reservation).amount}
        return quota_shares.activate(work, wanted, PortLimit(cloud.network, work.lease.project_id))

    def before_end(self, work: Work, cloud: Cloud) -> Outcome:
        return Done()

    def deactivate(self, work: Work, cloud: Cloud) -> Outcome:
        asked = self.asked(work.reservation)
        owned = PortsOfProject(cloud.network, work.lease.project_id)
        outcome = quota_shares.deactivate(work, owned.quota)
        if not isinstance(outcome, Done) or asked.on_end is not OnEnd.DELETE:
            return outcome
        return excess.delete_excess(work, outcome, {quota.PORT: asked.amount}, owned, excess.PATIENCE)

    def used(self, work: Work, cloud: Cloud) -> int | None:
        limit = PortLimit(cloud.network, work.lease.project_id)
        return quota_shares.used(work, limit).get(quota.PORT)

    def differences(self, work: Work, look: Look) -> Iterable[Difference]:
        return quota_shares.differences(work, look, PortLimit(look.cloud.network, work.lease.project_id))
