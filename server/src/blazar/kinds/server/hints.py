"""Leases that users ask for with a scheduler hint of a server that they boot, ``lease_params``.

The server is booted as any other. A look finds it by its hint, and its lease adopts it. What becomes of the
hint is in the server's metadata then: there its user sees it, and the next look that it is answered.

With backfill the scheduler may have booted it on a host of the freepool. There it stays, and its lease keeps
what it takes of this host. One without such a lease must not stay, whatever its metadata say, which are its
user's: at each look the lease itself is looked at."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from blazar.api.schemas.fields import validated
from blazar.api.schemas.leases import LeaseCreateByDuration
from blazar.domain.errors import BlazarError
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.kinds.aggregates import OF_RESERVATIONS, SERVER, NamedAggregate
from blazar.kinds.server import schema
from blazar.kinds.server.answers import LEASE, answer
from blazar.kinds.server.arrival import too_large
from blazar.kinds.shelving import NOT_YET, REFUSED, shelve
from blazar.service.commands import NOW, ReservationRequest
from blazar.service.context import Caller
from blazar.service.ports import LEASE_HINT, ChangedServer, Cloud, ServerDetails
from blazar.service.ports.kind import FoundLease, FoundLeases

HINT = LEASE_HINT
LONGEST_HINT = 65536
KEYS = {"start": "start_date", "end": "end_date", "name": "name", "duration": "duration"}
"""The keys of the hint, and their names in a lease."""
OVER = frozenset({LeaseStatus.TERMINATED, LeaseStatus.ERROR})
LATELY = timedelta(days=1)
"""How far back a look goes for servers that are deleted: what it misses has its end all the same."""
OTHERS = ("events", "reservation")
OF_RESERVATION = (schema.ON_END, schema.LOCKED, schema.PROPERTIES)
LEASES = UUID("6a1d6f0e-4c2b-5d7e-9a53-0c7c1f2e8b94")
"""The name space of the leases' ids: one server makes one lease, however often it is found."""


class _Malformed(Exception):
    """The hint is not what it has to be."""


class HintFinder:
    """Finds leases by the hints of servers."""

    name = "hints"
    begins = None

    def __init__(self, interval: timedelta, freepool: NamedAggregate | None = None) -> None:
        """With ``freepool`` servers with hints may run on its hosts."""
        self.interval = interval
        self._freepool = freepool

    def find(self, cloud: Cloud, since: datetime, now: datetime) -> FoundLeases:
        changed = cloud.compute.changed_servers(since)
        hinted = [each for each in changed.servers if HINT in each.hints and each.status not in NOT_YET]
        gone: Sequence[str] = ()
        if self._freepool is not None and changed.until is None:
            gone = [_lease_id(each) for each in cloud.compute.deleted_servers(max(since, now - LATELY))]
        return FoundLeases(self._found(hinted, cloud), changed.until, gone)

    def answer(self, found: FoundLease, outcome: Lease | str, cloud: Cloud) -> None:
        (request,) = found.command.reservations
        origin = request.parameters[schema.HINTED]
        if isinstance(origin, schema.StaysOn):
            server = cloud.compute.server(found.subject)
            if server is None or server.host != origin.host:
                return
            outcome = _staying(outcome, server)
            if isinstance(outcome, str):
                _leave(server, outcome, cloud)
                return
        if not found.is_answered:
            answer(found.subject, outcome, cloud)

    def _found(self, servers: Sequence[ChangedServer], cloud: Cloud) -> Iterator[FoundLease]:
        """Yield what hints ask for, and refuse what is malformed."""
        promised = self._promised(servers, cloud)
        for server in servers:
            is_answered = LEASE in server.metadata or REFUSED in server.metadata
            host = server.host if server.host in promised and not _is_reserved(server) else None
            if is_answered and host is None:
                continue
            try:
                yield _asked_for(server, host, is_answered)
            except (_Malformed, BlazarError) as refusal:
                reason = refusal.message if isinstance(refusal, BlazarError) else str(refusal)
                there = cloud.compute.server(server.id) if host is not None else None
                if there is not None:
                    _leave(there, f"{HINT}: {reason}", cloud)
                else:
                    answer(server.id, f"{HINT}: {reason}", cloud)

    def _promised(self, servers: Sequence[ChangedServer], cloud: Cloud) -> Collection[str]:
        """Return the hosts that are promised to leases: Nova is asked where any of the servers has one."""
        if self._freepool is None or all(each.host is None for each in servers):
            return ()
        found = self._freepool.find(cloud.compute)
        return frozenset(found.hosts) if found is not None else ()


