"""The command that asks when a lease could be had."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, timedelta
from typing import Any

from blazarclient.commands.base import ListCommand, Row
from blazarclient.commands.names import with_names
from blazarclient.formatting.durations import format_duration
from blazarclient.kinds.reservations import help_text, parse_reservation
from blazarclient.parsing.durations import parse_duration
from blazarclient.parsing.errors import InvalidInput
from blazarclient.parsing.pairs import parse_pairs
from blazarclient.parsing.times import TimeParser
from blazarclient.v1.ordering import sort_rows
from blazarclient.wire_time import NOW, to_wire

MINUTE = timedelta(minutes=1)
CUT_SHORT = "The search was cut short: there may be other or earlier answers."


class ShowAvailability(ListCommand):
    """Show when, and for how long, a lease could be had, without making it."""

    columns = ("rank", "start_date", "end_date", "duration", "reservations", "description")
    default_sort = "rank"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--reservation",
            metavar="<key=value>",
            action="append",
            default=[],
            help="Reservation of the lease, as in `lease create`. Specify option multiple times for a lease "
            f"with multiple reservations. {help_text()}",
        )
        parser.add_argument(
            "--earliest-start",
            metavar="<time>",
            default=NOW,
            help="Earliest start that would do, written as in `lease create` (default: now)",
        )
        parser.add_argument(
            "--latest-start", metavar="<time>", help="Latest start that would do (default: any later one)"
        )
        parser.add_argument(
            "--duration",
            metavar="<duration>",
            default="24h",
            help="How long, like 90m, 4h, 2d (default: 24h)",
        )
        parser.add_argument(
            "--min-duration",
            metavar="<duration>",
            help="Shortest duration that would do (default: the wanted one)",
        )
        parser.add_argument(
            "--hold",
            metavar="<duration>",
            help="Hold the answers for so long, like 10m or 1h, each by an offer, as far as they can be held",
        )
        return parser

    def default_columns(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        return self.columns if parsed_args.hold is None else (*self.columns, "offer_id")

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        reservations = [parse_reservation(parse_pairs(text)) for text in parsed_args.reservation]
        if not reservations:
            raise InvalidInput(
                "there is nothing to look for: give --reservation, like "
                "--reservation resource_type=physical:host,min=1,max=1"
            )
        times = TimeParser(self.clock.now(), self.zone or UTC)
        start = parsed_args.earliest_start
        latest, minimum = parsed_args.latest_start, parsed_args.min_duration
        bounds = (
            NOW if start.strip().lower() == NOW else to_wire(times.parse(start)),
            parse_duration(parsed_args.duration) // MINUTE,
            None if latest is None else to_wire(times.parse(latest)),
            None if minimum is None else parse_duration(minimum) // MINUTE,
            None if parsed_args.hold is None else parse_duration(parsed_args.hold) // MINUTE,
        )
        found = with_names(
            self.reservation, reservations, lambda each: self.reservation.availability.ask(each, *bounds)
        )
        if found["reason"] is not None:
            self.print_note(f"Not as asked for: {found['reason']}")
        if found["cut_short"]:
            self.print_note(CUT_SHORT)
        for rank, answer in enumerate(found["answers"], 1):
            if answer.get("not_held") is not None:
                self.print_note(f"Answer {rank} is not held: {answer['not_held']}")
        return sort_rows([_row(*each) for each in enumerate(found["answers"], 1)], parsed_args.sort_by)


def _row(rank: int, answer: dict[str, Any]) -> Row:
    units = (f"{each['units']} {each['resource_type']}" for each in answer["reservations"])
    return {
        "rank": rank,
        "start_date": answer["start_date"],
        "end_date": answer["end_date"],
        "duration": format_duration(answer["duration"] * MINUTE),
        "reservations": ", ".join(units),
        "description": answer["description"],
        "offer_id": answer.get("offer_id"),
    }
