"""The port to traces: which parts a request or an event is made of, and how long each takes. No decision
depends on it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

Attributes = Mapping[str, str | int]


class Span(Protocol):
    """A part of a trace, which lasts as long as its block."""

    @property
    def headers(self) -> Mapping[str, str]:
        """What another program must be told, so that its spans belong to this one; empty without a trace."""
        ...

    def tell(self, attributes: Attributes, name: str | None = None) -> None:
        """Add what is known by now."""
        ...


class Tracing(Protocol):
    """Is told where a part begins and ends. It raises nothing of its own."""

    def entry(
        self, name: str, attributes: Attributes, received: Mapping[str, str] | None = None
    ) -> AbstractContextManager[Span]:
        """Begin a trace; go on with that of the program which has sent ``received``, its span's headers."""
        ...

    def step(self, name: str, attributes: Attributes) -> AbstractContextManager[Span]:
        """Add a part to the trace of this thread. Outside of a trace nothing is added."""
        ...

    def close(self) -> None:
        """Send what is left; nothing is traced any more."""
        ...


class _NoSpan:
    headers: Mapping[str, str] = {}

    def tell(self, attributes: Attributes, name: str | None = None) -> None: ...


_NO_SPAN = nullcontext(_NoSpan())


class NoTracing:
    """The Tracing where no traces are wanted."""

    def entry(
        self, name: str, attributes: Attributes, received: Mapping[str, str] | None = None
    ) -> AbstractContextManager[Span]:
        return _NO_SPAN

    def step(self, name: str, attributes: Attributes) -> AbstractContextManager[Span]:
        return _NO_SPAN

    def close(self) -> None: ...


NO_TRACING = NoTracing()
NOTHING: Attributes = {}
