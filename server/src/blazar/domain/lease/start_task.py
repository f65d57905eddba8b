"""What is started with a lease: a stack, which is there while the lease is, or a webhook, which is told of
its start and its end.

The rules of when a stack is made and when it is deleted are pure rules over values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from typing import Any

from blazar.domain.errors import InvalidInput
from blazar.domain.lease.lease import Lease, LeaseStatus

SHARE_OF_LEASE = 4
"""At most this part of a lease is spent on the deletion of its stack before its end."""
SOON = timedelta(minutes=1)
"""After what time a lease is looked at again that should have begun."""


class StartTaskType(StrEnum):
    STACK = "stack"
    WEBHOOK = "webhook"
    UNKNOWN = "unknown"
    """A type that only a newer version knows. It is left to that one."""

    @classmethod
    def _missing_(cls, value: object) -> StartTaskType:
        return cls.UNKNOWN


class StartTaskStatus(StrEnum):
    PENDING = "PENDING"
    """The lease has not begun."""
    CREATING = "CREATING"
    """Heat is to make the stack, or makes it."""
    CREATED = "CREATED"
    FAILED = "FAILED"
    """The stack was not made, or not all of it. That is not tried again."""
    DELETING = "DELETING"
    DELETED = "DELETED"
    LEFT = "LEFT"
    """Heat has not deleted the stack in time, and it is not tried any more."""
    UNKNOWN = "UNKNOWN"

    @classmethod
    def _missing_(cls, value: object) -> StartTaskStatus:
        return cls.UNKNOWN


OVER = frozenset({StartTaskStatus.DELETED, StartTaskStatus.LEFT})
"""The statuses in which nothing is left to do."""


@dataclass(frozen=True, slots=True)
class StackRequest:
    """What Heat is asked to make. All of it may hold secrets: it is kept until the stack is made, and shown
    to no user."""

    template: Mapping[str, Any] | None = field(default=None, repr=False)
    template_url: str | None = field(default=None, repr=False)
    """In place of the template: Heat reads it."""
    parameters: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Their texts may have placeholders, see ``filled_in``."""
    environment: Mapping[str, Any] = field(default_factory=dict, repr=False)
    timeout_minutes: int | None = None
    """How long Heat may take to make it."""


@dataclass(frozen=True, slots=True)
class StartTask:
    """What is started with a lease. It outlives the lease until its stack, or its webhook, is gone."""

    lease_id: str
    project_id: str
    user_id: str
    type: StartTaskType
    status: StartTaskStatus = StartTaskStatus.PENDING
    reason: str | None = None
    request: StackRequest | None = field(default=None, repr=False)
    region: str | None = None
    """Where the stack is made; None is the first region."""
    trust_id: str | None = None
    """By which the service acts in Heat as the user."""
    stack_id: str | None = None
    subscription_id: str | None = None
    """Of a webhook."""
    url: str | None = None
    """Of a webhook."""
    attempts: int = 0
    """Failed attempts, or looks, one after another."""
    asked_at: datetime | None = None
    """When Heat was asked last to make the stack: the answer may have been lost."""
    ending_since: datetime | None = None
    """Since when its end is under way."""
    is_late: bool = False
    """Whether it was told that the stack was still there after the lease."""
    due: datetime | None = None
    """When it is looked at next; None where nothing is left to do."""
    revision: int = 0
    """Grows where its lease changes: what was decided before that may not be so any more."""
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def stack_name(self) -> str:
        return f"blazar-{self.lease_id}"

    @property
    def may_have_a_stack(self) -> bool:
        return self.stack_id is not None or self.asked_at is not None


class Need(Enum):
    """What is needed of a stack now."""

    NOT_YET = "not yet"
    """The lease has not begun, or its start has failed. What is there stays."""
    THERE = "there"
    GONE = "gone"


LEASE_IS_OVER = frozenset({LeaseStatus.TERMINATING, LeaseStatus.TERMINATED, LeaseStatus.DELETING})


