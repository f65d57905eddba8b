"""The preparation of a lease: what is looked up and made in the cloud while the caller waits, because it
takes the caller's own rights: server groups that the answer must show, and the trust by which the service
acts for the user later on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum
from typing import Any

from blazar.domain.errors import BlazarError, CloudRefused, CloudUnavailable, InvalidInput
from blazar.domain.lease.lease import Lease, Reservation
from blazar.service.context import Caller
from blazar.service.ports import Clock, Cloud
from blazar.service.ports.kind import Kinds, OtherSize, RequestContext
from blazar.service.private_properties import PrivateProperties
from blazar.service.request_cloud import for_undo, within_request

LOG = logging.getLogger(__name__)
TRUST_MARGIN = timedelta(days=30)
"""How long after the lease's end its trust expires by itself: long enough for an operator to prolong the
lease."""


class TrustStep(Enum):
    """The fate of a lease's trust in a request."""

    KEEP = "keep"
    MAKE = "make"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class Task:
    """The work of a preparation: what a request has to make. ``marks`` are what reservations remember
    meanwhile, by reservation id."""

    marks: Mapping[str, Mapping[str, Any]]
    trust: TrustStep = TrustStep.KEEP

    def marked(self, lease: Lease) -> Lease:
        return _with_memory(lease, self.marks)


class Preparation:
    """The part of a request that is done in the cloud. Kinds that need nothing cost nothing."""

    def __init__(
        self,
        cloud: Cloud,
        kinds: Kinds,
        private: PrivateProperties,
        clock: Clock,
        is_unfinished: Callable[[str], bool],
    ) -> None:
        self._cloud = cloud
        self._kinds = kinds
        self._private = private
        self._clock = clock
        self._is_unfinished = is_unfinished

    def complete(self, old: Lease | None, new: Lease, caller: Caller) -> Lease:
        """Return the lease ``new`` with what the cloud has to say about those parameters of reservations that
        ``old`` has not. Raises NotEnoughResources where the caller asks for private properties."""
        request = self._request(caller)

        def complete(reservation: Reservation) -> Reservation:
            before = old.reservation(reservation.id) if old else None
            if before is not None and before.parameters == reservation.parameters:
                return reservation
            kind = self._kinds[reservation.resource_type]
            completed = kind.complete(kind.asked(reservation), request)
            asking = replace(reservation, parameters=kind.encode(completed))
            self._private.check(before, asking, caller)
            return asking

        return replace(new, reservations=tuple(complete(r) for r in new.reservations))

    def other_sizes(self, reservation: Reservation, caller: Caller) -> Sequence[OtherSize[Any]]:
        """Return other sizes for the reservation. Raises CloudUnavailable, CloudRefused."""
        kind = self._kinds[reservation.resource_type]
        return kind.other_sizes(kind.asked(reservation), self._request(caller))

    def _request(self, caller: Caller, region: str | None = None) -> RequestContext:
        cloud = within_request(self._cloud, caller, self._clock).in_region(region)
        return RequestContext(caller, cloud, self._is_unfinished)

    def task(self, old: Lease | None, new: Lease, caller: Caller) -> Task | None:
        """Return what ``new`` needs that ``old`` has not; None where that is nothing."""
        marks = {}
        for reservation in new.reservations:
            before = old.reservation(reservation.id) if old else None
            mark = self._kinds[reservation.resource_type].preparing(before, reservation)
            if mark is not None:
                marks[reservation.id] = mark
        trust = self._trust_step(old, new, caller)
        return Task(marks, trust) if marks or trust is not TrustStep.KEEP else None

    def _trust_step(self, old: Lease | None, new: Lease, caller: Caller) -> TrustStep:
        known = old.trust_id if old else None
        if not any(self._kinds[r.resource_type].acts_for_user(r) for r in new.reservations):
            return TrustStep.DROP if known else TrustStep.KEEP
        if old is None or known is None:
            return TrustStep.MAKE
        if caller.token is None or caller.project_id != new.project_id:
            # An operator changes a user's lease: the user's trust stays as it is, good or not.
            return TrustStep.KEEP
        if new.interval.end > old.interval.end:
            return TrustStep.MAKE
        return TrustStep.KEEP if self._may_stay(known, caller) else TrustStep.MAKE

    def _may_stay(self, trust_id: str, caller: Caller) -> bool:
        """Return whether the trust is good as far as Keystone tells: a lease can be ended without that."""
        identity = within_request(self._cloud, caller, self._clock).identity
        try:
            return identity.is_trust_valid(trust_id)
        except (CloudRefused, CloudUnavailable) as failure:
            LOG.warning(
                "Trust %s stays, for Keystone does not tell whether it is good: %s", trust_id, failure
            )
            return True

    def require_rights(self, lease: Lease, task: Task | None, caller: Caller) -> None:
        """Raise InvalidInput where ``make`` would, for the caller has no rights in the lease's project."""
        if task is not None:
            self._request(caller).own_cloud(lease.project_id)
            if task.trust is TrustStep.MAKE:
                _require_roles(caller)

    def make(self, lease: Lease, task: Task, caller: Caller) -> Lease:
        """Return the lease with what was made for it. What was made before a failure is removed again.

        Raises CloudUnavailable also where that is not possible now."""
        ready = lease
        try:
            for reservation_id in task.marks:
                reservation = ready.reservation(reservation_id)
                assert reservation is not None  # noqa: S101 - the marks were made for this lease
                within = self._request(caller, reservation.region)
                made = self._kinds[reservation.resource_type].prepare(lease, reservation, within)
                ready = _with_memory(ready, {reservation_id: made})
            if task.trust is TrustStep.MAKE:
                ready = replace(ready, trust_id=_trust(lease, self._request(caller)))
            elif task.trust is TrustStep.DROP:
                ready = replace(ready, trust_id=None)
        except BlazarError as failure:
            if self.discard(ready, lease):
                raise
            reason = f"{failure.message} What was made until then is removed later."
            raise CloudUnavailable(service="The cloud", reason=reason) from failure
        return ready

    def discard(self, lease: Lease, kept: Lease) -> bool:
        """Remove what was made for ``lease`` and is not part of ``kept``. Return whether nothing of it is
        left.

        What cannot be removed now is found when the reservation is released; a trust expires."""
        cloud = for_undo(self._cloud)
        is_gone = True
        for reservation in lease.reservations:
            other = kept.remembered(reservation.id)
            stays = other.cloud_state if other else {}
            gone = {
                name: value for name, value in reservation.cloud_state.items() if stays.get(name) != value
            }
            if gone:
                try:
                    within = cloud.in_region(reservation.region)
                    self._kinds[reservation.resource_type].withdraw(gone, within)
                except BlazarError as failure:
                    LOG.warning("Reservation %s keeps %s for now: %s", reservation.id, sorted(gone), failure)
                    is_gone = False
        if lease.trust_id not in (None, kept.trust_id):
            release_trust(lease, cloud)
        return is_gone


