"""Names and dates in requests, and the sentence for a body that is refused."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema
from pydantic_core import ErrorDetails, PydanticCustomError

from blazar.domain.errors import BlazarError, InvalidDate, InvalidInput, MissingParameter
from blazar.domain.lease.priority import Priority
from blazar.domain.time import HORIZON, MINUTE
from blazar.service.commands import NOW, Moment

OLD_FORMAT = "%Y-%m-%d %H:%M"
_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)?",
    re.ASCII | re.IGNORECASE,
)
_LONGEST_DATE = 40

_DATE = (
    "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}[Tt ][0-9]{1,2}:[0-9]{1,2}"
    "(:[0-9]{2}([.,][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)?"
)
DATE_SCHEMA = {
    "type": "string",
    "pattern": f"^{_DATE}$",
    "description": "UTC as `YYYY-MM-DD hh:mm`, or ISO 8601 with or without a zone (without one: UTC). "
    "Seconds are cut off.",
    "examples": ["2050-01-01 10:00", "2050-01-01T10:00:00+01:00"],
}
MOMENT_SCHEMA = {
    **DATE_SCHEMA,
    "pattern": f"^(now|{_DATE})$",
    "description": f"{DATE_SCHEMA['description']} Or the word `now`.",
}


def parse_date(value: object) -> datetime:
    """Return an aware UTC datetime from the old format or from ISO 8601. Raises InvalidDate."""
    if not isinstance(value, str) or len(value) > _LONGEST_DATE:
        raise InvalidDate(date=echo(value))
    try:
        if _ISO.fullmatch(value):
            moment = datetime.fromisoformat(value.upper())
        else:
            moment = datetime.strptime(value, OLD_FORMAT).replace(tzinfo=UTC)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise InvalidDate(date=value) from None


def echo(value: object) -> str:
    """Return the caller's value, short enough to be shown back."""
    shown = value if isinstance(value, str) else "null" if value is None else repr(value)
    return shown if len(shown) <= _LONGEST_DATE else f"{shown[:_LONGEST_DATE]}..."


def as_moment(value: object) -> Moment:
    return NOW if value == "now" else parsed_date(value)


def parsed_date(value: object) -> datetime:
    try:
        return parse_date(value)
    except InvalidDate as error:
        raise PydanticCustomError(
            "invalid_date", "{message}", {"message": error.message, "date": echo(value)}
        ) from None


def _optional_date(value: object) -> datetime | None:
    return None if value is None or value == "" else parsed_date(value)


MomentField = Annotated[Moment, BeforeValidator(as_moment), WithJsonSchema(MOMENT_SCHEMA)]
OptionalDateField = Annotated[
    datetime | None,
    BeforeValidator(_optional_date),
    WithJsonSchema(
        {
            "anyOf": [DATE_SCHEMA, {"const": ""}, {"type": "null"}],
            "description": "When to warn before the end; empty or null as the operator has set.",
        }
    ),
]


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise sentence("The name must be a string.")
    if not 1 <= len(value) <= MAX_NAME:
        raise sentence(f"The name must have between 1 and {MAX_NAME} characters.")
    check_characters("The name", value)
    if not _VISIBLE.search(value):
        raise sentence("The name must have a character that can be seen.")
    return value


