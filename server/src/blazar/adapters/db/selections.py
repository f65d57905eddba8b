"""Pieces of statements that several repositories use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from sqlalchemy import Column, ColumnElement, DateTime, Select, Text, select, type_coerce

from blazar.adapters.db import tables

T = TypeVar("T")

CHUNK = 500
"""How many ids one statement compares: planners and drivers get slow with more, SQLite refuses very many."""


def chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for first in range(0, len(items), CHUNK):
        yield items[first : first + CHUNK]


def allocations_where(*conditions: ColumnElement[bool]) -> Select[Any]:
    """Select allocations as AllocationReader expects them."""
    a = tables.allocations.c
    # Raw values: the reader converts each distinct one once, which the column types would do for each row.
    columns = (
        a.id,
        a.lease_id,
        a.reservation_id,
        a.resource_id,
        _raw(a.start_date),
        _raw(a.end_date),
        type_coerce(a.claim, Text()),
        a.slots,
        a.bound,
        _raw(a.created_at),
    )
    return select(*columns).where(*conditions)


def registrations_where(*conditions: ColumnElement[bool]) -> Select[Any]:
    """Select resources as RegistrationReader expects them."""
    texts = {"facts", "capabilities", "traits", "inventory"}
    columns = [type_coerce(c, Text()).label(c.name) if c.name in texts else c for c in tables.resources.c]
    return select(*columns).where(*conditions)


def _raw(moment: Column[Any]) -> ColumnElement[Any]:
    return type_coerce(moment, DateTime())
