"""The kind storage:volume: what it asks of its own calendar, and which verb does what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from oslo_config import cfg

from blazar.domain.errors import CantUpdateParameter, InvalidInput
from blazar.domain.lease.lease import Reservation, ReservationStatus
from blazar.domain.lease.outcome import Done, Outcome
from blazar.domain.planning.demand import Demand
from blazar.domain.planning.plan import Shortage
from blazar.domain.resource import Usage
from blazar.kinds.fields import described, without_blanks
from blazar.kinds.volume import actuator, departure, schema
from blazar.kinds.volume.errors import NotEnoughVolumeCapacity
from blazar.kinds.volume.extension import VolumeTypesExtension
from blazar.kinds.volume.quota import amounts_of
from blazar.kinds.volume.schema import OnEnd, VolumeParameters
from blazar.kinds.volume.volume_types import GIGABYTE, POOL, VOLUME, named
from blazar.service.ports import Cloud, Difference, Look
from blazar.service.ports.kind import Kind, Measure, RequestContext, Work

GIGABYTES, VOLUMES = "volume_gigabytes", "volumes"
MEASURES = (Measure(GIGABYTES, GIGABYTE), Measure(VOLUMES, VOLUME))


class VolumeKind(Kind[VolumeParameters]):
    """Capacity of volume types that operators registered."""

    resource_type = "storage:volume"
    pool = POOL
    extension = VolumeTypesExtension
    quantities = (GIGABYTES, VOLUMES)
    parameters_schema = described(VolumeParameters, (schema.VOLUME_TYPE, schema.GIGABYTES))

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> VolumeKind:
        return cls()

    def decode(self, parameters: Mapping[str, Any]) -> VolumeParameters:
        return VolumeParameters.model_validate(parameters)

    def encode(self, asked: VolumeParameters) -> Mapping[str, Any]:
        return asked.model_dump(mode="json")

    def parse(self, parameters: Mapping[str, Any]) -> VolumeParameters:
        return schema.parse(parameters)

    def complete(self, asked: VolumeParameters, request: RequestContext) -> VolumeParameters:
        """Return the parameters with the id of the volume type, as far as the caller sees it."""
        project_id = request.caller.project_id
        if project_id is None:
            raise InvalidInput("A lease belongs to a project: ask with a project-scoped token.")
        found = named(asked.volume_type, request.own_cloud(project_id).storage.volume_types())
        return asked.model_copy(update={schema.VOLUME_TYPE: found.id})

    def revise(self, current: Reservation, changes: Mapping[str, Any]) -> VolumeParameters:
        old = self.asked(current)
        known = {name: value for name, value in changes.items() if name in schema.PARAMETERS}
        new = self.parse({**current.parameters, **without_blanks(known, schema.PARAMETERS)})
        if new.volume_type != old.volume_type:
            raise CantUpdateParameter(param=schema.VOLUME_TYPE)
        is_resized = (new.gigabytes, new.volumes) != (old.gigabytes, old.volumes)
        if current.status is ReservationStatus.ACTIVE and is_resized:
            raise CantUpdateParameter(param="the size of an active reservation")
        return new

    def render(self, reservation: Reservation) -> dict[str, Any]:
        return dict(self.encode(self.asked(reservation)))

    def demand(self, reservation: Reservation) -> Demand:
        asked = self.asked(reservation)
        return Demand(
            reservation_id=reservation.id,
            minimum=1,
            maximum=1,
            usage=Usage({GIGABYTE: asked.gigabytes, VOLUME: asked.volumes}),
            resources=frozenset({asked.volume_type}),
            current=reservation.allocations,
            keep_current=reservation.status is ReservationStatus.ACTIVE,
            plural="volume types",
        )

    def counted(self, reservation: Reservation) -> Mapping[str, int]:
        asked = self.asked(reservation)
        return {GIGABYTES: asked.gigabytes, VOLUMES: asked.volumes}

    def measures(self, resource_classes: Collection[str]) -> Sequence[Measure]:
        return tuple(each for each in MEASURES if each.resource_class in resource_classes)

    def refusal(self, reservation: Reservation, shortage: Shortage) -> NotEnoughVolumeCapacity:
        return NotEnoughVolumeCapacity(noun=shortage.plural, reason=shortage.reason)

    def activate(self, work: Work, cloud: Cloud) -> Outcome:
        asked = self.asked(work.reservation)
        wanted = amounts_of(asked.volume_type, asked.gigabytes, asked.volumes)
        return actuator.activate(work, wanted, asked.volume_type, cloud.storage)

    def before_end(self, work: Work, cloud: Cloud) -> Outcome:
        return Done()

    def deactivate(self, work: Work, cloud: Cloud) -> Outcome:
        outcome = actuator.deactivate(work, cloud.storage)
        asked = self.asked(work.reservation)
        if asked.on_end is OnEnd.DELETE and isinstance(outcome, Done):
            return departure.delete_excess(work, outcome, asked, cloud.storage)
        return outcome

    def differences(self, work: Work, look: Look) -> Iterable[Difference]:
        return actuator.differences(work, look)
