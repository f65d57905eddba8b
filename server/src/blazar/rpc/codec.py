"""How a call crosses the wire: arguments and results as JSON values, by the type hints of the interface.

Adding a use case adds nothing here: everything is read off the Protocols of ``service.interface``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from blazar.domain.errors import BlazarError
from blazar.service.interface import CALLING, Calling, Service

NOUNS: Mapping[str, type] = {
    name: get_type_hints(member.fget)["return"]
    for name, member in vars(Service).items()
    if isinstance(member, property) and member.fget
}
"""The nouns of the service and their interfaces: nothing else can be called from outside."""


@dataclass(frozen=True, slots=True)
class Signature:
    """One use case: its parameters by name, with what turns each into JSON values and back, and its result."""

    parameters: Mapping[str, TypeAdapter[Any]]
    result: TypeAdapter[Any]
    bind: Callable[..., inspect.BoundArguments]
    calling: Calling
    returns_nothing: bool

    def encode_arguments(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        bound = self.bind(None, *args, **kwargs).arguments
        return {name: _dump(adapter, bound[name]) for name, adapter in self.parameters.items() if name in bound}

    def decode_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Raises KeyError on a parameter that the use case does not have, pydantic's ValidationError on a bad value."""
        return {name: self.parameters[name].validate_python(value) for name, value in arguments.items()}

    def encode_result(self, result: Any) -> Any:
        return _dump(self.result, result)

    def decode_result(self, result: Any) -> Any:
        return self.result.validate_python(result)


def _dump(adapter: TypeAdapter[Any], value: Any) -> Any:
    # What has its default is left out and gets it back at the other end: so "not sent" needs no word on the wire.
    return adapter.dump_python(value, mode="json", exclude_defaults=True)


@cache
def signature(noun: str, use_case: str) -> Signature:
    """Raises LookupError where there is no such use case."""
    interface = NOUNS.get(noun)
    method = vars(interface).get(use_case) if interface else None
    if method is None or use_case.startswith("_"):
        raise LookupError(f"there is no use case {noun}.{use_case}")
    hints = get_type_hints(method)
    result = hints.pop("return")
    return Signature(
        {name: TypeAdapter(hint) for name, hint in hints.items()},
        TypeAdapter(result),
        inspect.signature(method).bind,
        CALLING.get(method.__qualname__, Calling()),
        result is type(None),
    )


def encode_error(error: BlazarError) -> dict[str, Any]:
    return {"code": error.code, "fields": error.fields}


def decode_error(raw: Mapping[str, Any]) -> BlazarError:
    return BlazarError.revive(str(raw["code"]), dict(raw["fields"]))
