"""The view of the answers to a question for availability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from blazar.api.microversion import Version
from blazar.api.views.dates import wire_date
from blazar.domain.lease.offer import Offer
from blazar.domain.time import MINUTE
from blazar.service.availability import Availability, AvailabilityAnswer

WITH_REPLACED: Version = (1, 6)
"""The version since which an answer tells what is asked for instead."""


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


class ReplacedView(TypedDict):
    """A part of what was asked for that the answer does not keep."""

    reservation: Annotated[int, Field(description="The number of the reservation, from 0 on.")]
    parameter: Annotated[
        str, Field(description="The parameter that differs: `resource_properties`, `flavor_id`.")
    ]
    part: Annotated[
        str, Field(description="The part of the requirement, or the name of the flavor, that was asked for.")
    ]
    instead: Annotated[str | None, Field(description="What is asked for instead; null for nothing.")]


class AnswerView(TypedDict):
    """A lease that could be made at this moment. It is held where it has an offer."""

    start_date: Annotated[str, Field(description="When it starts, in UTC: `2050-01-01T10:00:00.000000`.")]
    end_date: Annotated[str, Field(description="When it ends, in UTC: `2050-01-01T10:00:00.000000`.")]
    duration: Annotated[int, Field(description="How long it lasts, in minutes.")]
    changes: Annotated[
        list[str],
        Field(
            description="What is not as it was asked for: `start`, `duration`, `amount`; since 1.6 also "
            "`requirement` and `size`."
        ),
    ]
    description: Annotated[str, Field(description="The same in words: `starts 2 hours later`.")]
    reservations: Annotated[list[UnitsView], Field(description="What each reservation would get.")]
    lease: Annotated[AnsweredLease, Field(description="What to send, with a name, to create it.")]
    replaced: NotRequired[
        Annotated[list[ReplacedView], Field(description="Since 1.6: what is asked for instead of what was.")]
    ]
    offer_id: NotRequired[
        Annotated[
            str | None,
            Field(description="Since 1.6, where `hold` was sent: the offer that holds it; null for none."),
        ]
    ]
    expires_at: NotRequired[
        Annotated[
            str | None, Field(description="Since 1.6, where `hold` was sent: until when it is held, in UTC.")
        ]
    ]
    not_held: NotRequired[
        Annotated[
            str | None,
            Field(description="Since 1.6, where `hold` was sent: why it is not held; null where it is."),
        ]
    ]


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


def availability_reply(
    found: Availability, version: Version, held: Sequence[HeldAnswer] = ()
) -> AvailabilityReply:
    """Return the reply in a version of the API. ``held`` tells of each answer whether it is held."""
    views = [answer_view(each, version) for each in found.answers]
    for view, each in zip(views, held, strict=bool(held)):
        view["offer_id"] = None if each.offer is None else each.offer.id
        view["expires_at"] = None if each.offer is None else wire_date(each.offer.expires_at)
        view["not_held"] = each.reason
    return {
        "availability": {
            "answers": views,
            "reason": found.reason,
            "cut_short": found.cut_short,
        }
    }


@dataclass(frozen=True, slots=True)
class HeldAnswer:
    """The offer that holds an answer, or the reason why it is not held."""

    offer: Offer | None
    reason: str | None


def answer_view(answer: AvailabilityAnswer, version: Version = WITH_REPLACED) -> AnswerView:
    view = _answer(answer)
    if version >= WITH_REPLACED:
        view["replaced"] = [
            {
                "reservation": each.reservation,
                "parameter": each.parameter,
                "part": each.part,
                "instead": each.instead,
            }
            for each in answer.replaced
        ]
    return view


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
