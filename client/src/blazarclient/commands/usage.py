"""The command that shows what leases were promised and have used."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC

from blazarclient.commands.base import ListCommand, Row
from blazarclient.parsing.durations import parse_duration
from blazarclient.parsing.times import TimeParser
from blazarclient.v1.ordering import sort_rows
from blazarclient.wire_time import from_wire

GROUPS = {"project_id": "project", "user_id": "user"}


class ReportUsage(ListCommand):
    """Show how many resource-hours leases were promised, and how many of them they have really used."""

    columns = (
        "project_id",
        "user_id",
        "resource_type",
        "leases",
        "no_shows",
        "promised_hours",
        "used_hours",
        "unused_hours",
        "unknown_hours",
    )
    default_sort = "project_id"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--start-date", metavar="START", help="Where to begin (default: 30 days before the end)"
        )
        parser.add_argument("--end-date", metavar="END", help="Where to end (default: now)")
        parser.add_argument("--duration", metavar="<duration>", help="How much to show, like 12h, 7d, 4w")
        parser.add_argument(
            "--project", metavar="PROJECT", help="ID of a project (default: all that you may see)"
        )
        parser.add_argument("--user", metavar="USER", help="ID of a user")
        parser.add_argument("--resource-type", metavar="KIND", help="Only this kind, like physical:host")
        parser.add_argument(
            "--group-by",
            action="append",
            choices=[*GROUPS.values(), "none"],
            help="A row for each project, each user, or both (repeatable; default: project)",
        )
        return parser

    def default_columns(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        grouped = parsed_args.group_by or ["project"]
        return tuple(each for each in self.columns if each not in GROUPS or GROUPS[each] in grouped)

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        time_parser = TimeParser(self.clock.now(), self.zone or UTC)
        end = time_parser.parse(parsed_args.end_date) if parsed_args.end_date else None
        start = time_parser.parse(parsed_args.start_date) if parsed_args.start_date else None
        if parsed_args.duration:
            start = (end or self.clock.now()) - parse_duration(parsed_args.duration)
        usage = self.reservation.usage.report(
            start,
            end,
            project_id=parsed_args.project,
            user_id=parsed_args.user,
            resource_type=parsed_args.resource_type,
            group_by=",".join(sorted(set(parsed_args.group_by))) if parsed_args.group_by else None,
        )
        zone = self.zone or UTC
        window = (from_wire(usage[each]).astimezone(zone) for each in ("start_date", "end_date"))
        begin, stop = (f"{each:%Y-%m-%d %H:%M}" for each in window)
        self.print_note(f"From {begin} to {stop}; one hour of one host, server or address is 1.")
        return sort_rows(usage["rows"], parsed_args.sort_by)
