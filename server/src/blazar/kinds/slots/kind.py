"""The common part of virtual:instance and flavor:instance: amounts, affinity, updates and the verbs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from blazar.domain.errors import CantUpdateParameter, Conflict
from blazar.domain.lease.lease import Lease, Reservation, ReservationStatus
from blazar.domain.lease.outcome import Done, Outcome
from blazar.domain.resource import Registration
from blazar.kinds.preemptibles import hosts_of
from blazar.kinds.registered_hosts import POOL, ZONE, HostsExtension
from blazar.kinds.registered_hosts.replies import host_view
from blazar.kinds.slots import affinity, comparison
from blazar.kinds.slots.actuator import SlotActuator, SlotSettings
from blazar.kinds.slots.size import SlotSize
from blazar.kinds.snapshots import BeforeEnd
from blazar.service.ports import Cloud, Difference, Look, MarkedObject
from blazar.service.ports.kind import Kind, Measure, RequestContext, Work

MOST = 2**31 - 1
"""The largest number of anything in a flavor, and of slots."""
NOUN = "hosts"
BEFORE_END = "before_end"
CHANGEABLE = frozenset({"amount", BEFORE_END})
"""What of an active reservation can change."""
MEASURES = (Measure("vcpus", "VCPU"), Measure("memory_mb", "MEMORY_MB"), Measure("disk_gb", "DISK_GB"))
"""What any server takes."""


class SlotParameters(Protocol):
    """The parameters that both kinds have in common."""

    @property
    def amount(self) -> int: ...
    @property
    def affinity(self) -> bool | None: ...
    @property
    def before_end(self) -> BeforeEnd: ...


S = TypeVar("S", bound=SlotParameters)


def before_end_shown(asked: SlotParameters) -> dict[str, Any]:
    """Return the wish for snapshots, where there is one: API 1.0 knows it of hosts only."""
    return {} if asked.before_end is BeforeEnd.DEFAULT else {BEFORE_END: asked.before_end.value}


class SlotKind(Kind[S]):
    """A kind that reserves room for an ``amount`` of servers of one size on hosts that it may share with
    others."""

    pool = POOL
    takes_other_users = True
    extension = HostsExtension
    quantities = ("instances", "vcpus", "memory_mb")
    zone_property = ZONE

    def __init__(self, settings: SlotSettings | None = None) -> None:
        self._settings = settings or SlotSettings()
        self._actuator = SlotActuator(self._settings)

    @abstractmethod
    def size(self, reservation: Reservation) -> SlotSize:
        """Return what each server gets."""

    def describe(self, resource: Registration) -> Mapping[str, Any]:
        return {**host_view(resource)}

    def counted(self, reservation: Reservation) -> Mapping[str, int]:
        amount, size = self.asked(reservation).amount, self.size(reservation)
        return {"instances": amount, "vcpus": amount * size.vcpus, "memory_mb": amount * size.ram}

    def measures(self, resource_classes: Collection[str]) -> Sequence[Measure]:
        return MEASURES

    def with_units(self, asked: S, units: int) -> Mapping[str, Any]:
        return {"amount": units} if units else {}

    def preparing(self, old: Reservation | None, new: Reservation) -> Mapping[str, Any] | None:
        return affinity.preparing(self.asked(old).affinity if old else None, self.asked(new).affinity)

    def prepare(self, lease: Lease, reservation: Reservation, request: RequestContext) -> Mapping[str, Any]:
        return affinity.make_group(lease, reservation, self.asked(reservation).affinity, request)

    def withdraw(self, remembered: Mapping[str, Any], cloud: Cloud) -> None:
        affinity.remove_group(remembered, cloud)

    def activate(self, work: Work, cloud: Cloud) -> Outcome:
        return self._actuator.activate(work, cloud, self.size(work.reservation))

    def acts_for_user(self, reservation: Reservation) -> bool:
        """Snapshots are the user's own images, so the user makes them."""
        return self.asked(reservation).before_end is BeforeEnd.SNAPSHOT

    def before_end(self, work: Work, cloud: Cloud) -> Outcome:
        return self._actuator.snapshot(work, cloud) if self.acts_for_user(work.reservation) else Done()

    def hosts_to_clear(self, work: Work) -> Sequence[str]:
        return hosts_of(work) if self._settings.preemptibles_make_way else ()

    def deactivate(self, work: Work, cloud: Cloud) -> Outcome:
        return self._actuator.deactivate(work, cloud)

    def used(self, work: Work, cloud: Cloud) -> int:
        return self._actuator.used(work, cloud)

    def close(self, work: Work, cloud: Cloud) -> bool:
        return self._actuator.close(work, cloud)

    def differences(self, work: Work, look: Look) -> Iterable[Difference]:
        return comparison.differences(work, look, self.size(work.reservation), self._settings)

    def marked(self, look: Look) -> Iterable[MarkedObject]:
        return comparison.marked(look)

    def check_active(self, current: Reservation, revised: S) -> None:
        """Let an active reservation only grow: its servers run with what it is made of. Raises Conflict."""
        if current.status is not ReservationStatus.ACTIVE:
            return
        old = self.asked(current)
        before, after = self.encode(old), self.encode(revised)
        if any(before[name] != after[name] for name in after if name not in CHANGEABLE):
            raise Conflict("An active reservation only accepts to update amount.")
        if revised.amount < old.amount:
            raise CantUpdateParameter(param=f"amount of an active reservation to fewer than {old.amount}")
