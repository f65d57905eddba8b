"""The command that creates a lease."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

from blazarclient.commands.base import ShowCommand
from blazarclient.commands.claim_by import add_claim_by_option, parse_claim_by
from blazarclient.commands.lease_file import LeaseFile, parse_lease_file
from blazarclient.commands.names import Reservations, with_names
from blazarclient.commands.on_start import add_on_start_options, parse_on_start
from blazarclient.commands.priority import add_priority_option
from blazarclient.commands.wait_options import EXIT_CODES, add_wait_options, wait_with_progress
from blazarclient.kinds.reservations import help_text, parse_reservation
from blazarclient.parsing.durations import parse_duration
from blazarclient.parsing.errors import InvalidInput, unknown_word
from blazarclient.parsing.pairs import parse_pairs
from blazarclient.parsing.times import TimeParser
from blazarclient.v1.on_start import ON_START
from blazarclient.v1.waitlist import WAITING
from blazarclient.waiting import WaitResult
from blazarclient.wire_time import NOW, to_wire

FILE_SUFFIXES = (".yaml", ".yml", ".json")
DEFAULT_DURATION = timedelta(hours=24)
EARLIEST = "earliest"
EVENTS_ARE_IGNORED = (
    "Events have no effect: the service makes those of a lease by itself. "
    "The time of the warning before the end is --before-end-date."
)
WAITS = "There is not enough now. The lease waits:"
DRY_RUN = "Nothing was made. The lease would be:"
NOT_WITH_OFFER = (
    *("earliest", "latest_end", "start_date", "end_date", "duration"),
    *("event", "file", "dry_run", "explain", "or_wait_until", "priority", "displace"),
    *("on_start_stack", "on_start_webhook"),
)
"""Options that say what an offer has already, or that a claim cannot do."""


@dataclass(frozen=True)
class Period:
    """The times of a lease in the format of requests."""

    start: str
    end: str | None
    before_end: str | None
    duration: int | None = None
    """In minutes, for a lease that starts as early as can be."""
    latest_end: str | None = None


class CreateLease(ShowCommand):
    """Create a lease."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("name", metavar="LEASE", nargs="?", help="Name for the lease")
        add_times(parser)
        parser.add_argument(
            "--before-end-date",
            metavar="BEFORE_END",
            help="Time for taking an action before the end of the lease (default: depends on system default)",
        )
        parser.add_argument(
            "--reservation",
            metavar="<key=value>",
            action="append",
            default=[],
            help="key/value pairs for creating a generic reservation, or one JSON object. Specify option "
            f"multiple times to create multiple reservations. {help_text()}",
        )
        parser.add_argument(
            "--event",
            metavar="<event_type=str,event_date=time>",
            action="append",
            default=[],
            help="No effect, accepted for old scripts: the service makes the events of a lease by itself. "
            "For the time of the warning before the end see --before-end-date.",
        )
        parser.add_argument(
            "--file",
            "-F",
            metavar="<lease.yaml>",
            type=Path,
            help="Read the lease from a YAML or JSON file with the keys name, start, end or duration, "
            "before_end, reservations, events, on_start; options go before what the file says. Where the "
            "name ends in .yaml, .yml or .json, -f does the same",
        )
        _take_file_for_format(parser)
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="Make nothing: show the lease as it would be, or why it cannot be had",
        )
        parser.add_argument(
            "--explain",
            action="store_true",
            help="Where there is not enough, show how many resources each part of the requirement leaves",
        )
        parser.add_argument(
            "--offer",
            metavar="<offer>",
            help="Take what this offer holds, by its ID: its times and its reservations",
        )
        parser.add_argument(
            "--or-wait-until",
            metavar="<time>",
            help="Where there is not enough, let the lease wait in line up to this time; it is made as soon "
            "as there is",
        )
        add_claim_by_option(parser)
        add_priority_option(parser)
        parser.add_argument(
            "--displace",
            action="store_true",
            help="Where there is not enough, have leases of lower priorities that have not started give way: "
            "they move, or wait in line. With --dry-run, which ones is shown as displaced",
        )
        add_on_start_options(parser)
        add_wait_options(parser, "Wait until the lease is ACTIVE")
        return parser

    def reservations(self, parsed_args: argparse.Namespace) -> list[dict[str, Any]]:
        """Return the reservations of the options, in their order."""
        return [parse_reservation(parse_pairs(text)) for text in parsed_args.reservation]

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        lease_file = parse_lease_file(parsed_args.file) if parsed_args.file else LeaseFile()
        name = parsed_args.name or lease_file.name
        if not name:
            raise InvalidInput("the lease has no name: give LEASE, or name in the file")
        time_parser = TimeParser(self.clock.now(), self.zone or UTC)
        if parsed_args.offer:
            return self._claim(name, parsed_args, time_parser)
        period = period_of(parsed_args, lease_file, time_parser)
        reservations = [*lease_file.reservations, *self.reservations(parsed_args)]
        if not reservations:
            raise InvalidInput(
                "the lease would reserve nothing: give --reservation, like "
                "--reservation resource_type=physical:host,min=1,max=1"
            )
        events = [*lease_file.events, *(_event(text, time_parser) for text in parsed_args.event)]
        if events:
            self.print_note(EVENTS_ARE_IGNORED)

        patience = parsed_args.or_wait_until
        if patience and parsed_args.dry_run:
            raise InvalidInput("a dry run lets nothing wait: leave out --or-wait-until")
        wait_until = to_wire(time_parser.parse(patience)) if patience else None
        claim_by = parse_claim_by(parsed_args.claim_by or lease_file.claim_by)
        has_priority = parsed_args.priority is not None or parsed_args.displace
        on_start = parse_on_start(parsed_args, lease_file.on_start)
        has_later_options = has_priority or on_start is not None
        needs_1_3 = parsed_args.dry_run or parsed_args.explain or period.duration is not None

        def send(reservations: Reservations) -> dict[str, Any]:
            if wait_until is not None:
                return self.reservation.waitlist.create(
                    name,
                    reservations,
                    wait_until,
                    period.start,
                    period.end,
                    duration=period.duration,
                    latest_end=period.latest_end,
                    before_end=period.before_end,
                    claim_by=claim_by,
                    priority=parsed_args.priority,
                    displace=parsed_args.displace,
                    on_start=on_start,
                )
            leases = self.reservation.lease.explaining()
            if not needs_1_3 and claim_by is None and not has_later_options:
                end = period.end or NOW
                return leases.create(name, period.start, end, reservations, events, period.before_end)
            return leases.create_since_1_3(
                name,
                reservations,
                period.start,
                period.end,
                duration=period.duration,
                latest_end=period.latest_end,
                before_end=period.before_end,
                dry_run=parsed_args.dry_run,
                claim_by=claim_by,
                priority=parsed_args.priority,
                displace=parsed_args.displace,
                on_start=on_start,
            )

        return self._shown(with_names(self.reservation, reservations, send), parsed_args)

    def _claim(
        self, name: str, parsed_args: argparse.Namespace, time_parser: TimeParser
    ) -> tuple[Sequence[str], Sequence[Any]]:
        given = [option for option in NOT_WITH_OFFER if getattr(parsed_args, option)]
        if given or self.reservations(parsed_args):
            option = given[0] if given else "reservation"
            raise InvalidInput(
                f"an offer has its times and its reservations: leave out --{option.replace('_', '-')}"
            )
        before_end = parsed_args.before_end_date
        wire = None if before_end is None else to_wire(time_parser.parse(before_end))
        claim_by = parse_claim_by(parsed_args.claim_by)
        lease = self.reservation.offer.claim(parsed_args.offer, name, wire, claim_by)
        return self._shown(lease, parsed_args)

    def _shown(
        self, lease: dict[str, Any], parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        made = WAITS if lease.get("status") == WAITING else "Created a new lease:"
        self.announce(DRY_RUN if parsed_args.dry_run else made, parsed_args)
        if parsed_args.wait and not parsed_args.dry_run:
            lease = self._wait_until_active(lease, parsed_args)
        return self.format_row(lease, parsed_args)

    def run(self, parsed_args: argparse.Namespace) -> int:
        self._wait_result = WaitResult.REACHED
        code = super().run(parsed_args)
        return code or EXIT_CODES[self._wait_result]

    def _wait_until_active(self, lease: dict[str, Any], parsed_args: argparse.Namespace) -> dict[str, Any]:
        outcome = wait_with_progress(self, lease["id"], ("ACTIVE",), parsed_args.wait_timeout)
        self._wait_result = outcome.result
        # What is told once, such as a secret, is in the answer that made the lease.
        return outcome.lease | {name: lease[name] for name in (ON_START,) if name in lease}


def _take_file_for_format(parser: argparse.ArgumentParser) -> None:
    """Let ``-f lease.yaml`` name the file, as users expect. ``-f yaml`` is still the output format."""
    option = parser._option_string_actions["-f"]  # argparse has no public access to a defined option
    formats = list(option.choices or ())

    class FormatOrFile(argparse.Action):
        def __call__(
            self,
            parser: argparse.ArgumentParser,
            namespace: argparse.Namespace,
            values: Any,
            _: str | None = None,
        ) -> None:
            if values in formats:
                namespace.formatter = values
            elif Path(values).suffix in FILE_SUFFIXES:
                namespace.file = Path(values)
            else:
                parser.error(
                    f"argument -f: '{values}' is neither an output format ({', '.join(formats)}) nor a "
                    "lease.yaml"
                )

    for name in option.option_strings:
        parser._option_string_actions[name] = FormatOrFile(
            option.option_strings, option.dest, default=option.default, metavar="FORMAT"
        )


def add_times(parser: argparse.ArgumentParser) -> None:
    """Add the options for the start and the end of a lease."""
    start = parser.add_mutually_exclusive_group()
    start.add_argument(
        "--earliest",
        action="store_true",
        help="Start as soon as there is enough for the duration, and quotas allow it",
    )
    parser.add_argument(
        "--latest-end", metavar="<time>", help="With --earliest: when the lease has to be over"
    )
    start.add_argument(
        "--start-date",
        metavar="START",
        help="Time (YYYY-MM-DD HH:MM), ISO 8601, or words like 'tomorrow 9:00', 'friday noon', 'in 2 hours', "
        "for starting the lease, in UTC unless --time-zone says otherwise "
        "(default: current time on the server)",
    )
    end = parser.add_mutually_exclusive_group()
    end.add_argument(
        "--end-date",
        metavar="END",
        help="Time for ending the lease, written like the start (default: 24h after the start)",
    )
    end.add_argument(
        "--duration", metavar="<duration>", help="Instead of the end: how long, like 90m, 4h, 1h30m, 2d, 1w"
    )


def period_of(parsed_args: argparse.Namespace, lease_file: LeaseFile, time_parser: TimeParser) -> Period:
    """Return the times of the options or, without an option, of the file.

    Raises InvalidInput if start, before-end and end are not in this order.
    """
    if parsed_args.earliest:
        return _earliest(parsed_args, lease_file, time_parser)
    if parsed_args.latest_end:
        raise InvalidInput("--latest-end is for leases with --earliest")
    start_text = parsed_args.start_date or lease_file.start_date or NOW
    end_text, duration_text = parsed_args.end_date, parsed_args.duration
    if not end_text and not duration_text:
        end_text, duration_text = lease_file.end_date, lease_file.duration
        if end_text and duration_text:
            raise InvalidInput("the file gives both end and duration: one of them is enough")
    start = time_parser.parse(start_text)
    if end_text:
        end = time_parser.parse(end_text)
    else:
        end = start + (parse_duration(duration_text) if duration_text else DEFAULT_DURATION)
    if end <= start:
        raise InvalidInput(f"the end, {to_wire(end)}, is not after the start, {to_wire(start)} (UTC)")
    before_text = parsed_args.before_end_date or lease_file.before_end_date
    before_end = time_parser.parse(before_text) if before_text else None
    if before_end is not None and not start < before_end < end:
        raise InvalidInput(
            f"--before-end-date, {to_wire(before_end)}, is not between start and end, "
            f"{to_wire(start)} and {to_wire(end)} (UTC)"
        )
    return Period(
        NOW if start_text.strip().lower() == NOW else to_wire(start),
        to_wire(end),
        None if before_end is None else to_wire(before_end),
    )


def _earliest(parsed_args: argparse.Namespace, lease_file: LeaseFile, time_parser: TimeParser) -> Period:
    """Return the times of a lease that starts as early as can be. Raises InvalidInput for times that need a
    known start."""
    if parsed_args.end_date or parsed_args.before_end_date:
        raise InvalidInput("with --earliest give --duration, and --latest-end, but no other time")
    text = parsed_args.duration or lease_file.duration
    duration = parse_duration(text) if text else DEFAULT_DURATION
    latest = parsed_args.latest_end
    return Period(
        EARLIEST,
        None,
        None,
        duration // timedelta(minutes=1),
        None if latest is None else to_wire(time_parser.parse(latest)),
    )


def _event(text: str, time_parser: TimeParser) -> dict[str, str]:
    pairs = parse_pairs(text)
    keys = ("event_type", "event_date")
    for key in pairs:
        if key not in keys:
            raise unknown_word("key", key, keys)
    missing = [key for key in keys if not pairs.get(key)]
    if missing:
        raise InvalidInput(f"--event '{text}' needs also {', '.join(missing)}")
    return {"event_type": pairs["event_type"], "event_date": to_wire(time_parser.parse(pairs["event_date"]))}
