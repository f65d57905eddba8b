"""What virtual:instance and flavor:instance do alike: amounts, affinity, updates and the verbs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from blazar.domain.errors import CantUpdateParameter, Conflict
from blazar.domain.lease import Lease, Reservation, ReservationStatus
from blazar.domain.outcome import Done, Outcome
from blazar.domain.resource import Pool
from blazar.kinds.base import Kind, Request, Work
from blazar.kinds.slots import affinity
from blazar.kinds.slots.actuator import SlotActuator, SlotNames
from blazar.kinds.slots.size import SlotSize
from blazar.kinds.snapshots import BeforeEnd
from blazar.service.ports import Cloud

MOST = 2**31 - 1
"""The largest number of anything in a flavor, and of slots."""
NOUN = "hosts"
BEFORE_END = "before_end"
CHANGEABLE = frozenset({"amount", BEFORE_END})
"""What of an active reservation can change."""


def before_end_shown(reservation: Reservation) -> dict[str, Any]:
    """The wish for snapshots, where there is one: API 1.0 knows it of hosts only."""
    wanted = reservation.parameters.get(BEFORE_END, BeforeEnd.DEFAULT)
    return {} if wanted == BeforeEnd.DEFAULT else {BEFORE_END: wanted}


class SlotKind(Kind):
    """A kind that reserves room for an ``amount`` of servers of one size on hosts that it may share with others."""

    pool = Pool.HOST

    def __init__(self, names: SlotNames | None = None) -> None:
        self._actuator = SlotActuator(names or SlotNames())

    @abstractmethod
    def size(self, reservation: Reservation) -> SlotSize:
        """What each server gets."""

    def preparing(self, old: Reservation | None, new: Reservation) -> Mapping[str, Any] | None:
        return affinity.preparing(old, new)

    def prepare(self, lease: Lease, reservation: Reservation, request: Request) -> Mapping[str, Any]:
        return affinity.make_group(lease, reservation, request)

    def withdraw(self, remembered: Mapping[str, Any], cloud: Cloud) -> None:
        affinity.remove_group(remembered, cloud)

    def activate(self, work: Work, cloud: Cloud) -> Outcome:
        return self._actuator.activate(work, cloud, self.size(work.reservation))

    def acts_for_user(self, reservation: Reservation) -> bool:
        """Snapshots are the user's own images, so the user makes them."""
        return reservation.parameters.get(BEFORE_END) == BeforeEnd.SNAPSHOT

    def before_end(self, work: Work, cloud: Cloud) -> Outcome:
        return self._actuator.snapshot(work, cloud) if self.acts_for_user(work.reservation) else Done()

    def deactivate(self, work: Work, cloud: Cloud) -> Outcome:
        return self._actuator.deactivate(work, cloud)


def check_active(current: Reservation, revised: Mapping[str, Any]) -> None:
    """An active reservation may only grow: its servers run with what it is made of. Raises Conflict."""
    if current.status is not ReservationStatus.ACTIVE:
        return
    if any(value != current.parameters.get(name) for name, value in revised.items() if name not in CHANGEABLE):
        raise Conflict("An active reservation only accepts to update amount.")
    if revised["amount"] < current.parameters["amount"]:
        raise CantUpdateParameter(param=f"amount of an active reservation to fewer than {current.parameters['amount']}")
