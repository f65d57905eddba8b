"""The body of a request about mail."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from blazar.api.schemas.fields import Body, sentence, without_defaults
from blazar.domain.subscription import LeaseEvent
from blazar.service.commands import UNSET, UpdateMail

WORDS = ", ".join(LeaseEvent)


def _events(value: object) -> tuple[LeaseEvent, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise sentence(f"The events are a list of words, or null: {WORDS}.")
    if not set(value) <= set(LeaseEvent):
        raise sentence(f"There is no such event. The events are {WORDS}.")
    return tuple(each for each in LeaseEvent if each in value)


class MailUpdate(Body):
    """What the caller wants to be told by mail. What is not sent stays; unknown keys are ignored."""

    model_config = ConfigDict(json_schema_extra=without_defaults)

    events: Annotated[
        tuple[LeaseEvent, ...] | None,
        BeforeValidator(_events),
        WithJsonSchema(
            {
                "type": ["array", "null"],
                "items": {"type": "string", "enum": list(LeaseEvent)},
                "description": "What is told; an empty list for no mail, and null for what the operator has "
                "told.",
                "examples": [["end_soon", "degraded"]],
            }
        ),
    ] = None
    daily: Annotated[
        bool, Field(description="Tell all events of a day in one mail, and not each of them at once.")
    ] = False

    def command(self) -> UpdateMail:
        sent = self.model_fields_set
        return UpdateMail(
            self.events if "events" in sent else UNSET, self.daily if "daily" in sent else UNSET
        )
