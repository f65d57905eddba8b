"""The view of the answers to a question for availability."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from blazar.api.views.dates import wire_date
from blazar.domain.time import MINUTE
from blazar.service.availability import Availability, AvailabilityAnswer


class UnitsView(TypedDict):
    """What a reservation would get."""

    resource_type: Annotated[str, Field(description="The kind of reservation.")]
    units: Annotated[int, Field(description="How many hosts, servers or addresses it would get.")]


class AnsweredLease(TypedDict):
    """The body of a create, but for its name."""

    start_date: Annotated[str, Field(description="When it starts, in UTC: `2050-01-01 10:00`.")]
    end_date: Annotated[str, Field(description="When it ends, in UTC: `2050-01-01 10:00`.")]
    reservations: Annotated[
        list[dict[str, Any]], Field(description="Its reservations, as they are to be sent.")
    ]


class AnswerView(TypedDict):
    """A lease that could be made at this moment. It is not held."""

    start_date: Annotated[str, Field(description="When it starts, in UTC: `2050-01-01T10:00:00.000000`.")]
    end_date: Annotated[str, Field(description="When it ends, in UTC: `2050-01-01T10:00:00.000000`.")]
    duration: Annotated[int, Field(description="How long it lasts, in minutes.")]
    changes: Annotated[
        list[str], Field(description="What is not as it was asked for: `start`, `duration`, `amount`.")
    ]
    description: Annotated[str, Field(description="The same in words: `starts 2 hours later`.")]
    reservations: Annotated[list[UnitsView], Field(description="What each reservation would get.")]
    lease: Annotated[AnsweredLease, Field(description="What to send, with a name, to create it.")]


class AvailabilityView(TypedDict):
    """The answers to a question."""

    answers: Annotated[list[AnswerView], Field(description="At most six, the best one first.")]
    reason: Annotated[
        str | None,
        Field(description="Why it cannot be had as asked for at the earliest start; null where it can."),
    ]
    cut_short: Annotated[
        bool,
        Field(description="Whether not all was searched: there may be other or earlier answers."),
    ]


class AvailabilityReply(TypedDict):
    availability: Annotated[AvailabilityView, Field(description="The answers.")]


def availability_reply(found: Availability) -> AvailabilityReply:
    return {
        "availability": {
            "answers": [_answer(each) for each in found.answers],
            "reason": found.reason,
            "cut_short": found.cut_short,
        }
    }


def _answer(answer: AvailabilityAnswer) -> AnswerView:
    start, end = answer.interval.start, answer.interval.end
    return {
        "start_date": wire_date(start),
        "end_date": wire_date(end),
        "duration": answer.interval.duration // MINUTE,
        "changes": [each.value for each in answer.changes],
        "description": answer.description,
        "reservations": [
            {"resource_type": request.resource_type, "units": units}
            for request, units in zip(answer.reservations, answer.units, strict=True)
        ],
        "lease": {
            "start_date": f"{start:%Y-%m-%d %H:%M}",
            "end_date": f"{end:%Y-%m-%d %H:%M}",
            "reservations": [
                {"resource_type": request.resource_type, **request.parameters}
                for request in answer.reservations
            ],
        },
    }
