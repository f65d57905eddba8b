"""The kind virtual:instance: what it asks of the calendar, and what its servers get."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_config import cfg

from blazar.domain.demand import Demand
from blazar.domain.lease import Reservation, ReservationStatus
from blazar.domain.requirement import parse as parse_requirement
from blazar.domain.resource import Claim
from blazar.kinds.instance import schema
from blazar.kinds.instance.schema import InstanceParameters
from blazar.kinds.slots import SlotNames, SlotSize
from blazar.kinds.slots.actuator import rendered
from blazar.kinds.slots.affinity import grouping
from blazar.kinds.slots.kind import BEFORE_END, NOUN, SlotKind, before_end_shown, check_active


class InstanceKind(SlotKind):
    """Room for servers whose size the user names."""

    resource_type = "virtual:instance"

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> InstanceKind:
        return cls(SlotNames(conf.nova.blazar_owner, conf.nova.image_prefix))

    def parse(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        return schema.parse(parameters).model_dump(mode="json")

    def revise(self, current: Reservation, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        known = {name: value for name, value in changes.items() if name in (*schema.PARAMETERS, BEFORE_END)}
        revised = self.parse({**current.parameters, **known})
        check_active(current, revised)
        return revised

    def render(self, reservation: Reservation) -> dict[str, Any]:
        own = {name: reservation.parameters[name] for name in schema.PARAMETERS}
        return {**own, **rendered(reservation), **before_end_shown(reservation)}

    def demand(self, reservation: Reservation) -> Demand:
        asked = InstanceParameters.model_validate(reservation.parameters)
        amounts = {"VCPU": asked.vcpus, "MEMORY_MB": asked.memory_mb, "DISK_GB": asked.disk_gb}
        return Demand(
            reservation_id=reservation.id,
            minimum=asked.amount,
            maximum=asked.amount,
            claim=Claim({name: amount for name, amount in amounts.items() if amount}),
            requirement=parse_requirement(asked.resource_properties),
            grouping=grouping(asked.affinity),
            current=reservation.allocations,
            keep_current=reservation.status is ReservationStatus.ACTIVE,
            noun=NOUN,
        )

    def size(self, reservation: Reservation) -> SlotSize:
        asked = InstanceParameters.model_validate(reservation.parameters)
        return SlotSize(asked.vcpus, asked.memory_mb, asked.disk_gb)
