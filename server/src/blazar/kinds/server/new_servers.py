"""Servers that are booted at the start: by the user's trust, from a flavor that only the reservation has, so
that each finds the room that was kept for it.

Nova makes a new server with each request. So each server is marked with its reservation and its number, and
looked for before it is booted: a crash after the request, and before it was written down, boots none twice.
Where two requests were under way all the same, the later server goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from blazar.domain.errors import CloudRefused
from blazar.domain.lease.lease import Reservation, ReservationStatus
from blazar.domain.lease.outcome import Done, GiveUp, NotYet, Outcome
from blazar.kinds.aggregates import known_aggregate
from blazar.kinds.server.arrival import ASK_AGAIN, LOCKED, LOOK_AFTER
from blazar.kinds.server.departure import Departure, LeavingServer
from blazar.kinds.server.marks import NUMBER, RESERVATION, SERVER_ID, owner_of
from blazar.kinds.server.schema import ServerParameters
from blazar.kinds.slots import SlotActuator, SlotSize
from blazar.kinds.slots.actuator import shares
from blazar.kinds.trusts import NO_TRUST
from blazar.service.ports import Cloud, NewServer, Server
from blazar.service.ports.kind import Work

SERVERS = "servers"
"""In what a reservation remembers: the ids of its servers by their numbers."""
FAILED = "failed"
"""In what a reservation remembers: why a boot failed at last, when, and how many did; empty where none
did."""
MOST_PATIENT = timedelta(minutes=16)
"""The longest pause between boots that fail."""


@dataclass(frozen=True, slots=True)
class _Sight:
    """The reservation's servers as one look finds them, by number."""

    servers: Mapping[str, Server]
    doubles: Sequence[Server]
    """Those that another server with their number was there before."""


class NewServers:
    """Boots servers, and takes them away."""

    def __init__(self, slots: SlotActuator, departure: Departure) -> None:
        self._slots = slots
        self._departure = departure

    def activate(self, work: Work, cloud: Cloud, asked: ServerParameters) -> Outcome:
        """Have all servers on hosts that are kept for them. One that its user has deleted is not booted
        again; one whose host has failed is."""
        known = _remembered(work.reservation)
        sight = _look(work.reservation, cloud, known)
        known = {**known, **{number: server.id for number, server in sight.servers.items()}}
        for number in _stranded(work, cloud, sight):
            # With the host that is taken from the reservation goes what is on it.
            del known[number]
        outcome = self._slots.activate(work, cloud, size_of(asked))
        if isinstance(outcome, GiveUp):
            return outcome
        if isinstance(outcome, NotYet):
            return replace(outcome, cloud_state={**outcome.cloud_state, SERVERS: known})
        for double in sight.doubles:
            cloud.compute.delete_server(double.id)
        return self._booted(work, cloud, asked, sight, {**outcome.cloud_state, SERVERS: known})

    def deactivate(self, work: Work, cloud: Cloud, asked: ServerParameters) -> Outcome:
        """Do what was asked for with servers that have served, then take the room back, with all that is
        left in it."""
        if work.reservation.status is ReservationStatus.ACTIVE:
            outcome = self._departed(work, cloud, asked)
            if outcome is not None:
                return outcome
        return self._slots.deactivate(work, cloud)

    def _booted(
        self, work: Work, cloud: Cloud, asked: ServerParameters, sight: _Sight, state: Mapping[str, Any]
    ) -> Outcome:
        """Boot those that are not there yet, and wait for all."""
        known: dict[str, str] = dict(state[SERVERS])
        wanted = {number: name_of(asked, number) for number in numbers_of(asked)}
        has_served = work.reservation.status is ReservationStatus.ACTIVE
        there = {n: sight.servers[n] for n in wanted if n in sight.servers and n in known}
        if gone := [name for number, name in wanted.items() if number in known and number not in there]:
            return GiveUp(f"server {gone[0]} is gone: it was deleted")
        failing = [] if has_served else [n for n, server in there.items() if server.status == "ERROR"]
        if failing:
            return self._given_up(work, cloud, {n: there[n] for n in failing}, state)
        missing = [number for number in wanted if number not in known]
        if missing:
            return self._boot(work, cloud, asked, missing, state)
        building = [server.name for server in there.values() if server.status == "BUILD"]
        if building:
            return _waiting(_is_booted(building[0], work), state)
        return Done({**state, **self._locked(work, cloud, asked, known), FAILED: {}})

    def _boot(
        self,
        work: Work,
        cloud: Cloud,
        asked: ServerParameters,
        missing: Sequence[str],
        state: Mapping[str, Any],
    ) -> Outcome:
        failed = work.reservation.cloud_state.get(FAILED)
        if failed and work.now < datetime.fromisoformat(failed["at"]) + _pause_after(failed["times"]):
            return GiveUp(failed["reason"])
        user = owner_of(work.lease, cloud)
        if user is None:
            return GiveUp(f"server {name_of(asked, missing[0])} was not booted: {NO_TRUST}")
        known: dict[str, str] = dict(state[SERVERS])
        for number in missing:
            new = _new_server(work.reservation, asked, number)
            try:
                known[number] = user.compute.boot_server(new)
            except CloudRefused as refusal:
                reason = f"server {new.name} cannot be booted: {refusal.message}"
                return _waiting(reason, {**state, SERVERS: known, **_failure(reason, work)})
        return _waiting(_is_booted(name_of(asked, missing[0]), work), {**state, SERVERS: known})

    def _given_up(
        self, work: Work, cloud: Cloud, failing: Mapping[str, Server], state: Mapping[str, Any]
    ) -> Outcome:
        """Remove servers that Nova could not boot, so that they can be booted anew."""
        first = next(iter(failing.values()))
        details = cloud.compute.server(first.id)
        fault = (details and details.fault) or "Nova does not say why"
        reason = f"server {first.name} was not booted: {fault}"
        for server in failing.values():
            cloud.compute.delete_server(server.id)
        left = {number: each for number, each in state[SERVERS].items() if number not in failing}
        return _waiting(reason, {**state, SERVERS: left, **_failure(reason, work)})

    def _locked(
        self, work: Work, cloud: Cloud, asked: ServerParameters, known: Mapping[str, str]
    ) -> Mapping[str, Any]:
        """Lock the servers where their user asked for that; once, for the user may unlock them."""
        if not asked.locked or LOCKED in work.reservation.cloud_state:
            return {}
        user = owner_of(work.lease, cloud)
        if user is None:
            return {}
        for server_id in known.values():
            user.compute.lock_server(server_id)
        return {LOCKED: True}

    def _departed(self, work: Work, cloud: Cloud, asked: ServerParameters) -> Outcome | None:
        """Take the next step with each server, or wait for it; None when all are gone."""
        sight = _look(work.reservation, cloud, _remembered(work.reservation))
        waiting: list[NotYet] = []
        for server in sight.servers.values():
            details = cloud.compute.server(server.id)
            if details is None:
                continue
            if details.is_locked and asked.locked:
                cloud.compute.unlock_server(server.id)
            properties = {RESERVATION: work.reservation.id, SERVER_ID: server.id}
            leaving = LeavingServer(
                details, frozenset(asked.on_end), properties, f"ending {server.id}", may_be_shelved=False
            )
            outcome = self._departure.step(work, cloud, leaving)
            if isinstance(outcome, NotYet):
                waiting.append(outcome)
        if not waiting:
            return None
        after = [each.check_after for each in waiting if each.check_after is not None]
        state = {key: value for each in waiting for key, value in each.cloud_state.items()}
        return NotYet("; ".join(each.reason for each in waiting), min(after, default=None), state)


