"""Series in the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from blazar.adapters.db.tables import series as table
from blazar.domain.errors import Stale
from blazar.domain.series import OnConflict, Series, SeriesOccurrence, SeriesRequest, SeriesReservation
from blazar.domain.time import MINUTE, Interval

S = table.c
READ = [column for column in S if column is not S.request]
"""What is read of a series: all but what is needed to make leases of it, which may be long."""


class SqlSeries:
    """The SeriesRepository of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(
        self,
        series: Series,
        now: datetime,
        key: tuple[str, str] | None = None,
        request: SeriesRequest | None = None,
    ) -> Series:
        name, fingerprint = key or (None, None)
        row = {
            **_changing(series),
            "id": series.id,
            "user_id": series.user_id,
            "project_id": series.project_id,
            "rule": series.rule,
            "time_zone": series.time_zone,
            "on_conflict": series.on_conflict.value,
            "ends_at": series.ends_at,
            "revision": series.revision,
            "request_key": name,
            "fingerprint": fingerprint,
            "request": None if request is None else _request_document(request),
            "created_at": now,
        }
        try:
            self._connection.execute(insert(table), row)
        except IntegrityError:
            raise Stale() from None
        return replace(series, created_at=now)

    def get(self, series_id: str) -> Series | None:
        row = self._connection.execute(select(*READ).where(S.id == series_id)).first()
        return None if row is None else _series(row)

    def request(self, series_id: str) -> SeriesRequest | None:
        document = self._connection.scalar(select(S.request).where(S.id == series_id))
        return None if document is None else _request(document)

    def with_key(self, project_id: str, name: str) -> tuple[Series, str] | None:
        found = select(*READ).where(S.project_id == project_id, S.request_key == name)
        # MariaDB takes a key for the same with blanks at its end.
        rows = [row for row in self._connection.execute(found) if row.request_key == name]
        return (_series(rows[0]), rows[0].fingerprint) if rows else None

    def page(
        self, project_id: str | None, limit: int, after: str | None, name: str | None = None
    ) -> Sequence[Series]:
        found = select(*READ).order_by(S.id).limit(limit)
        if project_id is not None:
            found = found.where(S.project_id == project_id)
        if after is not None:
            found = found.where(S.id > after)
        if name is not None:
            # MariaDB takes a name for the same with blanks at its end.
            found = found.where(S.name == name, func.length(S.name) == func.length(name))
        return [_series(row) for row in self._connection.execute(found)]

    def save(self, series: Series, now: datetime) -> Series:
        stored = replace(series, revision=series.revision + 1, updated_at=now)
        is_unchanged = (S.id == series.id) & (S.revision == series.revision)
        row = {**_changing(stored), "revision": stored.revision, "updated_at": now}
        if self._connection.execute(update(table).where(is_unchanged).values(**row)).rowcount != 1:
            raise Stale()
        return stored

    def remove(self, series_id: str) -> None:
        if self._connection.execute(delete(table).where(S.id == series_id)).rowcount != 1:
            raise Stale()

    def forget(self, before: datetime, limit: int) -> int:
        found = select(S.id).where(S.ends_at <= before).order_by(S.ends_at).limit(limit)
        ids = list(self._connection.scalars(found))
        if not ids:
            return 0
        return self._connection.execute(delete(table).where(S.id.in_(ids))).rowcount


def _changing(series: Series) -> dict[str, Any]:
    """Return the columns that may change."""
    return {
        "name": series.name,
        "occurrences": [
            [
                each.day.isoformat(),
                each.interval.start.isoformat(),
                each.interval.end.isoformat(),
                each.lease_id,
                each.reason,
            ]
            for each in series.occurrences
        ],
        "exceptions": [day.isoformat() for day in series.exceptions],
    }


def _series(row: Row[Any]) -> Series:
    return Series(
        id=row.id,
        name=row.name,
        user_id=row.user_id,
        project_id=row.project_id,
        rule=row.rule,
        time_zone=row.time_zone,
        on_conflict=OnConflict(row.on_conflict),
        occurrences=tuple(
            SeriesOccurrence(date.fromisoformat(day), _interval(start, end), lease_id, reason)
            for day, start, end, lease_id, reason in row.occurrences
        ),
        exceptions=tuple(map(date.fromisoformat, row.exceptions)),
        revision=row.revision,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _request_document(request: SeriesRequest) -> dict[str, Any]:
    return {
        "reservations": [[each.resource_type, dict(each.parameters)] for each in request.reservations],
        "priority": request.priority,
        "claim_by": None if request.claim_by is None else request.claim_by // MINUTE,
    }


def _request(document: Mapping[str, Any]) -> SeriesRequest:
    minutes = document["claim_by"]
    return SeriesRequest(
        tuple(SeriesReservation(kind, parameters) for kind, parameters in document["reservations"]),
        document["priority"],
        None if minutes is None else timedelta(minutes=minutes),
    )


def _interval(start: str, end: str) -> Interval:
    return Interval(datetime.fromisoformat(start), datetime.fromisoformat(end))
