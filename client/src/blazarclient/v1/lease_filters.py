"""The filters and the order of a list of leases: as the service takes them from microversion 1.1 on, and done
here for an older service."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from blazarclient.wire_time import INPUT_FORMAT, OUTPUT_FORMAT

Row = dict[str, Any]


@dataclass(frozen=True)
class LeaseFilters:
    """The leases that are asked for. None is no condition. Times are ``YYYY-MM-DD HH:MM`` in UTC."""

    status: str | Sequence[str] | None = None
    name: str | None = None
    project_id: str | None = None
    id: str | Sequence[str] | None = None
    resource_type: str | None = None
    starts_after: str | None = None
    starts_before: str | None = None
    ends_after: str | None = None
    ends_before: str | None = None
    sort: str | None = None

    def query(self) -> dict[str, str]:
        """Return the query of the request."""
        return {
            name: value if isinstance(value, str) else ",".join(value)
            for name, value in vars(self).items()
            if value is not None
        }

    def select(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows that are asked for, in the order that is asked for. Raises KeyError."""
        found = [row for row in rows if self._is_asked_for(row)]
        if self.sort is None:
            return found
        key, _, direction = self.sort.partition(":")
        return sorted(found, key=lambda row: (row[key], row["id"]), reverse=direction == "desc")

    def _is_asked_for(self, row: Row) -> bool:
        given = {name: value for name, value in vars(self).items() if value is not None and name != "sort"}
        return all(_CONDITIONS[name](row, value) for name, value in given.items())


def _is_one_of(key: str) -> Callable[[Row, Any], bool]:
    return lambda row, value: row[key] in ([value] if isinstance(value, str) else value)


def _moment(row: Row, key: str) -> datetime:
    return datetime.strptime(row[key], OUTPUT_FORMAT)  # noqa: DTZ007 (UTC on the wire)


def _given(text: str) -> datetime:
    return datetime.strptime(text, INPUT_FORMAT)  # noqa: DTZ007 (UTC on the wire)


_CONDITIONS: Mapping[str, Callable[[Row, Any], bool]] = {
    "status": _is_one_of("status"),
    "id": _is_one_of("id"),
    "name": lambda row, name: row["name"] == name,
    "project_id": lambda row, project_id: row["project_id"] == project_id,
    "resource_type": lambda row, kind: any(each["resource_type"] == kind for each in row["reservations"]),
    "starts_after": lambda row, text: _moment(row, "start_date") >= _given(text),
    "starts_before": lambda row, text: _moment(row, "start_date") < _given(text),
    "ends_after": lambda row, text: _moment(row, "end_date") > _given(text),
    "ends_before": lambda row, text: _moment(row, "end_date") <= _given(text),
}