def release_trust(lease: Lease, cloud: Cloud) -> bool:
    """Remove the lease's trust; false where that has to be tried again."""
    if lease.trust_id is None:
        return True
    try:
        cloud.identity.delete_trust(lease.trust_id)
    except BlazarError as failure:
        LOG.warning("The trust of lease %s is still there: %s", lease.id, failure)
        return False
    return True


def _trust(lease: Lease, request: RequestContext) -> str:
    caller = request.caller
    _require_roles(caller)
    expires_at = lease.interval.end + TRUST_MARGIN
    identity = request.own_cloud(lease.project_id).identity
    return identity.create_trust(caller.user_id, lease.project_id, caller.roles, expires_at)


def _require_roles(caller: Caller) -> None:
    if not caller.roles:
        raise InvalidInput("This needs a token with roles in the lease's project.")


def _with_memory(lease: Lease, memories: Mapping[str, Mapping[str, Any]]) -> Lease:
    return replace(
        lease,
        reservations=tuple(
            _remembering(r, memories[r.id]) if r.id in memories else r for r in lease.reservations
        ),
    )


def _remembering(reservation: Reservation, memory: Mapping[str, Any]) -> Reservation:
    merged = {
        name: value for name, value in {**reservation.cloud_state, **memory}.items() if value is not None
    }
    return replace(reservation, cloud_state=merged)
