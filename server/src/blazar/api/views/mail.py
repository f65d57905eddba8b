"""The view of what a user is told by mail."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from blazar.api.microversion import Version
from blazar.domain.subscription import SINCE_1_32, LeaseEvent
from blazar.service.mail_choices import OwnMail


class MailView(TypedDict):
    """What the caller is told by mail of leases that are the caller's."""

    enabled: Annotated[bool, Field(description="Whether the operator has mail sent at all.")]
    events: Annotated[list[LeaseEvent], Field(description="What is told.")]
    chosen: Annotated[
        bool, Field(description="Whether the caller has chosen these events, or the operator has.")
    ]
    daily: Annotated[bool, Field(description="Whether all events of a day are told in one mail.")]
    daily_hour: Annotated[int, Field(description="When that goes out: the hour, in UTC.")]


class MailReply(TypedDict):
    mail: MailView


def mail_reply(own: OwnMail, version: Version) -> MailReply:
    """Return what is told, with the events that the version knows."""
    told = own.usual if own.choice.events is None else own.choice.events
    events = [each for each in told if version >= (1, 32) or each not in SINCE_1_32]
    return {
        "mail": {
            "enabled": own.is_sent,
            "events": events,
            "chosen": own.choice.events is not None,
            "daily": own.choice.is_daily,
            "daily_hour": own.daily_hour,
        }
    }
