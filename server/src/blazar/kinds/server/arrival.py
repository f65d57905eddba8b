"""The way of a server to its start: shelved until then, and back onto the host that is kept for it.

Each look compares the server with what it should be, and asks Nova for the next step at the most, which Nova
does later. So every verb may be repeated at any time. The shelving is the user's own act, by the lease's
trust. To name a host is an administrator's right, so the service itself unshelves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from blazar.domain.errors import Conflict, MalformedParameter
from blazar.domain.lease.lease import ReservationStatus
from blazar.domain.lease.outcome import Done, GiveUp, NotYet, Outcome
from blazar.kinds.aggregates import AGGREGATE_ID, known_aggregate, service_name
from blazar.kinds.preemptibles import Preemptibles, making_way
from blazar.kinds.server.marks import ON_A_HOST, expected_metadata, other_reservation, owner_of, set_mark
from blazar.kinds.server.schema import ServerParameters
from blazar.kinds.slots.needs import needs_of
from blazar.kinds.slots.source_flavor import SourceFlavor
from blazar.kinds.trusts import NO_TRUST
from blazar.service.ports import Aggregate, Cloud, ServerDetails
from blazar.service.ports.kind import Work

PUT_AWAY = "put_away"
"""In what a reservation remembers: the server was seen off its host, so one that runs was brought up by its
user."""
ASKED = "asked"
"""In what a reservation remembers: the host onto which Nova was asked to unshelve the server, and when."""
LOCKED = "locked"
"""In what a reservation remembers: the server was locked, as its user asked."""
OFFLOADED, SHELVED = "SHELVED_OFFLOADED", "SHELVED"
LOOK_AFTER = timedelta(seconds=1)
ASK_AGAIN = timedelta(seconds=30)
"""After which a host is tried again that did not take the server."""


class Arrival:
    """Puts a server away, and brings it to its host."""

    def __init__(self, owner_key: str, preemptibles_make_way: bool = False) -> None:
        self._owner_key = owner_key
        self._preemptibles = Preemptibles(preemptibles_make_way)

    def make_ready(self, work: Work, cloud: Cloud, asked: ServerParameters) -> Outcome:
        """Have the server shelved and off its host."""
        server = cloud.compute.server(asked.adopted_id)
        if server is None:
            return _gone(asked)
        outcome = self._put_away(work, cloud, server, asked)
        if isinstance(outcome, Done):
            return Done({**outcome.cloud_state, **_locked(work, cloud, server, asked)})
        return outcome

    def activate(self, work: Work, cloud: Cloud, asked: ServerParameters) -> Outcome:
        """Have the server run on its host, unless its user has brought it up elsewhere or put it away."""
        server = cloud.compute.server(asked.adopted_id)
        if server is None:
            return _gone(asked)
        if reason := _taken(server, work):
            return GiveUp(reason)
        host = _host(work)
        if host is None:
            return GiveUp(f"no host is left for server {server.name}")
        aggregate = self._kept(work, cloud, asked, host, server)
        known: dict[str, Any] = {AGGREGATE_ID: aggregate.id}
        if server.task_state is not None:
            return _waiting(_busy(server), known)
        has_served = work.reservation.status is ReservationStatus.ACTIVE
        was_put_away = has_served or work.reservation.cloud_state.get(PUT_AWAY, False)
        if server.status in ON_A_HOST:
            if server.host != host and server.host in aggregate.hosts:
                reason = f"server {server.name} is on host {server.host}: an administrator has to evacuate it"
                return _waiting(reason, known)
            if server.host == host or was_put_away:
                # One that was shelved when it was reserved could not be marked before.
                set_mark(server, work.reservation.id, cloud.compute)
                return Done({**known, PUT_AWAY: True, **_locked(work, cloud, server, asked)})
        elif server.status == OFFLOADED:
            if has_served:
                return Done(known)
            if host not in aggregate.hosts:
                # Schedulers hear of it some moments after Nova has answered.
                return _waiting(f"host {host} is being kept for server {server.name}", known)
            preempted = self._preemptibles.leave([host], cloud).require()
            if waiting := making_way(preempted.values()):
                return _waiting(waiting[0], known)
            return self._unshelve(work, cloud, asked, server, host, known)
        elif server.status == SHELVED and has_served:
            return Done(known)
        outcome = self._put_away(work, cloud, server, asked)
        if isinstance(outcome, NotYet):
            return _waiting(outcome.reason, known)
        return outcome

    def stay(self, cloud: Cloud, asked: ServerParameters) -> Outcome:
        """Leave the server where it is. One that its user has put away or moved since is left so."""
        return _gone(asked) if cloud.compute.server(asked.adopted_id) is None else Done()

    def _put_away(self, work: Work, cloud: Cloud, server: ServerDetails, asked: ServerParameters) -> Outcome:
        """Mark the server as the reservation's, and have it leave its host."""
        reservation = work.reservation
        if reason := _taken(server, work):
            return GiveUp(reason)
        user = owner_of(work.lease, cloud, asked.is_hinted)
        if user is None:
            return GiveUp(f"server {server.name} was not shelved: {NO_TRUST}")
        set_mark(server, reservation.id, user.compute)
        if server.task_state is not None:
            return NotYet(_busy(server), LOOK_AFTER)
        if server.status == OFFLOADED:
            return Done({PUT_AWAY: True})
        if server.status == SHELVED:
            cloud.compute.offload_server(server.id)
        elif server.status in ON_A_HOST:
            user.compute.shelve_server(server.id)
        elif server.status == "ERROR":
            return GiveUp(
                f"server {server.name} is in status ERROR: {server.fault or 'Nova does not say why'}"
            )
        else:
            return NotYet(f"server {server.name} is in status {server.status}", LOOK_AFTER)
        return NotYet(f"server {server.name} is being shelved", LOOK_AFTER)

    def _unshelve(
        self,
        work: Work,
        cloud: Cloud,
        asked: ServerParameters,
        server: ServerDetails,
        host: str,
        known: Mapping[str, Any],
    ) -> Outcome:
        if reason := too_large(asked, server):
            return GiveUp(reason)
        before = work.reservation.cloud_state.get(ASKED, {})
        # Nova is at it from the moment on at which it is asked, so it has failed where nothing is seen of it.
        if before.get("host") == host and work.now < datetime.fromisoformat(before["at"]) + ASK_AGAIN:
            return GiveUp(f"Nova did not bring server {server.name} up on host {host}, which is kept for it")
        cloud.compute.unshelve_server(server.id, host)
        asking = {**known, PUT_AWAY: True, ASKED: {"host": host, "at": work.now.isoformat()}}
        return _waiting(f"server {server.name} is being unshelved", asking)

    def _kept(
        self, work: Work, cloud: Cloud, asked: ServerParameters, host: str, server: ServerDetails
    ) -> Aggregate:
        """Have the reservation's aggregate, with the host, and no other but the one where the server is
        still, or where Nova may be bringing it up. Return it as it was before."""
        compute = cloud.compute
        wanted = expected_metadata(work.lease, work.reservation, asked.adopted_id, self._owner_key)
        aggregate = known_aggregate(work.reservation, compute)
        if aggregate is None or not wanted.items() <= aggregate.metadata.items():
            aggregate = compute.create_aggregate(work.reservation.id, None, wanted)
        if host not in aggregate.hosts:
            compute.add_host(aggregate.id, host)
        for other in aggregate.hosts if server.task_state is None else ():
            if other not in (host, server.host):
                compute.remove_host(aggregate.id, other)
        return aggregate