def need_of(lease: Lease | None, now: datetime, lead: timedelta) -> Need:
    """Return whether the stack of a lease has to be there; None is a lease that was removed. It is deleted
    ``lead`` before the lease's end."""
    if lease is None or lease.status in LEASE_IS_OVER:
        return Need.GONE
    if lease.status not in (LeaseStatus.ACTIVE, LeaseStatus.ERROR):
        return Need.NOT_YET
    if now >= begins_to_end(lease, lead):
        return Need.GONE
    return Need.THERE if lease.status is LeaseStatus.ACTIVE else Need.NOT_YET


def begins_to_end(lease: Lease, lead: timedelta) -> datetime:
    """Return when the deletion of the stack begins: later where the lease is short."""
    interval = lease.interval
    return interval.end - min(lead, (interval.end - interval.start) / SHARE_OF_LEASE)


def next_look(lease: Lease, now: datetime, lead: timedelta) -> datetime:
    """Return when a lease is looked at next if it does not change until then."""
    if lease.status is LeaseStatus.ACTIVE:
        return begins_to_end(lease, lead)
    return max(lease.interval.start, now) + SOON


PLACEHOLDER = re.compile(
    r"(?<!\{)\{(?:lease|reservations\.(?P<position>\d{1,2}))\.(?P<name>[a-z][a-z0-9_]{0,63})"
    r"(?:\.(?P<item>\d{1,2}))?\}(?!\})"
)
"""A field of the lease, or of one of its reservations by its position, or an item of a field that is a list,
such as ``{reservations.0.network_ids.1}``."""
OF_LEASE = frozenset({"id", "name", "start_date", "end_date", "project_id", "user_id"})
"""The fields of a lease that parameters may have."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A placeholder in the text of a parameter."""

    text: str
    position: int | None
    """Of the reservation; None of a field of the lease."""
    name: str
    item: int | None = None

    def of(self, document: Mapping[str, Any]) -> Any:
        """Return the field of a lease's document. Raises InvalidInput where there is none of that name."""
        if self.position is None:
            if self.name not in OF_LEASE:
                raise self._refusal(f"a lease has {', '.join(sorted(OF_LEASE))}")
            return document[self.name]
        reservations = document["reservations"]
        if self.position >= len(reservations):
            raise self._refusal(f"the lease has {len(reservations)} reservations, counted from 0")
        reservation = reservations[self.position]
        if self.name not in reservation:
            raise self._refusal(f"the reservation has {', '.join(sorted(reservation))}")
        return reservation[self.name]

    def value_in(self, document: Mapping[str, Any]) -> Any:
        """Return what stands in the place of it once the lease has begun. Raises InvalidInput where it has
        no value."""
        found = self.of(document)
        if self.item is not None:
            found = found[self.item] if isinstance(found, list | tuple) and self.item < len(found) else None
        if found is None:
            raise self._refusal("it has no value")
        return found

    def _refusal(self, reason: str) -> InvalidInput:
        return InvalidInput(f"on_start: {self.text} stands for nothing: {reason}.")


Fill = Callable[[Placeholder], Any]


def filled_in(value: Any, fill: Fill) -> Any:
    """Return the value of a parameter with what ``fill`` returns in place of the placeholders in its texts. A
    text that is one placeholder, and no more, becomes the value itself, such as a list."""
    if isinstance(value, Mapping):
        return {name: filled_in(each, fill) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [filled_in(each, fill) for each in value]
    if not isinstance(value, str):
        return value
    whole = PLACEHOLDER.fullmatch(value)
    if whole is not None:
        return fill(_placeholder(whole))
    return PLACEHOLDER.sub(lambda match: str(fill(_placeholder(match))), value)


def _placeholder(match: re.Match[str]) -> Placeholder:
    position, item = match["position"], match["item"]
    return Placeholder(
        match.group(),
        None if position is None else int(position),
        match["name"],
        None if item is None else int(item),
    )