def size_of(asked: ServerParameters) -> SlotSize:
    """Return what each of the servers gets."""
    flavor = asked.reserved.flavor
    return SlotSize(flavor.vcpus, flavor.ram, flavor.disk, flavor.ephemeral, flavor.swap, flavor.extra_specs)


def numbers_of(asked: ServerParameters) -> Sequence[str]:
    return [str(number) for number in range(1, asked.amount + 1)]


def name_of(asked: ServerParameters, number: str) -> str:
    return asked.reserved.name if asked.amount == 1 else f"{asked.reserved.name}-{number}"


def _new_server(reservation: Reservation, asked: ServerParameters, number: str) -> NewServer:
    return NewServer(
        name=name_of(asked, number),
        image_id=asked.image_id or "",
        flavor_id=reservation.id,
        networks=asked.networks,
        key_name=asked.key_name,
        user_data=asked.user_data,
        security_groups=asked.security_groups,
        metadata={RESERVATION: reservation.id, NUMBER: number},
    )


def _look(reservation: Reservation, cloud: Cloud, known: Mapping[str, str]) -> _Sight:
    """Look for the reservation's servers. Its user may boot others of its flavor: those are not marked."""
    listed = cloud.compute.servers_of(reservation.id)
    servers: dict[str, Server] = {}
    doubles: list[Server] = []
    ours = [s for s in listed if s.metadata.get(RESERVATION) == reservation.id and not s.is_being_deleted]
    for server in sorted(ours, key=lambda s: (s.id not in known.values(), s.created or "", s.id)):
        number = server.metadata.get(NUMBER, "")
        if number in servers:
            doubles.append(server)
        elif number:
            servers[number] = server
    return _Sight(servers, doubles)


def _remembered(reservation: Reservation) -> Mapping[str, str]:
    remembered: Mapping[str, str] = reservation.cloud_state.get(SERVERS, {})
    return remembered


def _stranded(work: Work, cloud: Cloud, sight: _Sight) -> Sequence[str]:
    """Return the numbers of servers on a host that the reservation has no longer. An operator may have
    brought a server elsewhere: that one stays."""
    hosts = shares(work)
    others = {number: s.host for number, s in sight.servers.items() if s.host and s.host not in hosts}
    if not others:
        return []
    aggregate = known_aggregate(work.reservation, cloud.compute)
    left = aggregate.hosts if aggregate is not None else ()
    return [number for number, host in others.items() if host in left]


def _is_booted(name: str, work: Work) -> str:
    failed = work.reservation.cloud_state.get(FAILED)
    return f"server {name} is being booted" + (f" again, for {failed['reason']}" if failed else "")


def _failure(reason: str, work: Work) -> Mapping[str, Any]:
    times = work.reservation.cloud_state.get(FAILED, {}).get("times", 0) + 1
    return {FAILED: {"reason": reason, "at": work.now.isoformat(), "times": times}}


def _pause_after(times: int) -> timedelta:
    """Return how long nothing is booted after so many failures. Each pause is longer than the one before: so
    one of them is met by the end of the time for which starts are tried again."""
    growth: int = 2 ** min(times - 1, 10)
    return min(ASK_AGAIN * growth, MOST_PATIENT)


def _waiting(reason: str, state: Mapping[str, Any]) -> NotYet:
    """Return the outcome of a start that waits for Nova: until it is done, no host serves the reservation."""
    return NotYet(reason, LOOK_AFTER, state, serving=frozenset(), freed=frozenset())
