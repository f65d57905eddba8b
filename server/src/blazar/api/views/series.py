"""The view of a series in answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from blazar.api.lists import PageLink
from blazar.api.views.dates import stamp, wire_date
from blazar.domain.lease.lease import Lease
from blazar.domain.series import OnConflict, Series, SeriesOccurrence
from blazar.service.series import OccurrencePreview, SeriesPreview

# "except" is a word of Python.
RecurrenceView = TypedDict(
    "RecurrenceView",
    {
        "rule": Annotated[str, Field(description="The rule, as RFC 5545 writes it.")],
        "time_zone": Annotated[str, Field(description="The zone of its days and local times.")],
        "except": Annotated[list[str], Field(description="The days that are left out.")],
    },
)


class OccurrenceView(TypedDict):
    """An occurrence of a series."""

    date: Annotated[str, Field(description="The day of its start, in the zone of the series.")]
    start_date: Annotated[str, Field(description="When its lease starts, in UTC; as asked for without one.")]
    end_date: Annotated[str, Field(description="When its lease ends, in UTC; as asked for without one.")]
    lease_id: Annotated[str | None, Field(description="Its lease; null where it was skipped or cancelled.")]
    status: Annotated[
        str | None, Field(description="The status of its lease; null where that is not there any more.")
    ]
    reason: Annotated[str | None, Field(description="Why it was skipped or cancelled.")]


class SeriesView(TypedDict):
    """Leases that recur."""

    id: Annotated[str, Field(description="UUID of the series.")]
    name: Annotated[str, Field(description="Its user's name for it; need not be unique.")]
    user_id: Annotated[str, Field(description="Who made it.")]
    project_id: Annotated[str, Field(description="The project of its leases.")]
    recurrence: Annotated[RecurrenceView, Field(description="When its leases recur.")]
    on_conflict: Annotated[OnConflict, Field(description="What was done where not all could be had.")]
    occurrences: NotRequired[
        Annotated[list[OccurrenceView], Field(description="All of them, in order; not in lists.")]
    ]
    created_at: Annotated[str | None, Field(description="When it was made, in UTC: `2026-11-20 14:58:06`.")]
    updated_at: Annotated[str | None, Field(description="When it was last changed, in UTC; null if never.")]


class SeriesReply(TypedDict):
    series: Annotated[SeriesView, Field(description="The series.")]


class PlannedOccurrenceView(TypedDict):
    """An occurrence of a series that is not made."""

    date: Annotated[str, Field(description="The day of its start, in the zone of the series.")]
    start_date: Annotated[str, Field(description="When its lease would start, in UTC.")]
    end_date: Annotated[str, Field(description="When its lease would end, in UTC.")]
    granted: Annotated[bool, Field(description="Whether its lease could be had.")]
    reason: Annotated[str | None, Field(description="Why it could not be had.")]


class PlannedSeriesView(TypedDict):
    """A series as it would be made."""

    name: Annotated[str, Field(description="Its user's name for it.")]
    user_id: Annotated[str, Field(description="Who asks.")]
    project_id: Annotated[str, Field(description="The project of its leases.")]
    recurrence: Annotated[RecurrenceView, Field(description="When its leases would recur.")]
    on_conflict: Annotated[OnConflict, Field(description="What is done where not all can be had.")]
    granted: Annotated[
        bool,
        Field(
            description="Whether it would be made: with `refuse` all its leases can be had, with `skip` one."
        ),
    ]
    occurrences: Annotated[list[PlannedOccurrenceView], Field(description="All of them, in order.")]


class SeriesPreviewReply(TypedDict):
    series: Annotated[PlannedSeriesView, Field(description="The series as it would be made.")]


class SeriesListReply(TypedDict):
    series: Annotated[list[SeriesView], Field(description="The series of a page, by their ids.")]
    series_links: NotRequired[
        Annotated[list[PageLink], Field(description="The link to the next page, where there is one.")]
    ]


def series_view(series: Series) -> SeriesView:
    return {
        "id": series.id,
        "name": series.name,
        "user_id": series.user_id,
        "project_id": series.project_id,
        "recurrence": {
            "rule": series.rule,
            "time_zone": series.time_zone,
            "except": [day.isoformat() for day in series.exceptions],
        },
        "on_conflict": series.on_conflict,
        "created_at": stamp(series.created_at),
        "updated_at": stamp(series.updated_at),
    }


def series_reply(series: Series, leases: Sequence[Lease]) -> SeriesReply:
    """Return the series with its occurrences."""
    there = {lease.id: lease for lease in leases}
    occurrences = [_occurrence(each, there.get(each.lease_id or "")) for each in series.occurrences]
    return {"series": {**series_view(series), "occurrences": occurrences}}


def series_preview_reply(
    preview: SeriesPreview, reason: Callable[[OccurrencePreview], str | None]
) -> SeriesPreviewReply:
    """Return the series as it would be made. ``reason`` is what the caller is told of an occurrence."""
    shown = series_view(preview.series)
    occurrences: list[PlannedOccurrenceView] = [
        {
            "date": each.occurrence.day.isoformat(),
            "start_date": wire_date(each.occurrence.interval.start),
            "end_date": wire_date(each.occurrence.interval.end),
            "granted": each.reason is None,
            "reason": reason(each),
        }
        for each in preview.occurrences
    ]
    return {
        "series": {
            "name": shown["name"],
            "user_id": shown["user_id"],
            "project_id": shown["project_id"],
            "recurrence": shown["recurrence"],
            "on_conflict": shown["on_conflict"],
            "granted": preview.is_granted,
            "occurrences": occurrences,
        }
    }


def _occurrence(occurrence: SeriesOccurrence, lease: Lease | None) -> OccurrenceView:
    interval = occurrence.interval if lease is None else lease.interval
    return {
        "date": occurrence.day.isoformat(),
        "start_date": wire_date(interval.start),
        "end_date": wire_date(interval.end),
        "lease_id": occurrence.lease_id,
        "status": None if lease is None else lease.status.value,
        "reason": occurrence.reason,
    }
