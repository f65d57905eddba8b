"""The checks of reservation fields that several kinds share, with the sentences of API 1.0."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from blazar.domain.errors import MalformedParameter, MissingParameter


def described(model: type[BaseModel], needed: Sequence[str], own: Sequence[str] = ()) -> Mapping[str, Any]:
    """Return the JSON schema of the model, of which a request needs these parameters. Those that the service
    keeps as its ``own`` are left out."""
    schema = model.model_json_schema()
    shared = schema.get("$defs", {})
    properties = {
        name: _inlined(value, shared) for name, value in schema["properties"].items() if name not in own
    }
    about = schema["description"].replace("``", "`")
    return {"type": "object", "description": about, "properties": properties, "required": list(needed)}


def _inlined(value: Any, shared: Mapping[str, Any]) -> Any:
    """Return the schema with what it refers to."""
    if isinstance(value, list):
        return [_inlined(each, shared) for each in value]
    if not isinstance(value, dict):
        return value
    inlined = {name: _inlined(each, shared) for name, each in value.items() if name != "$ref"}
    return {**shared[value["$ref"].rpartition("/")[2]], **inlined} if "$ref" in value else inlined


def required(parameters: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raise MissingParameter with all the names that were not sent."""
    missing = [name for name in names if name not in parameters]
    if missing:
        raise MissingParameter(param=",".join(missing))


def without_blanks(parameters: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the parameters without those of these names that are null or the empty text: clients send so
    what the user left out."""
    return {name: value for name, value in parameters.items() if name not in names or value not in ("", None)}


def counted(parameters: Mapping[str, Any], name: str, least: int, most: int) -> int:
    """Return the integer, which API 1.0 also accepts as its decimal text, from ``least`` to ``most``. Raises
    MalformedParameter."""
    value = parameters[name]
    if isinstance(value, str) and len(value) <= 20 and value.isascii() and value.removeprefix("-").isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise MalformedParameter(param=f"{name} (must be an integer)")
    if not least <= value <= most:
        raise MalformedParameter(param=f"{name} (must be from {least} to {most})")
    return value


def uuid_or_none(value: object) -> str | None:
    """Return the UUID in its usual form; None for whatever is none."""
    try:
        return str(UUID(value)) if isinstance(value, str) and len(value) <= 36 else None
    except ValueError:
        return None


def identifier(parameters: Mapping[str, Any], name: str, what: str) -> str:
    """Return the id of something in the cloud. Raises MalformedParameter."""
    found = uuid_or_none(parameters[name])
    if found is None:
        raise MalformedParameter(param=f"{name} (must be the id of {what})")
    return found


def printable_text(parameters: Mapping[str, Any], name: str, longest: int) -> str:
    """Return a text that people can read. Raises MalformedParameter."""
    value = parameters[name]
    if isinstance(value, int) and not isinstance(value, bool):
        # Clients turn a name such as "3" into a number.
        value = str(value)
    if not isinstance(value, str) or not value.isprintable() or not value.strip() or len(value) > longest:
        raise MalformedParameter(param=f"{name} (must be a text of at most {longest} characters)")
    return value


def boolean(parameters: Mapping[str, Any], name: str, default: bool) -> bool:
    """Return the boolean. Raises MalformedParameter."""
    value = parameters.get(name, default)
    if not isinstance(value, bool):
        raise MalformedParameter(param=f"{name} (must be true or false)")
    return value


def requirement_text(parameters: Mapping[str, Any], name: str) -> str:
    """Return the text of a requirement as it was sent; a JSON list is accepted as well as its text, null as
    no condition."""
    value = parameters.get(name)
    if value is None:
        return ""
    if isinstance(value, list):
        return json.dumps(value)
    if not isinstance(value, str):
        raise MalformedParameter(param=f"{name} (must be a requirement as JSON text)")
    return value
