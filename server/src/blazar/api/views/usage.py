"""The views of promised and used resource-hours in answers."""

from __future__ import annotations

import csv
from datetime import timedelta
from io import StringIO
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from blazar.api.views.dates import wire_date
from blazar.service.ports import UsageRow
from blazar.service.utilization import UsageReport

HOUR = timedelta(hours=1).total_seconds()


class UsageRowView(TypedDict):
    """The resource-hours of a project, a user or all, of one kind: an hour of one host, server or address."""

    project_id: Annotated[
        str | None, Field(description="The project; null where rows are not grouped by it.")
    ]
    user_id: Annotated[str | None, Field(description="The user; null where rows are not grouped by them.")]
    resource_type: Annotated[str, Field(description="The kind: `physical:host`.")]
    leases: Annotated[int, Field(description="The leases that had some of it in the window.")]
    no_shows: Annotated[
        int, Field(description="Those of them that ended in the window and were never found to be used.")
    ]
    promised_hours: Annotated[float, Field(description="What their reservations had.")]
    used_hours: Annotated[float, Field(description="The part of it that was used.")]
    unused_hours: Annotated[float, Field(description="The part of it that was not used.")]
    unknown_hours: Annotated[float, Field(description="The part of which neither is known.")]


class UsageReportView(TypedDict):
    start_date: Annotated[str, Field(description="Where the window begins, in UTC.")]
    end_date: Annotated[str, Field(description="Where it ends, in UTC: now at the latest.")]
    rows: Annotated[list[UsageRowView], Field(description="By project, user and kind; at most 10,000.")]


class UsageReportReply(TypedDict):
    usage: Annotated[UsageReportView, Field(description="What was promised and used.")]


def usage_reply(report: UsageReport) -> UsageReportReply:
    return {
        "usage": {
            "start_date": wire_date(report.start),
            "end_date": wire_date(report.end),
            "rows": [_row(each) for each in report.rows],
        }
    }


def usage_table(report: UsageReport) -> bytes:
    """Return the rows as CSV (RFC 4180), with a header."""
    file = StringIO()
    writer = csv.DictWriter(file, list(UsageRowView.__annotations__))
    writer.writeheader()
    writer.writerows(_row(each) for each in report.rows)
    return file.getvalue().encode()


def _row(row: UsageRow) -> UsageRowView:
    return {
        "project_id": row.project_id,
        "user_id": row.user_id,
        "resource_type": row.resource_type,
        "leases": row.leases,
        "no_shows": row.no_shows,
        "promised_hours": round(row.promised / HOUR, 2),
        "used_hours": round(row.used / HOUR, 2),
        "unused_hours": round((row.known - row.used) / HOUR, 2),
        "unknown_hours": round((row.promised - row.known) / HOUR, 2),
    }
