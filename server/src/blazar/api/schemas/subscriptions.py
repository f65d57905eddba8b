"""The bodies of requests for subscriptions."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from blazar.api.schemas.fields import Body, NameField, check_characters, sentence, without_defaults
from blazar.api.schemas.queries import ID
from blazar.domain.subscription import LeaseEvent
from blazar.service import commands
from blazar.service.commands import UNSET

LONGEST_URL = 2000
LONGEST_TYPE = 66
NAME = "subscription"
WORDS = ", ".join(LeaseEvent)


def _url(value: object) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_URL:
        raise sentence(f"The url is a string of at most {LONGEST_URL} characters.")
    return value


def _events(value: object) -> tuple[LeaseEvent, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
        raise sentence(f"The events are a list of words: {WORDS}.")
    if not set(value) <= set(LeaseEvent):
        raise sentence(f"There is no such event. The events are {WORDS}.")
    return tuple(each for each in LeaseEvent if each in value)


def _id(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not ID.fullmatch(value):
        raise sentence("An id is a text of letters, digits and dashes.")
    return value


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
EventsField = Annotated[
    tuple[LeaseEvent, ...],
    BeforeValidator(_events),
    WithJsonSchema(
        {
            "type": "array",
            "items": {"type": "string", "enum": list(LeaseEvent)},
            "minItems": 1,
            "description": "What is told.",
            "examples": [["started", "end_soon", "ended"]],
        }
    ),
]
_ID_SCHEMA = {"type": ["string", "null"], "maxLength": 255, "pattern": ID.pattern}
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
    events: EventsField = tuple(LeaseEvent)
    name: NameField = NAME
    lease_id: Annotated[
        str | None,
        BeforeValidator(_id),
        WithJsonSchema({**_ID_SCHEMA, "maxLength": 36, "description": "Tell only of this lease."}),
    ] = None
    project_id: Annotated[
        str | None,
        BeforeValidator(_id),
        WithJsonSchema(
            {**_ID_SCHEMA, "description": "Tell of the leases of this project; by default of the caller's."}
        ),
    ] = None
    all_projects: bool = Field(False, description="Tell of the leases of all projects.")
    resource_type: TypeField = None

    def command(self, own_project: str) -> commands.CreateSubscription:
        project = None if self.all_projects else self.project_id or own_project
        return commands.CreateSubscription(
            self.name, self.url, self.events, project, self.lease_id, self.resource_type
        )


class SubscriptionUpdate(Body):
    """What becomes different. What is not sent stays; unknown keys are ignored."""

    model_config = ConfigDict(json_schema_extra=without_defaults)

    url: UrlField | None = Field(None, description="Where messages are sent. Another one is resumed at once.")
    events: EventsField | None = Field(None, description="What is told.")
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
