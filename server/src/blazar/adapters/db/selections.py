"""Pieces of statements that several repositories use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

from sqlalchemy import Column, ColumnElement, DateTime, Select, Table, Text, or_, select, true, type_coerce

from blazar.adapters.db import tables
from blazar.domain.lease.lease import LeaseStatus

T = TypeVar("T")

CHUNK = 500
"""How many ids one statement compares: planners and drivers get slow with more, SQLite refuses very many."""


OFFERED = "OFFERED"
"""The status in the row of an offer, which no lease has."""
IS_OFFER = tables.leases.c.status == OFFERED
MAINTENANCE = "MAINTENANCE"
"""The status in the row of a maintenance, which no lease has."""
LIFETIME = "LIFETIME"
"""The status in the row of what bounds the lifetime of a resource."""
BUFFER = "BUFFER"
"""The status in the row of the buffer."""
IS_MAINTENANCE = tables.leases.c.status.in_([MAINTENANCE, LIFETIME, BUFFER])
IS_LEASE = tables.leases.c.status.not_in([MAINTENANCE, OFFERED, LIFETIME, BUFFER])
IS_NOT_TERMINATED = or_(
    tables.leases.c.status < LeaseStatus.TERMINATED.value,
    tables.leases.c.status > LeaseStatus.TERMINATED.value,
)
"""As two ranges of an index: with ``!=``, SQLite and PostgreSQL read all leases, also those that are over."""


def chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for first in range(0, len(items), CHUNK):
        yield items[first : first + CHUNK]


def allocations_where(*conditions: ColumnElement[bool]) -> Select[Any]:
    """Select allocations as AllocationReader expects them."""
    return select(*_columns(tables.allocations, tables.allocations.c.bound)).where(*conditions)


def surplus_where(*conditions: ColumnElement[bool]) -> Select[Any]:
    """Select surplus as AllocationReader expects it."""
    return select(*_columns(tables.surplus, true())).where(*conditions)


def _columns(table: Table, bound: ColumnElement[bool]) -> Sequence[ColumnElement[Any]]:
    c = table.c
    # Raw values: the reader converts each distinct one once, which the column types would do for each row.
    return (
        c.id,
        c.lease_id,
        c.reservation_id,
        c.resource_id,
        _raw(c.start_date),
        _raw(c.end_date),
        type_coerce(c.claim, Text()),
        c.slots,
        bound,
        _raw(c.created_at),
    )


def registrations_where(*conditions: ColumnElement[bool]) -> Select[Any]:
    """Select resources as RegistrationReader expects them."""
    return select(*_registration_columns({"digits", "changes"})).where(*conditions)


def listed_registrations() -> Select[Any]:
    """Select resources as ``rows.to_listed`` expects them, without what no list shows."""
    r = tables.resources.c
    moments = (r.created_at, r.updated_at, r.failed_at, r.back_at)
    texts = (type_coerce(each, Text()).label(each.name) for each in (r.facts, r.capabilities))
    raw = (_raw(each).label(each.name) for each in moments)
    return select(
        r.id, r.pool, r.name, *texts, r.reservable, r.generation, *raw, r.failure_reason, r.cloud_id
    )


def _registration_columns(omitted: AbstractSet[str]) -> Sequence[ColumnElement[Any]]:
    texts = {"facts", "capabilities", "traits", "inventory"}
    return [
        type_coerce(c, Text()).label(c.name) if c.name in texts else c
        for c in tables.resources.c
        if c.name not in omitted
    ]


def _raw(moment: Column[Any]) -> ColumnElement[Any]:
    return type_coerce(moment, DateTime())
