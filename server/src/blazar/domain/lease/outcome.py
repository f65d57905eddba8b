"""The outcomes of an action on the cloud: values that the engine settles, never exceptions or sleeping
threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class Done:
    """The goal is reached; ``cloud_state`` is merged into what the reservation remembers of its cloud
    objects."""

    cloud_state: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NotYet:
    """Not reached yet: a server is being deleted, a service does not answer.

    Tried again after ``check_after`` at first, and later from attempt to attempt; None means that the cloud
    failed. ``serving`` holds the ids of the resources that serve the reservation already: the settlement
    binds these. ``freed`` holds those of its surplus that have nothing of it any more."""

    reason: str
    check_after: timedelta | None = None
    cloud_state: Mapping[str, Any] = field(default_factory=dict)
    serving: frozenset[str] = frozenset()
    freed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Not to be reached, however often it is tried."""

    reason: str


Outcome = Done | NotYet | GiveUp