def _is_reserved(server: ChangedServer) -> bool:
    """Return whether it was booted from a flavor of a reservation, which counts it."""
    return server.flavor.startswith(OF_RESERVATIONS)


def _staying(outcome: Lease | str, server: ServerDetails) -> Lease | str:
    """Return the outcome of a server that is on a host of the freepool: the reason why it has to leave, where
    its lease does not keep this host, or not as much of it."""
    if isinstance(outcome, str):
        return outcome
    if outcome.status in OVER:
        return "its lease is over"
    (reservation,) = outcome.reservations
    asked = schema.ServerParameters.model_validate(reservation.parameters)
    # An ordinary lease of a hint brings the server to a host that is kept for it.
    if asked.stays_on not in ("", server.host):
        return f"its lease keeps host {asked.stays_on} for it"
    return (too_large(asked, server) if asked.stays_on else None) or outcome


def _leave(server: ServerDetails, reason: str, cloud: Cloud) -> None:
    """Have the server leave its host, and tell why. It is found again as long as it changes."""
    if _is_expected(server, cloud):
        return
    if REFUSED not in server.metadata:
        answer(server.id, reason, cloud)
    if server.task_state is None:
        shelve(server.id, server.status, cloud)


def _is_expected(server: ServerDetails, cloud: Cloud) -> bool:
    """Return whether another reservation keeps the host for the server."""
    return any(
        each.metadata.get(SERVER) == server.id and server.host in each.hosts
        for each in cloud.compute.aggregates()
    )


def _lease_id(server_id: str) -> str:
    return str(uuid5(LEASES, server_id))


def _asked_for(server: ChangedServer, host: str | None, is_answered: bool) -> FoundLease:
    asked = _decoded(server.hints[HINT])
    if unknown := sorted(set(asked) - set(KEYS) - set(OTHERS)):
        known = ", ".join((*KEYS, *OTHERS))
        raise _Malformed(f"{unknown[0]!a} is not known: the keys are {known}")
    wanted = {KEYS[key]: value for key, value in asked.items() if key in KEYS}
    body = {"start_date": "now", **wanted, "events": asked.get("events")}
    lease = validated(LeaseCreateByDuration, body)
    parameters = {**_of_reservation(asked.get("reservation")), schema.SERVER_ID: server.id}
    command = lease.command()
    # One that starts later is put away until then, as anywhere.
    origin = schema.StaysOn(host) if host is not None and command.start == NOW else schema.BY_HINT
    request = ReservationRequest("instance:server", {**parameters, schema.HINTED: origin})
    command = replace(command, reservations=(request,), id=_lease_id(server.id))
    caller = Caller(server.user_id, server.project_id)
    return FoundLease(server.id, command, caller, lease.by_duration(), is_answered)


def _decoded(values: Sequence[str]) -> Mapping[str, Any]:
    try:
        found = json.loads(values[0]) if len(values) == 1 and len(values[0]) <= LONGEST_HINT else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _Malformed("it must be one JSON object, such as {'name': ..., 'start': ..., 'end': ...}")
    return found


def _of_reservation(asked: object) -> Mapping[str, Any]:
    if asked is None:
        return {}
    if not isinstance(asked, dict) or set(asked) - set(OF_RESERVATION):
        raise _Malformed(f"reservation must be an object with any of {', '.join(OF_RESERVATION)}")
    steps = asked.get(schema.ON_END)
    if steps is not None:
        schema.parse_on_end(steps)
    return asked
