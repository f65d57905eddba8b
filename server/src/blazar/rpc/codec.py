"""The codec of calls: arguments and results as JSON values, by the type hints of the interface.

Adding a use case adds nothing here: everything is read off the Protocols of ``service.interface`` and of the
kinds' extensions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import GenericAlias
from typing import Any, cast, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter
from pydantic_core import SchemaSerializer, SchemaValidator, core_schema

from blazar.domain.errors import BlazarError, CloudUnavailable
from blazar.domain.lease.event import Event
from blazar.domain.lease.lease import Reservation
from blazar.domain.resource import Allocation
from blazar.service.context import Caller
from blazar.service.interface import CallOptions, options_of

WIRE_NOUNS: Mapping[str, str] = {"health": "vitals"}
"""The name on the wire of each noun that an earlier version knows by another one. Managers understand
both."""
_NOUNS = {wire: noun for noun, wire in WIRE_NOUNS.items()}

WIRE_FIELDS: Mapping[type, Mapping[str, str]] = {
    Allocation: {"usage": "claim"},
    Reservation: {"cloud_state": "cloud"},
}
"""The name on the wire of each field that an earlier version knows by another one. Both names are read, so a
later version may send the present one."""

OMITTED_WHEN_UNKNOWN = frozenset({Event})
"""What is left out of a list where it cannot be read. A newer version has types of events that this one does
not know, as the database has."""


class WireType:
    """Turns values of one type into JSON values, and back."""

    def __init__(self, hint: Any) -> None:
        # pydantic turns a sequence of any class item by item in Python, and a list as a whole.
        self._is_sequence = get_origin(hint) is Sequence
        if self._is_sequence:
            hint = GenericAlias(list, get_args(hint))
        schema = _wire_schema(TypeAdapter(hint).core_schema)
        self._serializer = SchemaSerializer(schema)
        self._validator = SchemaValidator(schema)

    def encode(self, value: Any) -> Any:
        # What has its default is left out and gets it back at the other end: so "not sent" needs no word on
        # the wire.
        value = list(value) if self._is_sequence else value
        return self._serializer.to_python(value, mode="json", by_alias=True, exclude_defaults=True)

    def decode(self, raw: Any) -> Any:
        """Raises pydantic's ValidationError on a bad value. Fields that are not known are ignored."""
        return self._validator.validate_python(raw)


def _wire_schema(schema: Any) -> Any:
    """Return pydantic's schema with the names of WIRE_FIELDS, and with OMITTED_WHEN_UNKNOWN.

    It is done here, and not by annotations of the fields, for the domain knows neither pydantic nor the
    wire."""
    if isinstance(schema, list | tuple):
        return type(schema)(_wire_schema(each) for each in schema)
    if not isinstance(schema, dict):
        return schema
    schema = {key: _wire_schema(value) for key, value in schema.items()}
    if schema.get("type") != "dataclass":
        return schema
    for field in schema["schema"]["fields"]:
        wire = WIRE_FIELDS.get(schema["cls"], {}).get(field["name"])
        if wire:
            field |= {"serialization_alias": wire, "validation_alias": [[wire], [field["name"]]]}
    if schema["cls"] in OMITTED_WHEN_UNKNOWN:
        ref = schema.pop("ref", None)
        return core_schema.with_default_schema(cast(core_schema.CoreSchema, schema), on_error="omit", ref=ref)
    return schema


def wire_noun(noun: str) -> str:
    """Return the name by which managers of this version and of the one before know the noun."""
    return WIRE_NOUNS.get(noun, noun)


def noun_of(wire: str) -> str:
    """Return the present name of the noun that a call names."""
    return _NOUNS.get(wire, wire)


CALLER = "caller"
"""Where a call has its caller: among the arguments, as managers of earlier versions expect."""
_CALLER = WireType(Caller)


class NotUnderstood(CloudUnavailable):
    """The manager that answers is of a version that does not know the call; another one may."""

    code = "not_understood"


def not_understood(what: str) -> NotUnderstood:
    return NotUnderstood(service="blazar-manager", reason=f"it does not know {what}")


@dataclass(frozen=True, slots=True)
class Signature:
    """One use case: its parameters by name, with what turns each into JSON values and back, and its
    result."""

    parameters: Mapping[str, WireType]
    result: WireType
    bind: Callable[..., inspect.BoundArguments]
    calling: CallOptions
    returns_nothing: bool

    def encode_arguments(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        bound = self.bind(None, *args, **kwargs).arguments
        return {
            name: wire_type.encode(bound[name])
            for name, wire_type in self.parameters.items()
            if name in bound
        }

    def decode_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Raises NotUnderstood on a parameter that the use case does not have, pydantic's ValidationError on
        a bad value."""
        unknown = ", ".join(sorted(arguments.keys() - self.parameters.keys()))
        if unknown:
            raise not_understood(f"the parameter {unknown} of this call")
        return {name: self.parameters[name].decode(value) for name, value in arguments.items()}

    def encode_result(self, result: Any) -> Any:
        return self.result.encode(result)

    def decode_result(self, result: Any) -> Any:
        return self.result.decode(result)


class Codec:
    """Encodes the calls of all use cases of these nouns: nothing else can be called from outside."""

    def __init__(self, interfaces: Mapping[str, type]) -> None:
        self.nouns = tuple(interfaces)
        self._interfaces = interfaces
        self._known: dict[tuple[str, str], Signature] = {}

    def signature(self, noun: str, use_case: str) -> Signature:
        """Raises NotUnderstood where there is no such use case."""
        if (noun, use_case) not in self._known:
            self._known[noun, use_case] = self._read(noun, use_case)
        return self._known[noun, use_case]

    def _read(self, noun: str, use_case: str) -> Signature:
        interface = self._interfaces.get(noun)
        method = vars(interface).get(use_case) if interface else None
        if method is None or use_case.startswith("_"):
            raise not_understood(f"the call {noun}.{use_case}")
        hints = get_type_hints(method)
        result = hints.pop("return")
        return Signature(
            {name: WireType(hint) for name, hint in hints.items()},
            WireType(result),
            inspect.signature(method).bind,
            options_of(method),
            result is type(None),
        )


def encode_caller(caller: Caller, calling: CallOptions) -> Any:
    """Return the caller as JSON. The token is a secret, which is sent only where it is needed."""
    return _CALLER.encode(caller if calling.needs_token else replace(caller, token=None))


def decode_caller(raw: Any) -> Caller | None:
    return None if raw is None else _CALLER.decode(raw)


def encode_error(error: BlazarError) -> dict[str, Any]:
    return {"code": error.code, "fields": error.fields}


def decode_error(raw: Mapping[str, Any]) -> BlazarError:
    return BlazarError.revive(str(raw["code"]), dict(raw["fields"]))
