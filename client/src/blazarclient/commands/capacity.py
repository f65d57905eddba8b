"""The command that shows the capacity over time."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from cliff import lister

from blazarclient.commands.base import ReservationCommand, Row, add_time_zone_option
from blazarclient.formatting.curves import Chart, Curve
from blazarclient.formatting.timeline import Timeline
from blazarclient.parsing.durations import parse_duration
from blazarclient.parsing.times import TimeParser
from blazarclient.wire_time import from_wire

COLUMNS = ("quantity", "from", "available", "total", "reserved", "in_use")
SERVERS = "servers"
"""The row of how many servers of the wanted size fit."""


class ShowCapacity(ReservationCommand, lister.Lister):
    """Show how much can be reserved when, and how many servers of a flavor or size fit."""

    @property
    def formatter_namespace(self) -> str:
        return "blazarclient.formatter.capacity"

    @property
    def formatter_default(self) -> str:
        return "curve"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_time_zone_option(parser)
        parser.add_argument("--start-date", metavar="START", help="Where to begin (default: now)")
        end = parser.add_mutually_exclusive_group()
        end.add_argument("--end-date", metavar="END", help="Where to end (default: 7 days after the start)")
        end.add_argument("--duration", metavar="<duration>", help="How much to show, like 8h, 2d, 4w")
        parser.add_argument("--step", metavar="<duration>", help="Length of a step, like 30m or 1d")
        parser.add_argument("--resource-type", metavar="KIND", help="Only this kind, like physical:host")
        parser.add_argument("--quantity", metavar="NAME", help="Only this quantity, like hosts or vcpus")
        parser.add_argument(
            "--resource-properties",
            metavar="REQUIREMENT",
            help="Only resources that meet this requirement, as in a reservation",
        )
        parser.add_argument(
            "--trait",
            action="append",
            default=[],
            metavar="TRAIT",
            help="Only resources with this trait; with ! before its name without it (repeatable)",
        )
        parser.add_argument("--zone", metavar="ZONE", help="Only resources in this availability zone")
        parser.add_argument("--flavor", metavar="ID", help="How many servers of this flavor fit")
        parser.add_argument("--vcpus", type=int, metavar="N", help="How many servers with N VCPUs fit")
        parser.add_argument("--ram", type=int, metavar="MIB", help="Memory of each of these servers")
        parser.add_argument("--disk", type=int, metavar="GIB", help="Disk of each of these servers")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        capacity = self.reservation.capacity.show(**self._question(parsed_args))
        self._tell_what_is_missing(capacity)
        parsed_args.chart = self._chart(capacity)
        rows = list(_rows(capacity))
        shown = [name for name in COLUMNS if any(name in row for row in rows)]
        return shown, [[self._cell(row.get(name, ""), name) for name in shown] for row in rows]

    def _question(self, parsed_args: argparse.Namespace) -> dict[str, Any]:
        time_parser = TimeParser(self.clock.now(), self.zone or UTC)
        start = time_parser.parse(parsed_args.start_date or "now")
        end = time_parser.parse(parsed_args.end_date) if parsed_args.end_date else None
        if parsed_args.duration:
            end = start + parse_duration(parsed_args.duration)
        step = parse_duration(parsed_args.step) if parsed_args.step else None
        return {
            "start_date": start,
            "end_date": end,
            "step": None if step is None else int(step.total_seconds() // 60),
            "resource_type": parsed_args.resource_type,
            "quantity": parsed_args.quantity,
            "resource_properties": parsed_args.resource_properties,
            "traits": ",".join(parsed_args.trait) or None,
            "availability_zone": parsed_args.zone,
            "flavor_id": parsed_args.flavor,
            "vcpus": parsed_args.vcpus,
            "memory_mb": parsed_args.ram,
            "disk_gb": parsed_args.disk,
        }

    def _tell_what_is_missing(self, capacity: Row) -> None:
        if capacity["step"] > 1:
            self.print_note(
                f"Each step tells the worst of {capacity['step']} minutes. Ask for a shorter time or for one "
                "quantity to see more."
            )
        if capacity["left_out"]:
            self.print_note(f"There are more, to ask for by --quantity: {', '.join(capacity['left_out'])}")

    def _chart(self, capacity: Row) -> Chart:
        start, end = (from_wire(capacity[name]) for name in ("start_date", "end_date"))
        curves = [
            _curve(each["name"], each, "available", max(step["total"] for step in each["steps"]))
            for each in capacity["quantities"]
        ]
        if capacity["density"]:
            most = max(step["fits"] for step in capacity["density"]["steps"])
            curves.append(_curve(SERVERS, capacity["density"], "fits", most))
        return Chart(tuple(curves), Timeline((), start, end, self.zone or UTC))

    def _cell(self, value: Any, name: str) -> Any:
        if name != "from":
            return value
        return from_wire(value).astimezone(self.zone or UTC).isoformat(timespec="minutes")


def _rows(capacity: Row) -> Iterator[Row]:
    """Return a row for each step of each quantity, then those of the servers that fit."""
    for quantity in capacity["quantities"]:
        yield from ({"quantity": quantity["name"], **step} for step in quantity["steps"])
    for step in (capacity["density"] or {"steps": ()})["steps"]:
        yield {"quantity": SERVERS, "from": step["from"], "available": step["fits"]}


def _curve(name: str, told: Row, key: str, most: int) -> Curve:
    steps = told["steps"]
    starts: list[datetime] = [from_wire(step["from"]) for step in steps]
    return Curve(name, most, told["minimum"], told["throughout"], starts, [step[key] for step in steps])
