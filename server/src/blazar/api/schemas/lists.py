"""The parameters of lists in pages, from API 1.1 on. An earlier version ignores them and shows the whole
list."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from blazar.api.microversion import Version
from blazar.api.schemas.fields import DATE_SCHEMA, MAX_NAME, parse_date, sentence
from blazar.api.schemas.queries import ID, Flag, Id, Query
from blazar.domain.errors import InvalidDate
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.lease.priority import Priority
from blazar.service.ports import LeaseSort

MAX_LIMIT = 1000
"""The most items of a page, and as many as there are without a limit."""
MAX_DELETIONS = 100
"""The most leases that one request deletes, and as many as there are without a limit."""
MAX_VALUES = 100
"""The most values that a parameter may have, separated by commas."""
MAX_MARKER = 1024
_SORTS = ", ".join(LeaseSort)
STATUSES = tuple(status for status in LeaseStatus if status is not LeaseStatus.UNKNOWN)


def _limit(value: str, most: int = MAX_LIMIT) -> int:
    if not (value.isascii() and value.isdecimal() and len(value) < 6 and 1 <= int(value) <= most):
        raise sentence(f"Malformed parameter limit: a number from 1 to {most} is expected.")
    return int(value)


def _deletions(value: str) -> int:
    return _limit(value, MAX_DELETIONS)


def _marker(value: str) -> str:
    if not ID.fullmatch(value[:255]) or len(value) > MAX_MARKER:
        raise sentence("Malformed parameter marker: take it from the link to the next page.")
    return value


def _several(name: str, value: str) -> tuple[str, ...]:
    values = tuple(dict.fromkeys(value.split(",")))
    if "" in values or len(values) > MAX_VALUES:
        raise sentence(
            f"Malformed parameter {name}: at most {MAX_VALUES} values are expected, with commas between them."
        )
    return values


def _ids(value: str) -> tuple[str, ...]:
    values = _several("id", value)
    if not all(map(ID.fullmatch, values)):
        raise sentence("Malformed parameter id: not an id.")
    return values


def _statuses(value: str) -> tuple[LeaseStatus, ...]:
    values = _several("status", value)
    if not set(values) <= set(STATUSES):
        raise sentence(f"Malformed parameter status: some of {', '.join(STATUSES)} are expected.")
    return tuple(map(LeaseStatus, values))


def _priority(value: str) -> Priority:
    if value not in set(Priority):
        raise sentence(f"Malformed parameter priority: one of {', '.join(Priority)} is expected.")
    return Priority(value)


def _sort(value: str) -> tuple[LeaseSort, bool]:
    """Return what to sort by, and whether the last comes first."""
    key, _, direction = value.partition(":")
    if key not in set(LeaseSort) or direction not in ("", "asc", "desc"):
        raise sentence(
            f"Malformed parameter sort: one of {_SORTS} is expected, with :asc or :desc behind it."
        )
    return LeaseSort(key), direction == "desc"


def _moment(value: str) -> datetime:
    try:
        return parse_date(value)
    except InvalidDate as error:
        raise sentence(error.message) from None


def _text(what: str, most: int) -> BeforeValidator:
    def text(value: str) -> str:
        if len(value) > most or not value.isprintable() or any(ord(char) > 0xFFFF for char in value):
            raise sentence(f"Malformed parameter {what}: at most {most} characters are expected.")
        return value

    return BeforeValidator(text)


def _described(pattern: str = "") -> WithJsonSchema:
    return WithJsonSchema({"type": "string"} | ({"pattern": pattern} if pattern else {}))


_Moment = Annotated[datetime | None, BeforeValidator(_moment), _described(str(DATE_SCHEMA["pattern"]))]


class PageQuery(Query):
    """The part of a list that is asked for."""

    limit: Annotated[
        int,
        BeforeValidator(_limit),
        WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MAX_LIMIT}),
        Field(description=f"The most items of this page; {MAX_LIMIT} without it. From 1.1 on."),
    ] = MAX_LIMIT
    marker: Annotated[
        str | None,
        BeforeValidator(_marker),
        _described(),
        Field(description="The place after which the page begins, as the link to it says. From 1.1 on."),
    ] = None


class SubscriptionsQuery(PageQuery):
    """The part of the list of subscriptions that is asked for."""

    limit: Annotated[
        int,
        BeforeValidator(_limit),
        WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MAX_LIMIT}),
        Field(description=f"The most items of this page; {MAX_LIMIT} without it. From 1.14 on."),
    ] = MAX_LIMIT
    marker: Annotated[
        str | None,
        BeforeValidator(_marker),
        _described(),
        Field(description="The place after which the page begins, as the link to it says. From 1.14 on."),
    ] = None


class FeedsQuery(PageQuery):
    """Which calendar feeds to show."""

    project_id: Annotated[
        Id, Field(description="Only those that were made with this project; for administrators.")
    ] = None
    user_id: Annotated[Id, Field(description="Only those of this user; for administrators.")] = None


class SeriesQuery(PageQuery):
    """Which series to show."""

    project_id: Annotated[Id, Field(description="Only those of this project; for administrators.")] = None


class SeriesQueryByName(SeriesQuery):
    """Which series to show, since version 1.31."""

    name: Annotated[
        str | None,
        _text("name", MAX_NAME),
        _described(),
        Field(description="Only series of exactly this name. From 1.31 on."),
    ] = None


class SeriesToDelete(Query):
    """What of a series to delete."""

    keep_started: Annotated[
        Flag, Field(description="Leave leases that have started, and delete only those that have not.")
    ] = False


class LeaseFilters(Query):
    """Which leases are meant. Several values are separated by commas."""

    status: Annotated[
        tuple[LeaseStatus, ...] | None,
        BeforeValidator(_statuses),
        _described(),
        Field(description="Only leases in one of these statuses. From 1.1 on."),
    ] = None
    project_id: Annotated[
        str | None,
        _text("project_id", 255),
        _described(),
        Field(description="Only leases of this project; administrators may name any. From 1.1 on."),
    ] = None
    name: Annotated[
        str | None,
        _text("name", MAX_NAME),
        _described(),
        Field(description="Only leases of exactly this name. From 1.1 on."),
    ] = None
    id: Annotated[
        tuple[str, ...] | None,
        BeforeValidator(_ids),
        _described(),
        Field(description="Only the leases with these ids. From 1.1 on."),
    ] = None
    resource_type: Annotated[
        str | None,
        _text("resource_type", 64),
        _described(),
        Field(description="Only leases that have a reservation of this kind. From 1.1 on."),
    ] = None
    starts_after: Annotated[
        _Moment, Field(description="Only leases that start at this moment or later. From 1.1 on.")
    ] = None
    starts_before: Annotated[
        _Moment, Field(description="Only leases that start before this moment. From 1.1 on.")
    ] = None
    ends_after: Annotated[
        _Moment, Field(description="Only leases that end after this moment. From 1.1 on.")
    ] = None
    ends_before: Annotated[
        _Moment, Field(description="Only leases that end at this moment or earlier. From 1.1 on.")
    ] = None


class LeasesQuery(PageQuery, LeaseFilters):
    """Which leases to show, in which order. Several values are separated by commas."""

    sort: Annotated[
        tuple[LeaseSort, bool],
        BeforeValidator(_sort),
        _described(f"^({'|'.join(LeaseSort)})(:(asc|desc))?$"),
        Field(
            description=f"What to sort by: one of {_SORTS}, with `:desc` behind it for the last first. "
            "From 1.1 on."
        ),
    ] = (LeaseSort.CREATED_AT, False)
    fields: Annotated[
        tuple[str, ...] | None,
        BeforeValidator(lambda value: _several("fields", value)),
        _described(),
        Field(description="Show only these fields of each lease. From 1.1 on."),
    ] = None


_Priority = Annotated[
    Priority | None,
    BeforeValidator(_priority),
    _described(f"^({'|'.join(Priority)})$"),
    Field(description="Only leases of this class. From 1.13 on."),
]


class LeasesQueryByPriority(LeasesQuery):
    """Which leases to show, in which order, since version 1.13. Several values are separated by commas."""

    priority: _Priority = None


class LeasesQueryBySeries(LeasesQueryByPriority):
    """Which leases to show, in which order, since version 1.31. Several values are separated by commas."""

    series_id: Annotated[Id, Field(description="Only leases of this series. From 1.31 on.")] = None


class LeasesQueryShared(LeasesQueryBySeries):
    """Which leases to show, in which order, since version 1.34. Several values are separated by commas."""

    shared: Annotated[
        Flag,
        Field(
            description="Leases of other projects that are shared with the caller's, in place of its own; "
            "sorted by created_at only. From 1.34 on."
        ),
    ] = False

    @model_validator(mode="after")
    def _can_be_sorted(self) -> Self:
        if self.shared and self.sort[0] is not LeaseSort.CREATED_AT:
            raise sentence("Malformed parameter sort: shared leases are sorted by created_at only.")
        return self


class LeasesToDelete(LeaseFilters):
    """Which leases to delete: those that meet all filters. Several values are separated by commas."""

    priority: _Priority = None
    limit: Annotated[
        int,
        BeforeValidator(_deletions),
        WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MAX_DELETIONS}),
        Field(description=f"The most leases of this request; {MAX_DELETIONS} without it."),
    ] = MAX_DELETIONS
    marker: Annotated[
        str | None,
        BeforeValidator(_marker),
        _described(),
        Field(description="Where to go on, as the answer to the request before says."),
    ] = None
    dry_run: Annotated[Flag, Field(description="Only tell which leases these are.")] = False

    @model_validator(mode="after")
    def _has_a_filter(self) -> Self:
        if not self.model_fields_set - {"limit", "marker", "dry_run"}:
            raise sentence(f"Say which leases, by at least one of {', '.join(LeaseFilters.model_fields)}.")
        return self


LEASES: Mapping[Version, type[LeasesQuery]] = {
    (1, 1): LeasesQuery,
    (1, 13): LeasesQueryByPriority,
    (1, 31): LeasesQueryBySeries,
    (1, 34): LeasesQueryShared,
}
SERIES: Mapping[Version, type[SeriesQuery]] = {(1, 27): SeriesQuery, (1, 31): SeriesQueryByName}
"""The queries, by the version that brought them."""
