"""The kind flavor:instance: what it asks of the calendar, and what its servers get."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from oslo_config import cfg

from blazar.domain.lease.lease import Reservation, ReservationStatus
from blazar.domain.planning.demand import Demand
from blazar.domain.resource import Usage
from blazar.kinds.fields import described
from blazar.kinds.flavor import schema
from blazar.kinds.flavor.schema import FlavorParameters
from blazar.kinds.slots import SlotSettings, SlotSize
from blazar.kinds.slots.actuator import rendered
from blazar.kinds.slots.affinity import grouping
from blazar.kinds.slots.kind import BEFORE_END, MEASURES, NOUN, SlotKind, before_end_shown
from blazar.kinds.slots.needs import RESERVED_CLASS, needs_of
from blazar.kinds.slots.visible import similar_flavors, visible_flavor
from blazar.service.ports.kind import Measure, OtherSize, RequestContext


class FlavorKind(SlotKind[FlavorParameters]):
    """Room for servers of a flavor that the user may see."""

    resource_type = "flavor:instance"
    parameters_schema = described(FlavorParameters, schema.PARAMETERS, own=("flavor",))

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> FlavorKind:
        own = conf.nova
        return cls(SlotSettings(own.blazar_owner, own.image_prefix, own.end_preemptibles))

    def decode(self, parameters: Mapping[str, Any]) -> FlavorParameters:
        return FlavorParameters.model_validate(parameters)

    def encode(self, asked: FlavorParameters) -> Mapping[str, Any]:
        return asked.model_dump(mode="json")

    def parse(self, parameters: Mapping[str, Any]) -> FlavorParameters:
        return schema.parse(parameters)

    def complete(self, asked: FlavorParameters, request: RequestContext) -> FlavorParameters:
        if asked.flavor is not None:
            return asked
        flavor = visible_flavor(asked.flavor_id, request)
        needs_of(flavor)
        return asked.model_copy(update={"flavor": flavor})

    def revise(self, current: Reservation, changes: Mapping[str, Any]) -> FlavorParameters:
        known = {name: value for name, value in changes.items() if name in (*schema.PARAMETERS, BEFORE_END)}
        revised = self.parse({**current.parameters, **known})
        old = self.asked(current)
        if revised.flavor_id == old.flavor_id:
            revised = revised.model_copy(update={"flavor": old.flavor})
        self.check_active(current, revised)
        return revised

    def render(self, reservation: Reservation) -> dict[str, Any]:
        asked = self.asked(reservation)
        return {
            "vcpus": asked.source.vcpus,
            "memory_mb": asked.source.ram,
            "disk_gb": asked.source.disk,
            "amount": asked.amount,
            "affinity": asked.affinity,
            "resource_properties": json.dumps(asked.source.as_nova_tells()),
            **rendered(reservation),
            **before_end_shown(asked),
        }

    def demand(self, reservation: Reservation) -> Demand:
        asked = self.asked(reservation)
        needs = needs_of(asked.source)
        return Demand(
            reservation_id=reservation.id,
            minimum=asked.amount,
            maximum=asked.amount,
            usage=Usage(needs.amounts),
            required_traits=needs.required,
            forbidden_traits=needs.forbidden,
            grouping=grouping(asked.affinity),
            current=reservation.allocations,
            keep_current=reservation.status is ReservationStatus.ACTIVE,
            plural=NOUN,
        )

    def measures(self, resource_classes: Collection[str]) -> Sequence[Measure]:
        """Return those of all servers, and what only flavors ask for: PCPUs and custom classes."""
        known = {each.resource_class for each in MEASURES}
        others = (name for name in sorted(resource_classes) if name not in known)
        own = (Measure(name.lower(), name) for name in others if not name.startswith(RESERVED_CLASS))
        return (*MEASURES, *own)

    def unit(self, size: Mapping[str, int | str], request: RequestContext) -> Demand | None:
        if "flavor_id" not in size:
            return None
        needs = needs_of(visible_flavor(str(size["flavor_id"]), request))
        return Demand(
            "",
            0,
            1,
            Usage(needs.amounts),
            required_traits=needs.required,
            forbidden_traits=needs.forbidden,
            plural=NOUN,
        )

    def other_sizes(
        self, asked: FlavorParameters, request: RequestContext
    ) -> Sequence[OtherSize[FlavorParameters]]:
        return [
            OtherSize(
                asked.model_copy(update={"flavor_id": other.id, "flavor": other}),
                {"flavor_id": other.id},
                "flavor_id",
                asked.source.name,
                other.name,
            )
            for other in similar_flavors(asked.source, request)
        ]

    def size(self, reservation: Reservation) -> SlotSize:
        flavor = self.asked(reservation).source
        return SlotSize(
            flavor.vcpus, flavor.ram, flavor.disk, flavor.ephemeral, flavor.swap, flavor.extra_specs
        )
