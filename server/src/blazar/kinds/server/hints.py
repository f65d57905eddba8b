"""Leases that users ask for with a scheduler hint of a server that they boot, ``lease_params``.

The server is booted as any other. A look finds it by its hint, and its lease adopts it. What becomes of the
hint is in the server's metadata then: there its user sees it, and the next look that it is answered."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from blazar.api.schemas.fields import validated
from blazar.api.schemas.leases import LeaseCreateByDuration
from blazar.domain.errors import BlazarError
from blazar.domain.lease.lease import Lease
from blazar.kinds.server import schema
from blazar.kinds.server.answers import LEASE, NOT_YET, REFUSED, answer
from blazar.service.commands import ReservationRequest
from blazar.service.context import Caller
from blazar.service.ports import ChangedServer, Cloud
from blazar.service.ports.kind import FoundLease, FoundLeases

HINT = "lease_params"
LONGEST_HINT = 65536
KEYS = {"start": "start_date", "end": "end_date", "name": "name", "duration": "duration"}
"""The keys of the hint, and their names in a lease."""
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

    def __init__(self, interval: timedelta) -> None:
        self.interval = interval

    def find(self, cloud: Cloud, since: datetime, now: datetime) -> FoundLeases:
        changed = cloud.compute.changed_servers(since)
        return FoundLeases(_found(changed.servers, cloud), changed.until)

    def answer(self, found: FoundLease, outcome: Lease | str, cloud: Cloud) -> None:
        answer(found.subject, outcome, cloud)


def _found(servers: Iterable[ChangedServer], cloud: Cloud) -> Iterator[FoundLease]:
    """Yield what hints ask for, and refuse what is malformed."""
    for server in filter(_is_to_be_answered, servers):
        try:
            asked = _asked_for(server)
        except (_Malformed, BlazarError) as refusal:
            reason = refusal.message if isinstance(refusal, BlazarError) else str(refusal)
            answer(server.id, f"{HINT}: {reason}", cloud)
        else:
            yield asked


def _is_to_be_answered(server: ChangedServer) -> bool:
    is_answered = LEASE in server.metadata or REFUSED in server.metadata
    return HINT in server.hints and server.status not in NOT_YET and not is_answered


def _asked_for(server: ChangedServer) -> FoundLease:
    asked = _decoded(server.hints[HINT])
    if unknown := sorted(set(asked) - set(KEYS) - set(OTHERS)):
        known = ", ".join((*KEYS, *OTHERS))
        raise _Malformed(f"{unknown[0]!a} is not known: the keys are {known}")
    wanted = {KEYS[key]: value for key, value in asked.items() if key in KEYS}
    body = {"start_date": "now", **wanted, "events": asked.get("events")}
    lease = validated(LeaseCreateByDuration, body)
    parameters = {**_of_reservation(asked.get("reservation")), schema.SERVER_ID: server.id}
    request = ReservationRequest("instance:server", {**parameters, schema.HINTED: schema.BY_HINT})
    command = replace(lease.command(), reservations=(request,), id=str(uuid5(LEASES, server.id)))
    return FoundLease(
        server.id,
        command,
        Caller(server.user_id, server.project_id),
        lease.by_duration(),
    )


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
    if steps is not None and schema.Step.CREATE_IMAGE in schema.parse_on_end(steps):
        raise _Malformed("create_image is for leases that are made with this service's API: images are yours")
    return asked
