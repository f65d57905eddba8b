"""The command that shows the calendar of resources and leases.

Administrators see the registered resources with their reservations. Other users see the leases of their
project.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from cliff import lister

from blazarclient import exception
from blazarclient.commands import lookup
from blazarclient.commands.base import ReservationCommand, Row, add_time_zone_option
from blazarclient.formatting.timeline import Bar, CalendarRow, Timeline
from blazarclient.kinds.base import RegisteredResource
from blazarclient.kinds.registry import resources_with_allocations
from blazarclient.parsing.durations import parse_duration
from blazarclient.parsing.errors import InvalidInput
from blazarclient.parsing.times import TimeParser
from blazarclient.wire_time import from_wire

COLUMNS = ("row", "lease", "lease_id", "reservation_id", "status", "start_date", "end_date")
DEFAULT_SPAN = timedelta(days=7)
# Leases with these statuses have no resources any more.
_ENDED = frozenset({"TERMINATED"})


class ShowCalendar(ReservationCommand, lister.Lister):
    """Show a timeline of hosts and leases."""

    @property
    def formatter_namespace(self) -> str:
        return "blazarclient.formatter.calendar"

    @property
    def formatter_default(self) -> str:
        return "timeline"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_time_zone_option(parser)
        parser.add_argument("--start-date", metavar="START", help="Where to begin (default: now)")
        end = parser.add_mutually_exclusive_group()
        end.add_argument("--end-date", metavar="END", help="Where to end (default: 7 days after the start)")
        end.add_argument("--duration", metavar="<duration>", help="How much to show, like 8h, 2d, 4w")
        for noun in resources_with_allocations():
            parser.add_argument(
                f"--{noun}",
                action="append",
                default=[],
                dest=_dest(noun),
                metavar=noun.upper(),
                help=f"Only this {noun} (repeatable)",
            )
        parser.add_argument(
            "--mine", action="store_true", help="Show leases instead of hosts, also to administrators"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        now = self.clock.now()
        start, end = self._window(parsed_args, now)
        leases = {lease["id"]: lease for lease in self.reservation.lease.list(sort_by="start_date")}
        rows = None if parsed_args.mine else self._rows_by_resource(parsed_args, leases)
        visible = [row.within(start, end) for row in (_rows_by_lease(leases) if rows is None else rows)]
        if rows is None:
            visible = [row for row in visible if row.bars]
        parsed_args.timeline = Timeline(tuple(visible), start, end, self.zone or UTC)
        return COLUMNS, [self._record(row.name, bar) for row in visible for bar in row.bars]

    def _window(self, parsed_args: argparse.Namespace, now: datetime) -> tuple[datetime, datetime]:
        time_parser = TimeParser(now, self.zone or UTC)
        start = time_parser.parse(parsed_args.start_date or "now")
        if parsed_args.end_date:
            end = time_parser.parse(parsed_args.end_date)
        else:
            end = start + (parse_duration(parsed_args.duration) if parsed_args.duration else DEFAULT_SPAN)
        if end <= start:
            raise InvalidInput("the end of the calendar is not after its start")
        return start, end

    def _rows_by_resource(
        self, parsed_args: argparse.Namespace, leases: dict[str, Row]
    ) -> list[CalendarRow] | None:
        """Return a row for each registered resource, or None if the caller may not see any."""
        resources = resources_with_allocations()
        selected = {noun: getattr(parsed_args, _dest(noun)) for noun in resources}
        if any(selected.values()):
            resources = {noun: resource for noun, resource in resources.items() if selected[noun]}
        visible: list[list[CalendarRow]] = []
        for noun, resource in resources.items():
            try:
                registered = getattr(self.reservation, noun).list(sort_by=resource.name_key)
                allocations = self.reservation.allocation.list(str(resource.allocations_path))
            except exception.BlazarClientException as error:
                if error.code == 403 and selected[noun]:
                    raise _not_for_members(noun) from error
                # 404: the service does not have this kind enabled.
                if error.code not in (403, 404) or selected[noun]:
                    raise
                continue
            shown = _select(registered, resource, selected[noun])
            visible.append(_resource_rows(shown, resource, allocations, leases))
        if not visible:
            nouns = " and ".join(f"{noun}s" for noun in resources)
            self.print_note(f"These are the leases of your project: only administrators may see the {nouns}.")
            return None
        return [row for rows in visible for row in rows]

    def _record(self, name: str, bar: Bar) -> tuple[Any, ...]:
        start, end = (time.astimezone(self.zone or UTC) for time in (bar.start, bar.end))
        times = (start.isoformat(timespec="minutes"), end.isoformat(timespec="minutes"))
        return (name, bar.lease, bar.lease_id, bar.reservation_id, bar.status, *times)


def _not_for_members(noun: str) -> exception.BlazarClientException:
    return exception.BlazarClientException(
        f"Only administrators may see the {noun}s. Without --{noun} the calendar shows the leases of your "
        "project.",
        code=0,
    )


def _dest(noun: str) -> str:
    """Return the attribute of the parsed arguments with the selected resources."""
    return f"only_{noun}"


def _select(rows: Sequence[Row], resource: RegisteredResource, references: Sequence[str]) -> Sequence[Row]:
    """Return the resources with these names or ids; all without references."""
    names = [row[resource.name_key] for row in rows]
    for reference in references:
        if reference not in names and reference not in {row["id"] for row in rows}:
            raise lookup.not_found(reference, resource.noun, names)
    if not references:
        return rows
    return [row for row in rows if row[resource.name_key] in references or row["id"] in references]


def _resource_rows(
    rows: Sequence[Row],
    resource: RegisteredResource,
    allocations: Sequence[Row],
    leases: dict[str, Row],
) -> list[CalendarRow]:
    reservations = {row["resource_id"]: row["reservations"] for row in allocations}
    calendar_rows = []
    for row in rows:
        # Several instances of one reservation on a host are several allocations, and one bar.
        found = {item["id"]: item for item in reservations.get(row["id"], [])}
        bars = tuple(_bar(item, leases) for item in found.values())
        calendar_rows.append(CalendarRow(row[resource.name_key], bars, resource.noun))
    return calendar_rows


def _bar(item: Row, leases: dict[str, Row]) -> Bar:
    lease = leases.get(item["lease_id"], {})
    name = lease.get("name") or item["lease_id"]
    return Bar(
        label=name,
        lease=name,
        lease_id=item["lease_id"],
        reservation_id=item["id"],
        status=lease.get("status", ""),
        start=from_wire(item["start_date"]),
        end=from_wire(item["end_date"]),
    )


def _rows_by_lease(leases: dict[str, Row]) -> list[CalendarRow]:
    """Return a row for each name of a lease."""
    bars: dict[str, list[Bar]] = {}
    for lease in leases.values():
        if lease["status"] in _ENDED:
            continue
        bar = Bar(
            label=lease["status"],
            lease=lease["name"],
            lease_id=lease["id"],
            reservation_id=" ".join(item["id"] for item in lease.get("reservations", [])),
            status=lease["status"],
            start=from_wire(lease["start_date"]),
            end=from_wire(lease["end_date"]),
        )
        bars.setdefault(lease["name"], []).append(bar)
    return [CalendarRow(name, tuple(found)) for name, found in bars.items()]
