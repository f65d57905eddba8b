"""The commands for series: leases that recur."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, date, timedelta
from typing import Any

from blazarclient.commands import lookup
from blazarclient.commands.base import FAILED, DeleteCommand, ListCommand, Row, ShowCommand
from blazarclient.commands.claim_by import add_claim_by_option, parse_claim_by
from blazarclient.commands.names import Reservations, with_names
from blazarclient.commands.priority import add_priority_option
from blazarclient.formatting.cells import in_zone
from blazarclient.kinds.reservations import help_text, parse_reservation
from blazarclient.parsing.durations import parse_duration
from blazarclient.parsing.errors import InvalidInput
from blazarclient.parsing.pairs import parse_pairs
from blazarclient.parsing.time_zones import parse_time_zone, time_zone_name
from blazarclient.parsing.times import TimeParser
from blazarclient.wire_time import to_wire

MINUTE = timedelta(minutes=1)
REFUSE = "refuse"
SKIP = "skip"
DRY_RUN = "Nothing was made. The series would be:"
WOULD_BE_REFUSED = "Nothing was made. The series would be refused:"


class _ShowSeries(ShowCommand):
    """The base class of commands that print a series."""

    def format_series(
        self, series: Row, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        """Return the names and cells of a series. Its occurrences have a line each, at the times of its zone
        unless another one is asked for; with ``--native`` they stay what they are."""
        row = _flat(series)
        if not parsed_args.native:
            zone = self.zone or _zone_of(series)
            row["occurrences"] = "\n".join(_line(in_zone(each, zone)) for each in series["occurrences"])
        return self.format_row(row, parsed_args)


class CreateSeries(_ShowSeries):
    """Create leases that recur by a rule, at the same local time of the zone."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("name", metavar="NAME", help="Name of the series, and of its leases")
        parser.add_argument(
            "--rule",
            metavar="<rule>",
            required=True,
            help="The days, as a rule of RFC 5545 with COUNT or UNTIL, like 'FREQ=WEEKLY;BYDAY=MO;COUNT=4'. "
            "They and their local times are those of --time-zone",
        )
        parser.add_argument(
            "--except",
            metavar="<day>",
            action="append",
            default=[],
            dest="exceptions",
            help="A day of the rule that is left out: YYYY-MM-DD, or words like 'next monday' (repeatable)",
        )
        parser.add_argument(
            "--start-date",
            metavar="START",
            required=True,
            help="The first lease starts then, or on the first day of the rule after it, at this local time; "
            "written as in `lease create`",
        )
        end = parser.add_mutually_exclusive_group(required=True)
        end.add_argument(
            "--end-date",
            metavar="END",
            help="The end of a lease that starts at the start: each ends at this local time",
        )
        end.add_argument(
            "--duration", metavar="<duration>", help="Instead of the end: how long each lasts, like 90m or 4h"
        )
        parser.add_argument(
            "--reservation",
            metavar="<key=value>",
            action="append",
            default=[],
            help="Reservation of each lease, as in `lease create`. Specify option multiple times for leases "
            f"with multiple reservations. {help_text()}",
        )
        parser.add_argument(
            "--on-conflict",
            choices=(REFUSE, SKIP),
            default=REFUSE,
            help="Where not all leases can be had: refuse makes none (default), skip makes the others",
        )
        add_claim_by_option(parser)
        add_priority_option(parser)
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="Make nothing: show the series as it would be, and why leases of it cannot be had. The exit "
            "code is 1 where it would be refused",
        )
        return parser

    def run(self, parsed_args: argparse.Namespace) -> int:
        self._would_be_refused = False
        code = super().run(parsed_args)
        return code or (FAILED if self._would_be_refused else 0)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        reservations = [parse_reservation(parse_pairs(text)) for text in parsed_args.reservation]
        if not reservations:
            raise InvalidInput(
                "the leases would reserve nothing: give --reservation, like "
                "--reservation resource_type=physical:host,min=1,max=1"
            )
        zone = self.zone or UTC
        time_zone = time_zone_name(zone)
        times = TimeParser(self.clock.now(), zone)
        start = times.parse(parsed_args.start_date)
        end = None if parsed_args.end_date is None else times.parse(parsed_args.end_date)
        if end is not None and end <= start:
            raise InvalidInput(f"the end, {to_wire(end)}, is not after the start, {to_wire(start)} (UTC)")
        duration = None if end else parse_duration(parsed_args.duration) // MINUTE
        exceptions = _days(parsed_args.exceptions, times)
        claim_by = parse_claim_by(parsed_args.claim_by)

        def send(reservations: Reservations) -> Row:
            return self.reservation.series.create(
                parsed_args.name,
                reservations,
                to_wire(start),
                None if end is None else to_wire(end),
                rule=parsed_args.rule,
                time_zone=time_zone,
                duration=duration,
                exceptions=exceptions,
                on_conflict=parsed_args.on_conflict,
                claim_by=claim_by,
                priority=parsed_args.priority,
                dry_run=parsed_args.dry_run,
            )

        series = with_names(self.reservation, reservations, send)
        self._would_be_refused = parsed_args.dry_run and not series["granted"]
        shown = WOULD_BE_REFUSED if self._would_be_refused else DRY_RUN
        self.announce(shown if parsed_args.dry_run else "Created a new series:", parsed_args)
        return self.format_series(series, parsed_args)


