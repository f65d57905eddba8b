"""The requests of callers that change something, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any


class Unset(Enum):
    """The field was not sent, so it stays as it is (which differs from null)."""

    UNSET = "unset"


UNSET = Unset.UNSET


class Now(Enum):
    """The literal date ``now``: the current minute, when the request is carried out."""

    NOW = "now"


NOW = Now.NOW

Moment = datetime | Now
"""An aware UTC datetime, or ``now``."""


@dataclass(frozen=True, slots=True)
class ReservationRequest:
    """One reservation of a new lease; ``parameters`` are the kind's own fields as the caller sent them."""

    resource_type: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReservationChange:
    """New values for some parameters of reservation ``id``; ``resource_type``, if sent, must be the stored
    one."""

    id: str
    parameters: Mapping[str, Any]
    resource_type: str | None = None


@dataclass(frozen=True, slots=True)
class CreateLease:
    name: str
    start: Moment
    end: Moment
    before_end: datetime | None = None
    reservations: tuple[ReservationRequest, ...] = ()
    id: str | None = field(default=None, compare=False)
    """The id of the new lease, chosen by a caller that may have to ask twice: the second call finds the lease
    of the first."""


@dataclass(frozen=True, slots=True)
class UpdateLease:
    name: str | Unset = UNSET
    start: Moment | Unset = UNSET
    end: Moment | Unset = UNSET
    before_end: datetime | Unset = UNSET
    reservations: tuple[ReservationChange, ...] = ()
