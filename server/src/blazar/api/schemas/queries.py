"""Typed parameters of query strings, which the OpenAPI document describes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, TypeVar

from pydantic import BeforeValidator, ConfigDict, ValidationInfo, WithJsonSchema

from blazar.api.schemas.fields import Body, sentence, validated

ID = re.compile(r"[\x21-\x7e]{1,255}")
_TRUE = ("true", "1", "t", "yes", "y", "on")
_FALSE = ("", "false", "0", "f", "no", "n", "off")


class Query(Body):
    """The parameters of a route's query string: unknown ones are ignored, of repeated ones the first
    counts."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


Q = TypeVar("Q", bound=Query)


def decoded(model: type[Q], parameters: Mapping[str, str]) -> Q:
    """Return the parameters as ``model``; empty ones count as not given. Raises InvalidInput."""
    return validated(model, {name: text for name, text in parameters.items() if text})


def _flag(value: str, info: ValidationInfo) -> bool:
    word = value.strip().lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise sentence(f"Malformed parameter {info.field_name}: True or False is expected.")


def _id(value: str, info: ValidationInfo) -> str:
    if not ID.fullmatch(value):
        raise sentence(f"Malformed parameter {info.field_name}: not an id.")
    return value


def optional_id(value: object) -> str | None:
    """Return an id of a body, or None. Raises a refusal with a sentence."""
    if value is not None and not (isinstance(value, str) and ID.fullmatch(value)):
        raise sentence("An id is a text of letters, digits and dashes.")
    return value


OPTIONAL_ID_SCHEMA = {"type": ["string", "null"], "maxLength": 255, "pattern": ID.pattern}

Flag = Annotated[
    bool,
    BeforeValidator(_flag),
    WithJsonSchema({"type": "boolean"}),
]
"""A boolean: absent and empty are false. Written ``true``, ``1``, ``t``, ``yes``, ``y`` or ``on``, or their
opposites, in any case."""
Id = Annotated[
    str | None,
    BeforeValidator(_id),
    WithJsonSchema({"type": "string", "pattern": "^[\\x21-\\x7e]{0,255}$"}),
]
"""An id; empty counts as not given."""
