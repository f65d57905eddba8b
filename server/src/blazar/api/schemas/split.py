"""The body of a request that splits a lease."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from blazar.api.schemas.fields import Body, NameField, sentence
from blazar.api.schemas.leases import MAX_RESERVATIONS
from blazar.service import commands

MOST_UNITS = 2**31 - 1


def _id(value: object) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= 36:
        raise sentence("Malformed parameter id: the id of a reservation is expected.")
    return value


def _units(value: object) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not (is_number and 1 <= int(str(value)) <= MOST_UNITS):
        raise sentence("Malformed parameter units: a whole number from 1 on, or null, is expected.")
    return None if value is None else int(str(value))


def _some(value: object) -> object:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise sentence("Malformed parameter reservations: a list of objects is expected.")
    if not 1 <= len(value) <= MAX_RESERVATIONS:
        raise sentence(f"From 1 to {MAX_RESERVATIONS} reservations can go into another lease.")
    return value


class SplitReservation(Body):
    """A reservation that goes into the new lease. Unknown keys are ignored."""

    id: Annotated[
        str,
        BeforeValidator(_id),
        WithJsonSchema(
            {"type": "string", "minLength": 1, "maxLength": 36, "description": "A reservation of the lease."}
        ),
    ]
    units: Annotated[
        int | None,
        BeforeValidator(_units),
        WithJsonSchema(
            {
                "type": ["integer", "null"],
                "minimum": 1,
                "maximum": MOST_UNITS,
                "description": "How many of its hosts, servers or addresses go; all of them without it.",
            }
        ),
    ] = None


class LeaseSplit(Body):
    """What becomes a lease of its own. Unknown keys are ignored."""

    name: NameField
    reservations: Annotated[
        list[SplitReservation],
        BeforeValidator(_some),
        Field(
            min_length=1,
            max_length=MAX_RESERVATIONS,
            description="What goes into the new lease; the rest stays.",
        ),
    ]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        ids = [each.id for each in self.reservations]
        if len(set(ids)) < len(ids):
            raise sentence("Each reservation can be named only once in a request.")
        return self

    def command(self) -> commands.SplitLease:
        going = (commands.SplitReservation(each.id, each.units) for each in self.reservations)
        return commands.SplitLease(self.name, tuple(going))