class ListSeries(ListCommand):
    """List the series of the project; administrators see those of all."""

    columns = ("id", "name", "rule", "time_zone", "created_at")
    default_sort = "name"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--project", metavar="<id>", help="Only those of this project (administrators)")
        return parser

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        found = [_flat(each) for each in self.reservation.series.list(project_id=parsed_args.project)]
        rows = [{**each, "except": ", ".join(each["except"])} for each in found]
        return sorted(rows, key=lambda each: str(each[parsed_args.sort_by]))


class ShowSeries(_ShowSeries):
    """Show a series, and what has become of each of its leases."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_series(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        calls = self.reservation.series
        found = calls.get(lookup.series_id(parsed_args.series, calls))
        return self.format_series(found, parsed_args)


class SkipSeries(_ShowSeries):
    """Cancel leases of a series that have not started: those of some days, or all after a day."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_series(parser)
        parser.add_argument(
            "days",
            metavar="DAY",
            nargs="*",
            help="A day in the zone of the series: YYYY-MM-DD, or words like 'next monday'; several can be "
            "given",
        )
        parser.add_argument(
            "--cancel-after", metavar="<day>", help="The last day: leases of later ones are cancelled"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        last = parsed_args.cancel_after
        if not parsed_args.days and last is None:
            raise InvalidInput("there is nothing to cancel: give a day, or --cancel-after")
        calls = self.reservation.series
        found = calls.get(lookup.series_id(parsed_args.series, calls))
        times = TimeParser(self.clock.now(), _zone_of(found))
        days = _days(parsed_args.days, times)
        changed = calls.skip(
            found["id"], days, cancel_after=None if last is None else _days([last], times)[0]
        )
        self.announce("Changed the series:", parsed_args)
        return self.format_series(changed, parsed_args)


class RestoreSeries(_ShowSeries):
    """Make leases of a series that were skipped, cancelled or deleted: those of some days, all or none."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_series(parser)
        parser.add_argument(
            "days",
            metavar="DAY",
            nargs="+",
            help="A day in the zone of the series: YYYY-MM-DD, or words like 'next monday'; several can be "
            "given",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        calls = self.reservation.series
        found = calls.get(lookup.series_id(parsed_args.series, calls))
        days = _days(parsed_args.days, TimeParser(self.clock.now(), _zone_of(found)))
        changed = calls.restore(found["id"], days)
        self.announce("Changed the series:", parsed_args)
        return self.format_series(changed, parsed_args)


class DeleteSeries(DeleteCommand):
    """Delete series with their leases that are not over, and the servers in these."""

    noun = "series"
    argument_help = "ID or name of the series to delete; several can be given"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--keep-started", action="store_true", help="Leave leases that have started: they go on"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self._keep_started = parsed_args.keep_started
        super().take_action(parsed_args)

    def delete(self, reference: str) -> None:
        calls = self.reservation.series
        calls.delete(lookup.series_id(reference, calls), keep_started=self._keep_started)


def _add_series(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("series", metavar="SERIES", help="ID or name of the series")


def _days(texts: Sequence[str], times: TimeParser) -> list[str]:
    """Return the days as requests have them. Raises InvalidInput."""
    return [_day(text.strip(), times) for text in texts]


def _day(text: str, times: TimeParser) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:  # in words, or in another form
        return times.parse(text).astimezone(times.zone).date().isoformat()


def _zone_of(series: Row) -> Any:
    """Return the zone of the series. Raises InvalidInput where this machine does not know it."""
    return parse_time_zone(series["recurrence"]["time_zone"])


def _flat(series: Row) -> Row:
    """Return the series with the parts of its recurrence as fields of its own."""
    row = {**series, **series["recurrence"]}
    del row["recurrence"]
    return row


def _line(occurrence: Row) -> str:
    """Return an occurrence in a line: its day, its times, and its lease, or why there is none. One of a dry
    run has no lease."""
    times = f"{occurrence['date']}  {occurrence['start_date']}  {occurrence['end_date']}"
    if "granted" in occurrence:
        return f"{times}  {occurrence['reason'] or 'can be had'}"
    parts = (occurrence["lease_id"], occurrence["status"], occurrence["reason"])
    return "  ".join([times, *(part for part in parts if part)])
