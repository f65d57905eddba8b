"""How far an action on the cloud got: values that the engine settles, never exceptions or sleeping threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class Done:
    """The goal is reached; ``cloud`` is merged into what the reservation remembers of its cloud objects."""

    cloud: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NotYet:
    """Not reached yet: a server is being deleted, a service does not answer. Tried again after ``check_after``; None leaves
    it to the engine, which waits longer from attempt to attempt."""

    reason: str
    check_after: timedelta | None = None
    cloud: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Not to be reached, however often it is tried."""

    reason: str


Outcome = Done | NotYet | GiveUp
