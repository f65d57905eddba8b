"""How blazar-api calls a use case: the Service interface over any transport that carries a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from blazar.domain.errors import BlazarError, NotFound
from blazar.rpc.codec import NOUNS, Signature, decode_error, signature
from blazar.service.interface import Calling, Service


class Transport(Protocol):
    def call(
        self, noun: str, use_case: str, arguments: Mapping[str, Any], calling: Calling
    ) -> tuple[Mapping[str, Any], bool]:
        """The dispatcher's answer, and whether it had to be asked for more than once.

        Raises CloudUnavailable where no manager answers in time."""
        ...


class _Noun:
    def __init__(self, transport: Transport, noun: str) -> None:
        self._transport = transport
        self._noun = noun

    def __getattr__(self, use_case: str) -> Callable[..., Any]:
        known = signature(self._noun, use_case)

        def call(*args: Any, **kwargs: Any) -> Any:
            arguments = known.encode_arguments(*args, **kwargs)
            answer, repeated = self._transport.call(self._noun, use_case, arguments, known.calling)
            if "error" in answer:
                return _failed(known, decode_error(answer["error"]), repeated)
            return known.decode_result(answer["result"])

        return call


def _failed(known: Signature, error: BlazarError, repeated: bool) -> None:
    if repeated and known.returns_nothing and isinstance(error, NotFound):
        return  # it was deleted the first time, when only the answer was lost
    raise error


class _Remote:
    def __init__(self, transport: Transport) -> None:
        for noun in NOUNS:
            setattr(self, noun, _Noun(transport, noun))


def remote_service(transport: Transport) -> Service:
    """All use cases, carried out by whoever is at the other end of ``transport``."""
    return cast(Service, _Remote(transport))