def _locked(work: Work, cloud: Cloud, server: ServerDetails, asked: ServerParameters) -> Mapping[str, Any]:
    """Lock the server in the user's name, where its user asked for that; once, for the user may unlock it.
    Return what the reservation remembers of it."""
    if not asked.locked or LOCKED in work.reservation.cloud_state:
        return {}
    user = owner_of(work.lease, cloud, asked.is_hinted)
    if user is None:
        return {}
    user.compute.lock_server(server.id)
    return {LOCKED: True}


def _waiting(reason: str, known: Mapping[str, Any]) -> NotYet:
    """Return the outcome of a start that waits for Nova: until it is done, no host serves the reservation."""
    return NotYet(reason, LOOK_AFTER, known, serving=frozenset(), freed=frozenset())


def _host(work: Work) -> str | None:
    hosts = (service_name(work, allocation.resource_id) for allocation in work.reservation.allocations)
    return next((host for host in hosts if host is not None), None)


def _gone(asked: ServerParameters) -> GiveUp:
    return GiveUp(f"server {asked.reserved.name} ({asked.adopted_id}) is gone: it was deleted")


def _taken(server: ServerDetails, work: Work) -> str | None:
    other = other_reservation(server, work.is_unfinished, work.reservation.id)
    return f"server {server.name} is in reservation {other}" if other else None


def _busy(server: ServerDetails) -> str:
    return f"Nova is at server {server.name}: {server.task_state}"


def too_large(asked: ServerParameters, server: ServerDetails) -> str | None:
    """Return why the server does not fit into what is kept for it: its user has resized it."""
    reserved = needs_of(asked.reserved.flavor).amounts
    try:
        now = needs_of(
            SourceFlavor.model_validate({**asdict(server.flavor), "id": server.flavor.name})
        ).amounts
    except (Conflict, MalformedParameter) as refusal:
        return refusal.message
    larger = [f"{amount} {name}" for name, amount in sorted(now.items()) if amount > reserved.get(name, 0)]
    return (
        f"server {server.name} was resized to {', '.join(larger)}: more than is kept for it"
        if larger
        else None
    )
