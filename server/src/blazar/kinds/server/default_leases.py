"""Leases that ordinary servers get by the operator's rules, so that what its users forget is reclaimed.

Such a lease keeps no capacity: its server runs on where it is, and at the end it is shelved or deleted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid5

from blazar.api.schemas.fields import MAX_NAME, validated
from blazar.api.schemas.leases import LeaseCreateByDuration
from blazar.domain.errors import InvalidInput
from blazar.domain.lease.lease import Lease
from blazar.domain.time import MINUTE
from blazar.kinds.aggregates import OF_RESERVATIONS
from blazar.kinds.server import schema
from blazar.kinds.server.answers import LEASE, answer
from blazar.kinds.server.marks import RESERVATION
from blazar.kinds.server.rules import LeaseRule, LeaseTerms
from blazar.kinds.shelving import NOT_YET, REFUSED
from blazar.service.commands import NOW, ReservationRequest
from blazar.service.context import Caller
from blazar.service.ports import LEASE_HINT, ChangedServer, Cloud
from blazar.service.ports.kind import FoundLease, FoundLeases

LEASES = UUID("b3a0c3f4-7d1e-5b86-8f2a-51d09c64e7a2")
"""The name space of the leases' ids: a server gets one default lease."""
INTO_RESERVATION = "reservation"
"""The hint by which a server is booted onto the hosts of a reservation."""
LATELY = timedelta(days=1)
"""How far back a look goes for servers that are deleted: what it misses has its end all the same."""
EVER = datetime(2010, 1, 1, tzinfo=UTC)
"""Before there was any Nova."""


@dataclass(frozen=True, slots=True)
class DefaultLeaseSettings:
    """``rules`` are tried in their order. Before ``start`` no lease starts. Servers with the tag
    ``exempt_tag`` get none; servers that were there before get one with ``includes_existing``."""

    rules: Sequence[LeaseRule]
    interval: timedelta
    start: datetime | None = None
    exempt_tag: str = ""
    includes_existing: bool = False
    are_hints_read: bool = False
    """Whether servers with the hint get the lease that it asks for."""


class DefaultLeaseFinder:
    """Finds servers that get a lease by a rule."""

    def __init__(self, settings: DefaultLeaseSettings) -> None:
        self._settings = settings
        self.interval = settings.interval
        self.begins = EVER if settings.includes_existing else None
        # By a name of its own the first look over all happens, whenever the operator begins to want it.
        self.name = "default_leases_of_all" if settings.includes_existing else "default_leases"

    def find(self, cloud: Cloud, since: datetime, now: datetime) -> FoundLeases:
        changed = cloud.compute.changed_servers(since)
        deleted = cloud.compute.deleted_servers(max(since, now - LATELY)) if changed.until is None else ()
        gone = [_lease_id(server_id) for server_id in deleted]
        return FoundLeases(self._found(changed.servers, now), changed.until, gone)

    def answer(self, found: FoundLease, outcome: Lease | str, cloud: Cloud) -> None:
        answer(found.subject, outcome, cloud)

    def _found(self, servers: Iterable[ChangedServer], now: datetime) -> Iterator[FoundLease]:
        for server in servers:
            if self._is_ordinary(server):
                rule = next(rule for rule in self._settings.rules if rule.applies_to(server))
                if rule.terms is not None:
                    yield self._lease_of(server, rule.terms, now)

    def _is_ordinary(self, server: ChangedServer) -> bool:
        """Return whether the server is in no reservation, is not exempt, and has no answer yet."""
        if LEASE_HINT in server.hints:
            # With a hint that was refused it is a server like any other.
            is_answered = self._settings.are_hints_read and REFUSED not in server.metadata
        else:
            is_answered = REFUSED in server.metadata
        return not (
            is_answered
            or server.status in NOT_YET
            or LEASE in server.metadata
            or RESERVATION in server.metadata
            or INTO_RESERVATION in server.hints
            or server.flavor.startswith(OF_RESERVATIONS)
            or self._settings.exempt_tag in server.tags
        )

    def _lease_of(self, server: ChangedServer, terms: LeaseTerms, now: datetime) -> FoundLease:
        start = self._settings.start
        is_later = start is not None and start > now
        begin = start if start is not None and is_later else now
        lease = _named(server, terms.length)
        parameters = {schema.SERVER_ID: server.id, schema.ON_END: list(terms.on_end)}
        request = ReservationRequest("instance:server", {**parameters, schema.HINTED: schema.BY_RULE})
        command = replace(
            lease.command(),
            start=begin if is_later else NOW,
            before_end=begin + terms.length - terms.warning,
            reservations=(request,),
            id=_lease_id(server.id),
        )
        return FoundLease(server.id, command, Caller(server.user_id, server.project_id), lease.by_duration())


def _lease_id(server_id: str) -> str:
    return str(uuid5(LEASES, server_id))


def _named(server: ChangedServer, length: timedelta) -> LeaseCreateByDuration:
    """Return a lease of this length with the server's name, as far as a lease may be called so."""
    body = {"start_date": "now", "duration": length // MINUTE}
    try:
        return validated(LeaseCreateByDuration, {**body, "name": server.name[:MAX_NAME]})
    except InvalidInput:
        return validated(LeaseCreateByDuration, {**body, "name": server.id})
