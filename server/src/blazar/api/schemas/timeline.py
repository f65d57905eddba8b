"""The query of the timeline."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema

from blazar.api.schemas.capacity import Word
from blazar.api.schemas.fields import DATE_SCHEMA, parse_date, sentence
from blazar.api.schemas.queries import Query
from blazar.domain.errors import InvalidDate
from blazar.service.timeline import MOST_ROWS, TimelineQuestion

LAST_ROW = 10_000_000
MAX_SEARCH = 100


def _date(value: str) -> datetime:
    try:
        return parse_date(value)
    except InvalidDate as error:
        raise sentence(error.message) from None


def _number(least: int, most: int) -> BeforeValidator:
    def number(value: str, info: ValidationInfo) -> int:
        if not (value.isascii() and value.isdecimal() and len(value) < 9 and least <= int(value) <= most):
            raise sentence(f"Malformed parameter {info.field_name}: must be a number from {least} to {most}.")
        return int(value)

    return BeforeValidator(number)


def _search(value: str) -> str:
    if len(value) > MAX_SEARCH or not value.isprintable():
        raise sentence(f"Malformed parameter search: at most {MAX_SEARCH} characters are expected.")
    return value


_NUMERIC = WithJsonSchema({"type": "string", "pattern": "^[0-9]{0,8}$"})
Date = Annotated[datetime | None, BeforeValidator(_date), WithJsonSchema(DATE_SCHEMA)]


class TimelineQuery(Query):
    """Which part of the timeline to show."""

    start_date: Annotated[
        Date, Field(description="Where the window begins, as in a lease; now by default.")
    ] = None
    end_date: Annotated[
        Date,
        Field(description="Where it ends, at most 800 days after its start; a week after it by default."),
    ] = None
    first: Annotated[
        int, _number(0, LAST_ROW), _NUMERIC, Field(description="Number of the first row, from 0 on.")
    ] = 0
    rows: Annotated[
        int, _number(1, MOST_ROWS), _NUMERIC, Field(description=f"Rows at most, up to {MOST_ROWS}.")
    ] = MOST_ROWS
    resource_type: Annotated[Word, Field(description="Only resources of this kind: `physical:host`.")] = None
    group_by: Annotated[
        Word, Field(description="The property whose values group the rows: `availability_zone`.")
    ] = None
    search: Annotated[
        str,
        BeforeValidator(_search),
        Field(description="Only resources that have this text in the value of a property, in any case."),
    ] = ""

    def question(self) -> TimelineQuestion:
        return TimelineQuestion(
            self.start_date,
            self.end_date,
            self.first,
            self.rows,
            self.resource_type,
            self.group_by,
            self.search,
        )
