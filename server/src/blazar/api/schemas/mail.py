"""The body of a request about mail."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from blazar.api.microversion import Version
from blazar.api.schemas.fields import Body, sentence, without_defaults
from blazar.domain.subscription import SINCE_1_32, LeaseEvent
from blazar.service.commands import UNSET, UpdateMail

FIRST_EVENTS = tuple(each for each in LeaseEvent if each not in SINCE_1_32)


def _events_of(known: Collection[LeaseEvent]) -> BeforeValidator:
    """Return what reads a list of these events."""
    words = ", ".join(known)

    def events(value: object) -> tuple[LeaseEvent, ...] | None:
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise sentence(f"The events are a list of words, or null: {words}.")
        if not set(value) <= set(known):
            raise sentence(f"There is no such event. The events are {words}.")
        return tuple(each for each in LeaseEvent if each in value)

    return BeforeValidator(events)


def _schema_of(known: Collection[LeaseEvent]) -> WithJsonSchema:
    return WithJsonSchema(
        {
            "type": ["array", "null"],
            "items": {"type": "string", "enum": list(known)},
            "description": "What is told; an empty list for no mail, and null for what the operator has "
            "told.",
            "examples": [["end_soon", "degraded"]],
        }
    )


class MailUpdate(Body):
    """What the caller wants to be told by mail. What is not sent stays; unknown keys are ignored."""

    model_config = ConfigDict(json_schema_extra=without_defaults)

    events: Annotated[tuple[LeaseEvent, ...] | None, _events_of(FIRST_EVENTS), _schema_of(FIRST_EVENTS)] = (
        None
    )
    daily: Annotated[
        bool, Field(description="Tell all events of a day in one mail, and not each of them at once.")
    ] = False

    def command(self) -> UpdateMail:
        sent = self.model_fields_set
        return UpdateMail(
            self.events if "events" in sent else UNSET, self.daily if "daily" in sent else UNSET
        )


class MailUpdateUnclaimed(MailUpdate):
    """What the caller wants to be told by mail, since version 1.32: there are more events. What is not sent
    stays; unknown keys are ignored."""

    events: Annotated[
        tuple[LeaseEvent, ...] | None, _events_of(tuple(LeaseEvent)), _schema_of(LeaseEvent)
    ] = None


UPDATE: Mapping[Version, type[MailUpdate]] = {(1, 24): MailUpdate, (1, 32): MailUpdateUnclaimed}
"""The bodies by the version that brought them."""
