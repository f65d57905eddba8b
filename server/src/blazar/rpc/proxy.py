"""The proxy of use cases in blazar-api: the Service interface over any transport that carries a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from blazar.domain.errors import BlazarError, Internal, NotFound
from blazar.rpc.codec import (
    CALLER,
    Codec,
    NotUnderstood,
    Signature,
    decode_error,
    encode_caller,
    wire_noun,
)
from blazar.service.context import Caller
from blazar.service.interface import CallOptions, HealthInterface, LeasesInterface, QuotasInterface, Service


class Transport(Protocol):
    def call(
        self, noun: str, use_case: str, arguments: Mapping[str, Any], calling: CallOptions
    ) -> tuple[Mapping[str, Any], bool]:
        """Return the dispatcher's answer, and whether it had to be asked for more than once.

        Raises CloudUnavailable where no manager answers in time."""
        ...


ATTEMPTS = 3
"""How many managers are asked, at the most, while they say that they do not know the call."""


UNKNOWN_PARAMETER = frozenset({NotUnderstood.code, Internal.code})
"""How managers of versions before answer to a parameter that they do not know; the oldest take it for a
defect."""


class _Noun:
    def __init__(self, transport: Transport, codec: Codec, noun: str, caller: Caller | None) -> None:
        self._caller = caller
        self._transport = transport
        self._codec = codec
        self._noun = noun

    def __getattr__(self, use_case: str) -> Callable[..., Any]:
        known = self._codec.signature(self._noun, use_case)

        def call(*args: Any, **kwargs: Any) -> Any:
            arguments = known.encode_arguments(*args, **kwargs)
            if self._caller is not None:
                arguments[CALLER] = encode_caller(self._caller, known.calling)
            added = arguments.keys() & set(known.calling.added)
            for attempt in range(ATTEMPTS):
                answer, repeated = self._transport.call(
                    wire_noun(self._noun), use_case, arguments, known.calling
                )
                code = answer.get("error", {}).get("code")
                if added and attempt == 0 and code in UNKNOWN_PARAMETER:
                    arguments = {name: value for name, value in arguments.items() if name not in added}
                elif code != NotUnderstood.code:
                    break  # otherwise nothing was done, and the next manager may be of the right version
            if "error" in answer:
                return _failed(known, decode_error(answer["error"]), repeated)
            return known.decode_result(answer["result"])

        return call


def _failed(known: Signature, error: BlazarError, repeated: bool) -> None:
    if repeated and known.returns_nothing and isinstance(error, NotFound):
        return  # it was deleted the first time, when only the answer was lost
    raise error


class _Remote:
    def __init__(self, transport: Transport, codec: Codec, caller: Caller | None = None) -> None:
        self._transport = transport
        self._codec = codec
        self._caller = caller

    def called_by(self, caller: Caller) -> Service:
        return _Remote(self._transport, self._codec, caller)

    @property
    def leases(self) -> LeasesInterface:
        return cast(LeasesInterface, self.noun("leases"))

    @property
    def health(self) -> HealthInterface:
        return cast(HealthInterface, self.noun("health"))

    @property
    def quotas(self) -> QuotasInterface:
        return cast(QuotasInterface, self.noun("quotas"))

    def noun(self, name: str) -> Any:
        if name not in self._codec.nouns:
            raise KeyError(name)
        return _Noun(self._transport, self._codec, name, self._caller)


def remote_service(transport: Transport, codec: Codec) -> Service:
    """Return all use cases, carried out by a manager at the other end of ``transport``."""
    return _Remote(transport, codec)