MAX_NAME = 80
_CONTROLS = r"\u0000-\u001f\u007f-\u009f"
_DIRECTIONS = r"\u202a-\u202e\u2066-\u2069"
"""Characters that change the order in which text is shown, also of the text behind a name in a list."""
_BLANKS = (
    r"\u0020\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028\u2029\u202f"
    r"\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
_DIRECTION = re.compile(f"[{_DIRECTIONS}]")
_VISIBLE = re.compile(f"[^{_CONTROLS}{_DIRECTIONS}{_BLANKS}]")
NameField = Annotated[
    str,
    BeforeValidator(_name),
    WithJsonSchema(
        {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_NAME,
            "pattern": f"^[^{_CONTROLS}{_DIRECTIONS}]*[^{_CONTROLS}{_DIRECTIONS}{_BLANKS}]"
            f"[^{_CONTROLS}{_DIRECTIONS}]*$",
            "description": "At least one character that can be seen. No control characters, nothing that "
            "overrides the direction of text, no emoji (nothing beyond the Basic Multilingual Plane).",
        }
    ),
]


def check_characters(what: str, value: str) -> None:
    """Refuse characters beyond the BMP, for some databases store three bytes a character at most, and
    misleading ones."""
    if any(ord(char) > 0xFFFF for char in value):
        raise sentence(
            f"{what} must not contain emoji or other characters beyond the Basic Multilingual Plane."
        )
    if any(unicodedata.category(char) == "Cc" for char in value):
        raise sentence(f"{what} must not contain control characters.")
    if _DIRECTION.search(value):
        raise sentence(f"{what} must not contain characters that override the direction of text.")


def sentence(text: str) -> PydanticCustomError:
    """Return a refusal with this text."""
    return PydanticCustomError("refused", "{message}", {"message": text})


LONGEST_MINUTES = HORIZON // MINUTE


def _minutes(value: object, what: str = "A duration", least: int = 1) -> timedelta:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LONGEST_MINUTES:
        raise sentence(f"{what} is a number of minutes from {least} to {LONGEST_MINUTES}.")
    return value * MINUTE


MINUTES_SCHEMA = {"type": "integer", "minimum": 1, "maximum": LONGEST_MINUTES}
MinutesField = Annotated[
    timedelta,
    BeforeValidator(_minutes),
    WithJsonSchema({**MINUTES_SCHEMA, "description": "In minutes.", "examples": [1440]}),
]
OptionalMinutesField = Annotated[
    timedelta | None,
    BeforeValidator(lambda value: None if value is None else _minutes(value)),
    WithJsonSchema(
        {
            "anyOf": [MINUTES_SCHEMA, {"type": "null"}],
            "description": "In minutes.",
        }
    ),
]


def _claim_by(value: object) -> timedelta | None:
    return None if value is None else _minutes(value, "claim_by", least=0)


ClaimByField = Annotated[
    timedelta | None,
    BeforeValidator(_claim_by),
    WithJsonSchema(
        {
            "anyOf": [{**MINUTES_SCHEMA, "minimum": 0}, {"type": "null"}],
            "description": "How soon after its start the lease has to be used, in minutes: an unused one "
            "is released then. 0 for never; null for what the operator has set.",
            "examples": [60],
        }
    ),
]


def _priority(value: object) -> Priority:
    if not isinstance(value, str) or value not in tuple(Priority):
        raise sentence(f"priority is one of {', '.join(Priority)}.")
    return Priority(value)


PriorityField = Annotated[
    Priority,
    BeforeValidator(_priority),
    WithJsonSchema(
        {
            "type": "string",
            "enum": list(Priority),
            "description": "Its class: one of a higher class may displace those of lower classes before they "
            "start.",
        }
    ),
]


def without_defaults(schema: dict[str, Any]) -> None:
    """Leave the defaults out of a body's schema, where they mean no more than that nothing was sent."""
    for each in schema["properties"].values():
        each.pop("default", None)


class Body(BaseModel):
    """A request body: unknown keys are ignored and never stored."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


B = TypeVar("B", bound=Body)


def validated(model: type[B], body: Mapping[str, Any]) -> B:
    """Return the body as ``model``. Raises InvalidInput, or a subclass, for the mistake that matters most."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise _refusal(error.errors(include_url=False)) from None


def _refusal(found: list[ErrorDetails]) -> BlazarError:
    """Choose the mistake to tell: missing parameters first, then those of a reservation, then dates, then the
    rest."""
    missing = sorted(
        str(each["loc"][0]) for each in found if each["type"] == "missing" and len(each["loc"]) == 1
    )
    if missing:
        return MissingParameter(param=", ".join(missing))
    for each in found:
        if each["type"] == "missing":
            return MissingParameter(
                param="reservation ID" if each["loc"][-1] == "id" else str(each["loc"][-1])
            )
    for each in found:
        if each["type"] == "invalid_date":
            return InvalidDate(date=each["ctx"]["date"])
    first = found[0]
    if first["type"] == "refused":
        return InvalidInput(first["msg"])
    where = ".".join(str(part) for part in first["loc"]) or "body"
    return InvalidInput(f"Malformed parameter {where[:100]}: {first['msg']}.")
