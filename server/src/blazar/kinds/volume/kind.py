"""The kind storage:volume: what it asks of its own calendar, and which verb does what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar

from oslo_config import cfg

from blazar.domain.errors import CantUpdateParameter, InvalidInput
from blazar.domain.lease.lease import Reservation, ReservationStatus
from blazar.domain.lease.outcome import Done, GiveUp, NotYet, Outcome
from blazar.domain.lease.utilization import QuantityUse, Sample
from blazar.domain.planning.demand import Demand
from blazar.domain.planning.plan import Shortage
from blazar.domain.resource import Usage
from blazar.kinds import excess, quota_shares
from blazar.kinds.fields import described, without_blanks
from blazar.kinds.volume import leaving_volumes, new_volumes, schema
from blazar.kinds.volume.errors import NotEnoughVolumeCapacity, VolumeSourceNotFound, VolumesTooSmall
from blazar.kinds.volume.extension import VolumeTypesExtension
from blazar.kinds.volume.quota import KINDS, VolumeQuota, VolumesOfType, amounts_of, of_type
from blazar.kinds.volume.schema import OnEnd, Step, VolumeParameters
from blazar.kinds.volume.volume_types import GIGABYTE, POOL, VOLUME, named
from blazar.service.ports import Cloud, Difference, Look
from blazar.service.ports.kind import Kind, Measure, RequestContext, Work

GIGABYTES, VOLUMES = "volume_gigabytes", "volumes"
GROUP = "storage:volume"
SHOWN = "made_volumes"
"""The field with the volumes that were made at the start."""
MEASURES = (Measure(GIGABYTES, GIGABYTE), Measure(VOLUMES, VOLUME))


class VolumeKind(Kind[VolumeParameters]):
    """Capacity of volume types that operators registered; where it is asked for, with volumes that are made
    at the start."""

    resource_type = "storage:volume"
    pool = POOL
    extension = VolumeTypesExtension
    quantities = (GIGABYTES, VOLUMES)
    parameters_schema = described(VolumeParameters, (schema.VOLUME_TYPE, schema.GIGABYTES), own=schema.OWN)
    later_parameters: ClassVar[Mapping[str, tuple[int, int]]] = dict.fromkeys(
        (*schema.TEMPLATE, SHOWN), schema.TEMPLATE_SINCE
    )
    options: ClassVar[Mapping[str, Sequence[cfg.Opt]]] = {
        GROUP: (
            cfg.IntOpt(
                "step_timeout",
                default=int(excess.PATIENCE.total_seconds()),
                min=10,
                help="How many seconds each step at the end may take, such as the deletion of volumes, "
                "before it is given up and the lease ends without it.",
            ),
        )
    }

    def __init__(self, patience: timedelta = excess.PATIENCE) -> None:
        self._patience = patience

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> VolumeKind:
        return cls(timedelta(seconds=conf[GROUP].step_timeout))

    def decode(self, parameters: Mapping[str, Any]) -> VolumeParameters:
        return VolumeParameters.model_validate(parameters)

    def encode(self, asked: VolumeParameters) -> Mapping[str, Any]:
        encoded = asked.model_dump(mode="json")
        if asked.is_template:
            return encoded
        return {
            name: encoded[name] for name in schema.PARAMETERS
        }  # as it was stored before there were others

    def parse(self, parameters: Mapping[str, Any]) -> VolumeParameters:
        return schema.parse(parameters)

    def complete(self, asked: VolumeParameters, request: RequestContext) -> VolumeParameters:
        """Return the parameters with the id of the volume type, as far as the caller sees it. What volumes
        are made from is looked at once."""
        project_id = request.caller.project_id
        if project_id is None:
            raise InvalidInput("A lease belongs to a project: ask with a project-scoped token.")
        own = request.own_cloud(project_id)
        found = named(asked.volume_type, own.storage.volume_types())
        if asked.is_template and not asked.is_checked:
            _check(asked, own, project_id)
        return asked.model_copy(update={schema.VOLUME_TYPE: found.id, schema.CHECKED: True})

    def revise(self, current: Reservation, changes: Mapping[str, Any]) -> VolumeParameters:
        old = self.asked(current)
        names = (*schema.PARAMETERS, *schema.TEMPLATE)
        known = {name: value for name, value in changes.items() if name in names}
        new = self.parse({**current.parameters, **without_blanks(known, names)})
        for name in (schema.VOLUME_TYPE, *schema.TEMPLATE):
            if getattr(new, name) != getattr(old, name):
                raise CantUpdateParameter(param=name)
        is_resized = (new.gigabytes, new.volumes) != (old.gigabytes, old.volumes)
        if current.status is ReservationStatus.ACTIVE and is_resized:
            raise CantUpdateParameter(param="the size of an active reservation")
        return new.model_copy(update={schema.CHECKED: old.is_checked and new.size == old.size})

    def render(self, reservation: Reservation) -> dict[str, Any]:
        encoded = self.encode(self.asked(reservation))
        return {name: encoded[name] for name in schema.PARAMETERS}

    def render_later(self, reservation: Reservation) -> Mapping[str, Any]:
        asked = self.asked(reservation)
        if not asked.is_template:
            return {}
        encoded = self.encode(asked)
        template = {name: encoded[name] for name in schema.TEMPLATE}
        return {**template, schema.SIZE: asked.size, SHOWN: list(new_volumes.shown(reservation))}

    def acts_for_user(self, reservation: Reservation) -> bool:
        """The volumes are the user's."""
        return self.asked(reservation).is_template

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
        quota = VolumeQuota(cloud.storage, work.lease.project_id)
        if not quota.has_type(asked.volume_type):
            return GiveUp(f"Volume type {asked.volume_type} is gone.")
        raised = quota_shares.activate(
            work, amounts_of(asked.volume_type, asked.gigabytes, asked.volumes), quota
        )
        if not asked.is_template or not isinstance(raised, Done):
            return raised
        made = new_volumes.activate(work, cloud, asked)
        if isinstance(made, GiveUp):
            return made
        return replace(made, cloud_state={**raised.cloud_state, **made.cloud_state})

    def before_end(self, work: Work, cloud: Cloud) -> Outcome:
        return Done()

    def deactivate(self, work: Work, cloud: Cloud) -> Outcome:
        """Snapshots come before the quota is lowered, for they are counted in it."""
        asked = self.asked(work.reservation)
        steps = asked.on_end.steps if asked.is_template else ()
        if Step.SNAPSHOT in steps and (waiting := self._left(work, cloud, (Step.SNAPSHOT,))):
            return waiting
        owned = VolumesOfType(asked.volume_type, cloud.storage, work.lease.project_id)
        outcome = quota_shares.deactivate(work, owned.quota)
        if not isinstance(outcome, Done):
            return outcome
        if asked.is_template:
            return self._left(work, cloud, steps) or outcome
        if asked.on_end is OnEnd.DELETE:
            reserved = of_type(asked.volume_type, asked.gigabytes, asked.volumes)
            return excess.delete_excess(work, outcome, reserved, owned, self._patience)
        return outcome

    def _left(self, work: Work, cloud: Cloud, steps: Sequence[Step]) -> NotYet | None:
        return leaving_volumes.take(work, cloud, steps, self._patience)

    def used(self, work: Work, cloud: Cloud) -> int | None:
        """One unit is all that was promised: it is used where anything of it is."""
        found = self.sample(work, cloud)
        return None if found is None else found.used

    def sample(self, work: Work, cloud: Cloud) -> Sample | None:
        """Tell of the limits of the type; where it has none, of those of all volumes."""
        asked = self.asked(work.reservation)
        found = quota_shares.used(work, VolumeQuota(cloud.storage, work.lease.project_id))
        promised = {GIGABYTES: asked.gigabytes, VOLUMES: asked.volumes}
        used = {
            name: found.get(f"{limit}:{asked.volume_type}", found.get(limit))
            for name, limit in zip(promised, KINDS, strict=True)
        }
        told = {name: QuantityUse(n, promised[name] - n) for name, n in used.items() if n is not None}
        return Sample(int(any(each.used for each in told.values())), told) if told else None

    def differences(self, work: Work, look: Look) -> Iterable[Difference]:
        project_id = work.lease.project_id
        quota = look.once(
            f"volume types for {project_id}", lambda: VolumeQuota(look.cloud.storage, project_id)
        )
        return quota_shares.differences(work, look, quota)


def _check(asked: VolumeParameters, own: Cloud, project_id: str) -> None:
    """Look at what the volumes are made from and where they are attached, as far as the caller sees it.
    Raises VolumeSourceNotFound, VolumesTooSmall."""
    if asked.image_id is not None and own.images.image(asked.image_id) is None:
        raise VolumeSourceNotFound(what="Image", id=asked.image_id)
    if asked.snapshot_id is not None:
        _check_snapshot(asked, asked.snapshot_id, own)
    if asked.server_id is not None:
        server = own.compute.server(asked.server_id)
        if server is None or server.project_id != project_id:
            raise VolumeSourceNotFound(what="Server", id=asked.server_id)


def _check_snapshot(asked: VolumeParameters, snapshot_id: str, own: Cloud) -> None:
    snapshot = own.storage.snapshot(snapshot_id)
    if snapshot is None:
        raise VolumeSourceNotFound(what="Snapshot", id=snapshot_id)
    if snapshot.gigabytes > asked.size:
        raise VolumesTooSmall(gigabytes=asked.size, snapshot=snapshot_id, size=snapshot.gigabytes)
