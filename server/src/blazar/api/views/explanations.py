"""The view of what a refusal tells beside its reasons: what could be had instead, and what stands in the
way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from blazar.api.views.availability import AnswerView, answer_view
from blazar.api.views.dates import wire_date
from blazar.service.answers import AvailabilityAnswer
from blazar.service.explanations import BlockingLease, Explanation, LeaseOwner


class SuggestionsView(TypedDict):
    """What could be had instead, as the answers to a question for availability."""

    answers: Annotated[
        list[AnswerView],
        Field(
            description="At most six, the best one first. `lease` is the body to send: of a create, or of an "
            "update."
        ),
    ]
    cut_short: Annotated[
        bool, Field(description="Whether not all was searched: there may be other or earlier ones.")
    ]


class BlockingLeaseView(TypedDict):
    """A lease, or an offer, that has what is lacking. What the caller may not know of it is null."""

    lease_id: Annotated[str | None, Field(description="Its UUID.")]
    name: Annotated[str | None, Field(description="Its name.")]
    project_id: Annotated[str | None, Field(description="The project that has it.")]
    user_id: Annotated[str | None, Field(description="Who asked for it.")]
    is_offer: Annotated[bool, Field(description="Whether it is an offer, which may expire unclaimed.")]
    start_date: Annotated[str, Field(description="From when on it has resources that match, in UTC.")]
    end_date: Annotated[str, Field(description="Until when it has them, in UTC.")]
    resources: Annotated[int, Field(description="How many resources that match it has, or a part of.")]


class BlockingView(TypedDict):
    """The leases that stand in the way: those with resources that match, in the time that is asked for."""

    leases: Annotated[list[BlockingLeaseView], Field(description="At most 20, those first that end first.")]
    more: Annotated[int, Field(description="How many there are besides.")]


class ExplanationView(TypedDict):
    suggestions: Annotated[SuggestionsView, Field(description="What could be had instead.")]
    blocking: Annotated[BlockingView, Field(description="The leases that stand in the way.")]


NOTHING_FOUND = Explanation()
NOT_EXPLAINED = Explanation(cut_short=True)


def explanation_view(
    found: Explanation, may_see: Callable[[LeaseOwner], bool], is_update: bool
) -> ExplanationView:
    """Return the view for a caller who may see some of the leases."""
    return {
        "suggestions": {
            "answers": [_suggestion(each, is_update) for each in found.suggestions],
            "cut_short": found.cut_short,
        },
        "blocking": {
            "leases": [_blocking(each, may_see) for each in found.blocking],
            "more": found.more,
        },
    }


def _suggestion(answer: AvailabilityAnswer, is_update: bool) -> AnswerView:
    view = answer_view(answer)
    if is_update:
        reservations = [_change(each) for each in view["lease"]["reservations"]]
        view["lease"]["reservations"] = [each for each in reservations if each.keys() != {"id"}]
    return view


def _change(reservation: dict[str, Any]) -> dict[str, Any]:
    if "id" not in reservation:
        return reservation  # it is added
    return {name: value for name, value in reservation.items() if name != "resource_type"}


def _blocking(each: BlockingLease, may_see: Callable[[LeaseOwner], bool]) -> BlockingLeaseView:
    owner = each.owner if each.owner is not None and may_see(each.owner) else None
    return {
        "lease_id": None if owner is None else owner.lease_id,
        "name": None if owner is None else owner.name,
        "project_id": None if owner is None else owner.project_id,
        "user_id": None if owner is None else owner.user_id,
        "is_offer": each.is_offer,
        "start_date": wire_date(each.start),
        "end_date": wire_date(each.end),
        "resources": each.resources,
    }
