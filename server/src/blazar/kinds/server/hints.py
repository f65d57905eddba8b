"""Leases that users ask for with a scheduler hint of a server that they boot, ``lease_params``.

The server is booted as any other. A look finds it by its hint, and its lease adopts it. What becomes of the
hint is in the server's metadata then: there its user sees it, and the next look that it is answered."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from blazar.api.schemas.fields import validated
from blazar.api.schemas.leases import LeaseCreateByDuration
from blazar.domain.errors import BlazarError, CloudRefused
from blazar.domain.lease.lease import Lease
from blazar.kinds.server import schema
from blazar.service.commands import ReservationRequest
from blazar.service.context import Caller
from blazar.service.ports import Cloud, HintedServer
from blazar.service.ports.kind import HintedLease

LOG = logging.getLogger(__name__)
HINT = "lease_params"
LEASE = "blazar_lease"
"""The key of the lease's id in the metadata of a server whose lease was made."""
REFUSED = "blazar_lease_error"
"""The key of the reason in the metadata of a server that gets no lease."""
LONGEST_VALUE = 255
"""Characters of a value of metadata, as Nova takes them."""
LONGEST_HINT = 65536
KEYS = {"start": "start_date", "end": "end_date", "name": "name", "duration": "duration"}
"""The keys of the hint, and their names in a lease."""
OTHERS = ("events", "reservation")
OF_RESERVATION = (schema.ON_END, schema.LOCKED, schema.PROPERTIES)
LEASES = UUID("6a1d6f0e-4c2b-5d7e-9a53-0c7c1f2e8b94")
"""The name space of the leases' ids: one server makes one lease, however often it is found."""
NOT_YET = frozenset({"BUILD", "REBUILD", "RESIZE", "VERIFY_RESIZE", "REVERT_RESIZE", "MIGRATING"})
"""The statuses in which Nova is at a server: it changes once more, and is found then."""


class _Malformed(Exception):
    """The hint is not what it has to be."""


def hinted(cloud: Cloud, since: datetime) -> Iterable[HintedLease]:
    """Return what hints have asked for since then, and refuse what is malformed."""
    for server in cloud.compute.hinted_servers(since):
        if HINT not in server.hints or server.status in NOT_YET or _is_answered(server):
            continue
        try:
            hinted_lease = _hinted_lease(server)
        except (_Malformed, BlazarError) as refusal:
            reason = refusal.message if isinstance(refusal, BlazarError) else str(refusal)
            answer(server.id, f"{HINT}: {reason}", cloud)
        else:
            yield hinted_lease


def answer(server_id: str, outcome: Lease | str, cloud: Cloud) -> None:
    """Write into the server's metadata what became of its hint."""
    if isinstance(outcome, Lease):
        key, value = LEASE, outcome.id
    else:
        key, value = REFUSED, outcome[:LONGEST_VALUE]
        LOG.info("Server %s gets no lease: %s", server_id, value)
    try:
        cloud.compute.set_server_metadata(server_id, key, value)
    except CloudRefused as refusal:
        # Its metadata are full: it is found again, and has the same lease.
        LOG.warning("Server %s cannot be told about its lease: %s", server_id, refusal.message)


def _is_answered(server: HintedServer) -> bool:
    return LEASE in server.metadata or REFUSED in server.metadata


def _hinted_lease(server: HintedServer) -> HintedLease:
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
    return HintedLease(
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
