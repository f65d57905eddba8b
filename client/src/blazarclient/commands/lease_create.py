"""How does a user reserve?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from blazarclient.commands.base import ShowCommand
from blazarclient.commands.wait_options import EXIT_CODES, add_wait_options, wait_and_report
from blazarclient.reading.durations import parse_duration
from blazarclient.reading.errors import NotUnderstood, unknown
from blazarclient.reading.kinds import help_text, read_reservation
from blazarclient.reading.lease_file import LeaseFile, read_lease_file
from blazarclient.reading.moments import Reader
from blazarclient.reading.pairs import parse_pairs
from blazarclient.waiting import Verdict
from blazarclient.wire_time import NOW, to_wire

FILE_SUFFIXES = (".yaml", ".yml", ".json")
DEFAULT_DURATION = timedelta(hours=24)


@dataclass(frozen=True)
class Period:
    """A lease's times as a request carries them, and the moments they mean."""

    start: str
    end: str
    before_end: str | None
    starts_at: datetime


class CreateLease(ShowCommand):
    """Create a lease."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("name", metavar="LEASE", nargs="?", help="Name for the lease")
        _add_times(parser)
        parser.add_argument(
            "--reservation",
            metavar="<key=value>",
            action="append",
            default=[],
            help="key/value pairs for creating a generic reservation, or one JSON object. Specify option multiple times "
            f"to create multiple reservations. {help_text()}",
        )
        parser.add_argument(
            "--event",
            metavar="<event_type=str,event_date=time>",
            action="append",
            default=[],
            help="Creates an event with key/value pairs for the lease. Specify option multiple times to create multiple "
            "events. event_type: type of event (e.g. notification). event_date: Time for event.",
        )
        parser.add_argument(
            "--file",
            "-F",
            metavar="<lease.yaml>",
            type=Path,
            help="Read the lease from a YAML or JSON file with the keys name, start, end or duration, before_end, "
            "reservations, events; options go before what the file says. Where the name ends in .yaml, .yml or .json, "
            "-f does the same",
        )
        _take_file_for_format(parser)
        add_wait_options(parser, "Wait until the lease is ACTIVE")
        return parser

    def reservations(self, parsed_args: argparse.Namespace) -> list[dict[str, Any]]:
        """The reservations of the options, in their order."""
        return [read_reservation(parse_pairs(text)) for text in parsed_args.reservation]

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        described = read_lease_file(parsed_args.file) if parsed_args.file else LeaseFile()
        name = parsed_args.name or described.name
        if not name:
            raise NotUnderstood("the lease has no name: give LEASE, or name in the file")
        reader = Reader(self.clock.now(), self.zone or UTC)
        period = _period(parsed_args, described, reader)
        reservations = [*described.reservations, *self.reservations(parsed_args)]
        if not reservations:
            raise NotUnderstood(
                "the lease would reserve nothing: give --reservation, like "
                "--reservation resource_type=physical:host,min=1,max=1"
            )
        events = [*described.events, *(_event(text, reader) for text in parsed_args.event)]
        lease = self.reservation.lease.create(name, period.start, period.end, reservations, events, period.before_end)
        self.announce("Created a new lease:", parsed_args)
        if parsed_args.wait:
            lease = self._waited(lease, parsed_args)
        return self.shown(lease, parsed_args)

    def run(self, parsed_args: argparse.Namespace) -> int:
        self._verdict = Verdict.REACHED
        code = super().run(parsed_args)
        return code or EXIT_CODES[self._verdict]

    def _waited(self, lease: dict[str, Any], parsed_args: argparse.Namespace) -> dict[str, Any]:
        outcome = wait_and_report(self, lease["id"], ("ACTIVE",), parsed_args.wait_timeout)
        self._verdict = outcome.verdict
        return outcome.lease


class CreateLeaseWithPhysicalReservation(CreateLease):
    """Create a lease."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--physical-reservation",
            metavar="<min=int,max=int,hypervisor_properties=str,resource_properties=str,before_end=str>",
            action="append",
            default=[],
            help="Short for --reservation resource_type=physical:host,... Specify option multiple times to create "
            "multiple reservations.",
        )
        return parser

    def reservations(self, parsed_args: argparse.Namespace) -> list[dict[str, Any]]:
        physical = [
            read_reservation({"resource_type": "physical:host"} | parse_pairs(text))
            for text in parsed_args.physical_reservation
        ]
        return physical + super().reservations(parsed_args)


def _take_file_for_format(parser: argparse.ArgumentParser) -> None:
    """Let ``-f lease.yaml`` name the file, and ``-f yaml`` still the output format: that is what people type."""
    option = parser._option_string_actions["-f"]  # argparse has no public way to an option that is already there
    formats = list(option.choices or ())

    class FormatOrFile(argparse.Action):
        def __call__(
            self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, _: str | None = None
        ) -> None:
            if values in formats:
                namespace.formatter = values
            elif Path(values).suffix in FILE_SUFFIXES:
                namespace.file = Path(values)
            else:
                parser.error(
                    f"argument -f: '{values}' is neither an output format ({', '.join(formats)}) nor a lease.yaml"
                )

    for name in option.option_strings:
        parser._option_string_actions[name] = FormatOrFile(
            option.option_strings, option.dest, default=option.default, metavar="FORMAT"
        )


def _add_times(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--start-date",
        metavar="START",
        help="Time (YYYY-MM-DD HH:MM), ISO 8601, or words like 'tomorrow 9:00', 'friday noon', 'in 2 hours', for "
        "starting the lease, in UTC unless --time-zone says otherwise (default: current time on the server)",
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
    parser.add_argument(
        "--before-end-date",
        metavar="BEFORE_END",
        help="Time for taking an action before the end of the lease (default: depends on system default)",
    )


def _period(parsed_args: argparse.Namespace, described: LeaseFile, reader: Reader) -> Period:
    """Start, end and what is between, options before file. Raises NotUnderstood when they are not in this order."""
    start_text = parsed_args.start_date or described.start_date or NOW
    end_text, duration_text = parsed_args.end_date, parsed_args.duration
    if not end_text and not duration_text:
        end_text, duration_text = described.end_date, described.duration
        if end_text and duration_text:
            raise NotUnderstood("the file gives both end and duration: one of them is enough")
    start = reader.read(start_text)
    if end_text:
        end = reader.read(end_text)
    else:
        end = start + (parse_duration(duration_text) if duration_text else DEFAULT_DURATION)
    if end <= start:
        raise NotUnderstood(f"the end, {to_wire(end)}, is not after the start, {to_wire(start)} (UTC)")
    before_text = parsed_args.before_end_date or described.before_end_date
    before_end = reader.read(before_text) if before_text else None
    if before_end is not None and not start < before_end < end:
        raise NotUnderstood(
            f"--before-end-date, {to_wire(before_end)}, is not between start and end, "
            f"{to_wire(start)} and {to_wire(end)} (UTC)"
        )
    return Period(
        NOW if start_text.strip().lower() == NOW else to_wire(start),
        to_wire(end),
        None if before_end is None else to_wire(before_end),
        start,
    )


def _event(text: str, reader: Reader) -> dict[str, str]:
    pairs = parse_pairs(text)
    keys = ("event_type", "event_date")
    for key in pairs:
        if key not in keys:
            raise unknown("key", key, keys)
    missing = [key for key in keys if not pairs.get(key)]
    if missing:
        raise NotUnderstood(f"--event '{text}' needs also {', '.join(missing)}")
    return {"event_type": pairs["event_type"], "event_date": to_wire(reader.read(pairs["event_date"]))}
