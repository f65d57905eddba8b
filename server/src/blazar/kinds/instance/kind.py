"""The kind virtual:instance: what it asks of the calendar, and what its servers get."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_config import cfg

from blazar.domain.lease.lease import Reservation, ReservationStatus
from blazar.domain.planning.demand import Demand
from blazar.domain.requirement.language import parse as parse_requirement
from blazar.domain.resource import Usage
from blazar.kinds.fields import described
from blazar.kinds.instance import schema
from blazar.kinds.instance.schema import InstanceParameters
from blazar.kinds.slots import SlotSettings, SlotSize
from blazar.kinds.slots.actuator import rendered
from blazar.kinds.slots.affinity import grouping
from blazar.kinds.slots.kind import BEFORE_END, NOUN, SlotKind, before_end_shown
from blazar.service.ports.kind import RequestContext

SIZE = frozenset({"vcpus", "memory_mb", "disk_gb"})


class InstanceKind(SlotKind[InstanceParameters]):
    """Room for servers whose size the user names."""

    resource_type = "virtual:instance"
    is_regional = True
    requirement_parameters = ("resource_properties",)
    parameters_schema = described(InstanceParameters, schema.PARAMETERS)

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> InstanceKind:
        own = conf.nova
        return cls(SlotSettings(own.blazar_owner, own.image_prefix, own.end_preemptibles))

    def decode(self, parameters: Mapping[str, Any]) -> InstanceParameters:
        return InstanceParameters.model_validate(parameters)

    def encode(self, asked: InstanceParameters) -> Mapping[str, Any]:
        return asked.model_dump(mode="json")

    def parse(self, parameters: Mapping[str, Any]) -> InstanceParameters:
        return schema.parse(parameters)

    def revise(self, current: Reservation, changes: Mapping[str, Any]) -> InstanceParameters:
        known = {name: value for name, value in changes.items() if name in (*schema.PARAMETERS, BEFORE_END)}
        revised = self.parse({**current.parameters, **known})
        self.check_active(current, revised)
        return revised

    def render(self, reservation: Reservation) -> dict[str, Any]:
        asked = self.asked(reservation)
        shown = self.encode(asked)
        own = {name: shown[name] for name in schema.PARAMETERS}
        return {**own, **rendered(reservation), **before_end_shown(asked)}

    def demand(self, reservation: Reservation) -> Demand:
        asked = self.asked(reservation)
        return Demand(
            reservation_id=reservation.id,
            minimum=asked.amount,
            maximum=asked.amount,
            usage=_usage(asked),
            requirement=parse_requirement(asked.resource_properties),
            grouping=grouping(asked.affinity),
            current=reservation.allocations,
            keep_current=reservation.status is ReservationStatus.ACTIVE,
            plural=NOUN,
        )

    def unit(self, size: Mapping[str, int | str], request: RequestContext) -> Demand | None:
        if not size.keys() & SIZE:
            return None
        asked = self.parse({"disk_gb": 0, **size, "amount": 1, "affinity": None, "resource_properties": ""})
        return Demand("", 0, 1, _usage(asked), plural=NOUN)

    def size(self, reservation: Reservation) -> SlotSize:
        asked = self.asked(reservation)
        return SlotSize(asked.vcpus, asked.memory_mb, asked.disk_gb)


def _usage(asked: InstanceParameters) -> Usage:
    amounts = {"VCPU": asked.vcpus, "MEMORY_MB": asked.memory_mb, "DISK_GB": asked.disk_gb}
    return Usage({name: amount for name, amount in amounts.items() if amount})
