"""The kind flavor:instance: what it asks of the calendar, and what its servers get."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from oslo_config import cfg

from blazar.domain.demand import Demand
from blazar.domain.errors import FlavorNotFound
from blazar.domain.lease import Reservation, ReservationStatus
from blazar.domain.resource import Claim
from blazar.kinds.base import Request
from blazar.kinds.flavor import schema
from blazar.kinds.flavor.needs import needs_of
from blazar.kinds.flavor.schema import SOURCE, CompleteParameters, SourceFlavor
from blazar.kinds.slots import SlotNames, SlotSize
from blazar.kinds.slots.actuator import rendered
from blazar.kinds.slots.affinity import grouping
from blazar.kinds.slots.kind import BEFORE_END, NOUN, SlotKind, before_end_shown, check_active


class FlavorKind(SlotKind):
    """Room for servers of a flavor that the user may see."""

    resource_type = "flavor:instance"

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> FlavorKind:
        return cls(SlotNames(conf.nova.blazar_owner, conf.nova.image_prefix))

    def parse(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        return schema.parse(parameters).model_dump(mode="json")

    def complete(self, parameters: Mapping[str, Any], request: Request) -> Mapping[str, Any]:
        if SOURCE in parameters:
            return parameters
        flavor = _visible(parameters["flavor_id"], request)
        needs_of(flavor)
        return {**parameters, SOURCE: flavor.model_dump(mode="json")}

    def revise(self, current: Reservation, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        known = {name: value for name, value in changes.items() if name in (*schema.PARAMETERS, BEFORE_END)}
        revised = dict(self.parse({**current.parameters, **known}))
        if revised["flavor_id"] == current.parameters["flavor_id"]:
            revised[SOURCE] = current.parameters[SOURCE]
        check_active(current, revised)
        return revised

    def render(self, reservation: Reservation) -> dict[str, Any]:
        asked = CompleteParameters.model_validate(reservation.parameters)
        return {
            "vcpus": asked.flavor.vcpus,
            "memory_mb": asked.flavor.ram,
            "disk_gb": asked.flavor.disk,
            "amount": asked.amount,
            "affinity": asked.affinity,
            "resource_properties": json.dumps(asked.flavor.as_nova_tells()),
            **rendered(reservation),
            **before_end_shown(reservation),
        }

    def demand(self, reservation: Reservation) -> Demand:
        asked = CompleteParameters.model_validate(reservation.parameters)
        needs = needs_of(asked.flavor)
        return Demand(
            reservation_id=reservation.id,
            minimum=asked.amount,
            maximum=asked.amount,
            claim=Claim(needs.amounts),
            required_traits=needs.required,
            forbidden_traits=needs.forbidden,
            grouping=grouping(asked.affinity),
            current=reservation.allocations,
            keep_current=reservation.status is ReservationStatus.ACTIVE,
            noun=NOUN,
        )

    def size(self, reservation: Reservation) -> SlotSize:
        flavor = CompleteParameters.model_validate(reservation.parameters).flavor
        return SlotSize(flavor.vcpus, flavor.ram, flavor.disk, flavor.ephemeral, flavor.swap, flavor.extra_specs)


def _visible(flavor_id: str, request: Request) -> SourceFlavor:
    """The flavor, if it is public or the caller's project may use it. Raises FlavorNotFound."""
    compute = request.cloud.compute
    found = compute.flavor(flavor_id)
    if found is None:
        raise FlavorNotFound(flavor=flavor_id)
    caller = request.caller
    if not found.is_public and not caller.is_admin and caller.project_id not in compute.flavor_projects(flavor_id):
        raise FlavorNotFound(flavor=flavor_id)
    return SourceFlavor.model_validate(asdict(found))
