"""The bodies of requests for subscriptions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from blazar.api.microversion import Version
from blazar.api.schemas.fields import Body, NameField, check_characters, sentence, without_defaults
from blazar.api.schemas.queries import OPTIONAL_ID_SCHEMA, optional_id
from blazar.domain.subscription import (
    SINCE_1_14,
    SINCE_1_32,
    CapacityCondition,
    LeaseEvent,
    ServerEvent,
    SubscribedEvent,
)
from blazar.service import commands
from blazar.service.commands import UNSET

LONGEST_URL = 2000
LONGEST_TYPE = 66
NAME = "subscription"
FIRST_EVENTS = tuple(each for each in LeaseEvent if each not in SINCE_1_14 | SINCE_1_32)
EVENTS_OF_1_14 = tuple(each for each in LeaseEvent if each not in SINCE_1_32)
EVENTS_OF_1_32 = tuple(LeaseEvent)
EVENTS: tuple[SubscribedEvent, ...] = (*LeaseEvent, *ServerEvent)


def _url(value: object) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_URL:
        raise sentence(f"The url is a string of at most {LONGEST_URL} characters.")
    return value


def _events_of(known: Collection[SubscribedEvent]) -> Callable[[object], tuple[SubscribedEvent, ...]]:
    """Return what reads a list of these events."""
    words = ", ".join(known)

    def events(value: object) -> tuple[SubscribedEvent, ...]:
        if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
            raise sentence(f"The events are a list of words: {words}.")
        if not set(value) <= set(known):
            raise sentence(f"There is no such event. The events are {words}.")
        return tuple(each for each in known if each in value)

    return events


def _events_schema(known: Collection[SubscribedEvent]) -> WithJsonSchema:
    return WithJsonSchema(
        {
            "type": "array",
            "items": {"type": "string", "enum": list(known)},
            "minItems": 1,
            "description": "What is told.",
            "examples": [["started", "end_soon", "ended"]],
        }
    )


def _type(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_TYPE:
        raise sentence(f"A resource type is a string of at most {LONGEST_TYPE} characters.")
    check_characters("A resource type", value)
    return value


UrlField = Annotated[
    str,
    BeforeValidator(_url),
    WithJsonSchema(
        {
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_URL,
            "description": "Where messages are sent: `https://host/path`. It must lead to a public network, "
            "or to one that the operator allows.",
            "examples": ["https://receiver.example.com/leases"],
        }
    ),
]
Events = tuple[SubscribedEvent, ...]
FirstEventsField = Annotated[Events, BeforeValidator(_events_of(FIRST_EVENTS)), _events_schema(FIRST_EVENTS)]
EventsOf114Field = Annotated[
    Events, BeforeValidator(_events_of(EVENTS_OF_1_14)), _events_schema(EVENTS_OF_1_14)
]
EventsOf132Field = Annotated[
    Events, BeforeValidator(_events_of(EVENTS_OF_1_32)), _events_schema(EVENTS_OF_1_32)
]
EventsField = Annotated[Events, BeforeValidator(_events_of(EVENTS)), _events_schema(EVENTS)]
OF_LEASES = ("lease_id", "resource_type", "project_id", "all_projects")
"""What says which leases a subscription is about."""
MOST_DAYS = 366
LARGEST = 2**31 - 1
LONGEST_TEXT = 2000
CAPACITY_SCHEMA = {
    "type": ["object", "null"],
    "properties": {
        "below": {"type": "integer", "minimum": 1, "maximum": LARGEST, "description": "How much is enough."},
        "days": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_DAYS,
            "default": 7,
            "description": "How many days ahead are looked at.",
        },
        "resource_type": {
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_TYPE,
            "default": "physical:host",
            "description": "The kind of resources.",
        },
        "quantity": {
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_TYPE,
            "default": "hosts",
            "description": "What is counted, as `GET /v1/capacity` names it.",
        },
        "resource_properties": {
            "type": "string",
            "maxLength": LONGEST_TEXT,
            "default": "",
            "description": "Count only resources that meet this requirement, as in a reservation.",
        },
    },
    "required": ["below"],
    "description": "Tell when less than this is available at some time of the next days, and when there is "
    "enough again, in place of what becomes of leases.",
    "examples": [{"below": 5, "days": 7}],
}


def _capacity(value: object) -> CapacityCondition | None:
    if value is None or isinstance(value, CapacityCondition):
        return value
    if not isinstance(value, dict):
        raise sentence("The capacity is an object with below, and perhaps days and more.")
    return CapacityCondition(
        _number("below", value.get("below"), LARGEST),
        _number("days", value.get("days", 7), MOST_DAYS),
        _text("resource_type", value.get("resource_type", "physical:host"), LONGEST_TYPE, 1),
        _text("quantity", value.get("quantity", "hosts"), LONGEST_TYPE, 1),
        _text("resource_properties", value.get("resource_properties", ""), LONGEST_TEXT),
    )


def _number(name: str, value: object, most: int) -> int:
    # JSON knows one sort of numbers: 5.0 is 5.
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= most:
        raise sentence(f"In capacity, {name} is a number from 1 to {most}.")
    return number


def _text(name: str, value: object, longest: int, shortest: int = 0) -> str:
    if not isinstance(value, str) or not shortest <= len(value) <= longest:
        raise sentence(f"In capacity, {name} is a string of at most {longest} characters.")
    check_characters(f"In capacity, {name}", value)
    return value


def _without_default(schema: dict[str, Any]) -> None:
    """Take out the empty text, which stands for what is not sent and cannot be sent."""
    del schema["default"]


CapacityField = Annotated[
    CapacityCondition | None, BeforeValidator(_capacity), WithJsonSchema(CAPACITY_SCHEMA)
]
TypeField = Annotated[
    str | None,
    BeforeValidator(_type),
    WithJsonSchema(
        {
            "type": ["string", "null"],
            "minLength": 1,
            "maxLength": LONGEST_TYPE,
            "description": "Tell only of leases with a reservation of this kind.",
            "examples": ["physical:host"],
        }
    ),
]


class SubscriptionCreate(Body):
    """Who is told what becomes of leases. Unknown keys are ignored."""

    url: UrlField
    events: FirstEventsField = FIRST_EVENTS
    name: NameField = NAME
    lease_id: Annotated[
        str | None,
        BeforeValidator(optional_id),
        WithJsonSchema({**OPTIONAL_ID_SCHEMA, "maxLength": 36, "description": "Tell only of this lease."}),
    ] = None
    project_id: Annotated[
        str | None,
        BeforeValidator(optional_id),
        WithJsonSchema(
            {
                **OPTIONAL_ID_SCHEMA,
                "description": "Tell of the leases of this project; by default of the caller's.",
            }
        ),
    ] = None
    all_projects: bool = Field(False, description="Tell of the leases of all projects.")
    resource_type: TypeField = None

    def command(self, own_project: str) -> commands.CreateSubscription:
        project = None if self.all_projects else self.project_id or own_project
        return commands.CreateSubscription(
            self.name, self.url, self.events, project, self.lease_id, self.resource_type
        )


class SubscriptionCreateCapacity(SubscriptionCreate):
    """Who is told what becomes of leases, or of capacity, since version 1.14. Unknown keys are ignored."""

    events: EventsOf114Field = EVENTS_OF_1_14
    capacity: CapacityField = None

    @model_validator(mode="after")
    def _of_leases_or_of_capacity(self) -> Self:
        of_leases = [name for name in OF_LEASES if getattr(self, name)]
        if self.capacity is not None and ("events" in self.model_fields_set or of_leases):
            raise sentence(
                f"With capacity there are no events, {', '.join(OF_LEASES[:-1])} or {OF_LEASES[-1]}."
            )
        return self

    def command(self, own_project: str) -> commands.CreateSubscription:
        command = super().command(own_project)
        return command if self.capacity is None else replace(command, events=(), capacity=self.capacity)


class SubscriptionCreateStream(SubscriptionCreateCapacity):
    """Who is told what becomes of leases, or of capacity, since version 1.16. Without `url` the events are
    kept, for `GET /v1/subscriptions/{subscription_id}/events`. Unknown keys are ignored."""

    url: UrlField = Field("", json_schema_extra=_without_default)


class SubscriptionCreateUnclaimed(SubscriptionCreateStream):
    """Who is told what becomes of leases, or of capacity, since version 1.32. Without `url` the events are
    kept, for `GET /v1/subscriptions/{subscription_id}/events`. Unknown keys are ignored."""

    events: EventsOf132Field = EVENTS_OF_1_32


class SubscriptionCreateNotices(SubscriptionCreateUnclaimed):
    """Who is told what becomes of leases and preemptible servers, or of capacity, since version 1.41. Without
    `url` the events are kept, for `GET /v1/subscriptions/{subscription_id}/events`. Unknown keys are
    ignored."""

    events: EventsField = EVENTS


class SubscriptionUpdate(Body):
    """What becomes different. What is not sent stays; unknown keys are ignored."""

    model_config = ConfigDict(json_schema_extra=without_defaults)

    url: UrlField | None = Field(None, description="Where messages are sent. Another one is resumed at once.")
    events: FirstEventsField | None = Field(None, description="What is told.")
    name: NameField | None = Field(None, description="The name.")
    resume: bool = Field(
        False, description="Send what waits at once, also where the subscription is suspended."
    )
    renew_secret: bool = Field(
        False, description="Make a new secret, which the answer shows. The old one is not used any more."
    )

    def command(self) -> commands.UpdateSubscription:
        return commands.UpdateSubscription(
            UNSET if self.name is None else self.name,
            UNSET if self.url is None else self.url,
            UNSET if self.events is None else self.events,
            self.resume,
            self.renew_secret,
        )


class SubscriptionUpdateEvents(SubscriptionUpdate):
    """What becomes different, since version 1.14: there are more events. What is not sent stays; unknown keys
    are ignored."""

    events: EventsOf114Field | None = Field(None, description="What is told.")


class SubscriptionUpdateUnclaimed(SubscriptionUpdate):
    """What becomes different, since version 1.32: there are more events. What is not sent stays; unknown keys
    are ignored."""

    events: EventsOf132Field | None = Field(None, description="What is told.")


class SubscriptionUpdateNotices(SubscriptionUpdate):
    """What becomes different, since version 1.41: there are more events. What is not sent stays; unknown keys
    are ignored."""

    events: EventsField | None = Field(None, description="What is told.")


CREATE: Mapping[Version, type[SubscriptionCreate]] = {
    (1, 11): SubscriptionCreate,
    (1, 14): SubscriptionCreateCapacity,
    (1, 16): SubscriptionCreateStream,
    (1, 32): SubscriptionCreateUnclaimed,
    (1, 41): SubscriptionCreateNotices,
}
UPDATE: Mapping[Version, type[SubscriptionUpdate]] = {
    (1, 11): SubscriptionUpdate,
    (1, 14): SubscriptionUpdateEvents,
    (1, 32): SubscriptionUpdateUnclaimed,
    (1, 41): SubscriptionUpdateNotices,
}
"""The bodies by the version that brought them."""
