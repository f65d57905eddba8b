"""The kind network: what it asks of its own calendar and which verb does what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from oslo_config import cfg

from blazar.domain.errors import CantUpdateParameter
from blazar.domain.lease.lease import Reservation, ReservationStatus
from blazar.domain.lease.outcome import Done, Outcome
from blazar.domain.planning.demand import Demand
from blazar.domain.planning.plan import Shortage
from blazar.domain.requirement.comparison import Operator, term_of
from blazar.domain.requirement.language import Comparison, Every, Requirement
from blazar.domain.resource import WHOLE
from blazar.kinds.fields import described, without_blanks
from blazar.kinds.network import actuator, comparison, schema
from blazar.kinds.network.errors import NotEnoughNetworkSegments
from blazar.kinds.network.extension import NetworkSegmentsExtension
from blazar.kinds.network.names import NETWORK_TYPE, PHYSICAL_NETWORK, POOL
from blazar.kinds.network.schema import NetworkParameters
from blazar.service.ports import Cloud, Difference, Look, MarkedObject
from blazar.service.ports.kind import Kind, Measure, Work

SEGMENTS = "network_segments"


class NetworkKind(Kind[NetworkParameters]):
    """Segments that operators registered, each a whole resource."""

    resource_type = "network"
    pool = POOL
    extension = NetworkSegmentsExtension
    quantities = (SEGMENTS,)
    parameters_schema = described(NetworkParameters, ())

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> NetworkKind:
        return cls()

    def decode(self, parameters: Mapping[str, Any]) -> NetworkParameters:
        return NetworkParameters.model_validate(parameters)

    def encode(self, asked: NetworkParameters) -> Mapping[str, Any]:
        return asked.model_dump(mode="json")

    def parse(self, parameters: Mapping[str, Any]) -> NetworkParameters:
        return schema.parse(parameters)

    def revise(self, current: Reservation, changes: Mapping[str, Any]) -> NetworkParameters:
        """An active reservation gets more networks, and keeps those that it has as they are."""
        old = self.asked(current)
        known = {name: value for name, value in changes.items() if name in schema.PARAMETERS}
        new = self.parse({**current.parameters, **without_blanks(known, schema.PARAMETERS)})
        if current.status is not ReservationStatus.ACTIVE:
            return new
        if new.amount < old.amount:
            raise CantUpdateParameter(param="the amount of an active reservation, to less")
        if new.model_copy(update={schema.AMOUNT: old.amount}) != old:
            raise CantUpdateParameter(param="the segments and names of an active reservation")
        return new

    def render(self, reservation: Reservation) -> dict[str, Any]:
        networks = reservation.cloud_state.get(actuator.NETWORKS) or {}
        return {**self.encode(self.asked(reservation)), "network_ids": sorted(networks.values())}

    def demand(self, reservation: Reservation) -> Demand:
        asked = self.asked(reservation)
        wanted = {NETWORK_TYPE: asked.network_type, PHYSICAL_NETWORK: asked.physical_network}
        conditions = tuple(
            Comparison(name, Operator.EQUAL, (term_of(str(value)),))
            for name, value in wanted.items()
            if value is not None
        )
        return Demand(
            reservation_id=reservation.id,
            minimum=asked.amount,
            maximum=asked.amount,
            usage=WHOLE,
            requirement=Requirement(Every(conditions)),
            current=reservation.allocations,
            keep_current=reservation.status is ReservationStatus.ACTIVE,
            plural="network segments",
        )

    def counted(self, reservation: Reservation) -> Mapping[str, int]:
        return {SEGMENTS: self.asked(reservation).amount}

    def measures(self, resource_classes: Collection[str]) -> Sequence[Measure]:
        return (Measure(SEGMENTS),)

    def with_units(self, asked: NetworkParameters, units: int) -> Mapping[str, Any]:
        return {schema.AMOUNT: units} if units >= 1 else {}

    def refusal(self, reservation: Reservation, shortage: Shortage) -> NotEnoughNetworkSegments:
        return NotEnoughNetworkSegments(noun=shortage.plural, reason=shortage.reason)

    def activate(self, work: Work, cloud: Cloud) -> Outcome:
        return actuator.activate(work, self.asked(work.reservation).network_name, cloud.network)

    def before_end(self, work: Work, cloud: Cloud) -> Outcome:
        return Done()

    def deactivate(self, work: Work, cloud: Cloud) -> Outcome:
        return actuator.deactivate(work, cloud.network)

    def used(self, work: Work, cloud: Cloud) -> int:
        return actuator.used(work, cloud.network)

    def differences(self, work: Work, look: Look) -> Iterable[Difference]:
        return comparison.differences(work, look)

    def marked(self, look: Look) -> Iterable[MarkedObject]:
        return comparison.marked(look)
