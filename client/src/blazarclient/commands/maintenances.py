"""The commands for maintenances."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC
from typing import Any

from cliff import lister

from blazarclient.commands.base import (
    DeleteCommand,
    ListCommand,
    ReservationCommand,
    Row,
    ShowCommand,
    add_time_zone_option,
)
from blazarclient.exception import BlazarClientException
from blazarclient.formatting.cells import in_zone
from blazarclient.parsing.durations import parse_duration
from blazarclient.parsing.times import TimeParser
from blazarclient.wire_time import NOW, to_wire

COLUMNS = ("effect", "reason", "lease_id", "name", "project_id", "start_date", "end_date", "hosts", "moves")


class CreateMaintenance(ReservationCommand, lister.Lister):
    """Take hosts away for a time, and show what becomes of the leases on them (administrators).

    Nothing is reserved on the hosts in this time. Leases that have not begun move to other hosts. Where one
    would break, nothing is changed, unless it is forced.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_time_zone_option(parser)
        parser.add_argument(
            "hosts", metavar="HOST", nargs="+", help="ID or name of a host; several can be given"
        )
        parser.add_argument(
            "--start-date", metavar="START", default=NOW, help="When it begins (default: now)"
        )
        end = parser.add_mutually_exclusive_group(required=True)
        end.add_argument("--end-date", metavar="END", help="When the hosts are back")
        end.add_argument("--duration", metavar="<duration>", help="How long it takes, like 90m, 8h or 2d")
        parser.add_argument("--name", metavar="<name>", help="Name of the maintenance")
        parser.add_argument("--reason", metavar="<text>", help="Why, for other operators")
        parser.add_argument(
            "--force",
            action="store_true",
            help="Also where leases break: what has begun moves without its servers, what cannot be moved is "
            "degraded",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="Change nothing: show what would become of the leases"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        times = TimeParser(self.clock.now(), self.zone or UTC)
        start = times.parse(parsed_args.start_date)
        if parsed_args.duration:
            end = start + parse_duration(parsed_args.duration)
        else:
            end = times.parse(parsed_args.end_date)
        begin = NOW if parsed_args.start_date == NOW else to_wire(start)
        impact = self._impact(parsed_args, begin, to_wire(end))
        rows = [in_zone(_row(each), self.zone) for each in impact["leases"]]
        return COLUMNS, [[row[name] for name in COLUMNS] for row in rows]

    def _impact(self, parsed_args: argparse.Namespace, start: str, end: str) -> Row:
        maintenances, force = self.reservation.maintenance, parsed_args.force
        if parsed_args.dry_run:
            impact: Row = maintenances.preview(parsed_args.hosts, end, start, force=force)
            self.print_note(f"Nothing is changed: {impact_counts(impact)}")
            return impact
        try:
            made = maintenances.create(
                parsed_args.hosts, end, start, name=parsed_args.name, reason=parsed_args.reason, force=force
            )
        except BlazarClientException as error:
            print_broken(self, error)
            raise
        self.print_note(f"Created maintenance: {made['maintenance']['id']} ({impact_counts(made['impact'])})")
        found: Row = made["impact"]
        return found


def print_broken(command: ReservationCommand, error: BlazarClientException) -> None:
    """Name the leases that would break, if that is why the service has refused."""
    for each in (error.impact or {}).get("leases", ()):
        if each["effect"] == "breaks":
            command.print_note(f"breaks: {_row(each)['name']} {each['lease_id']} ({each['reason']})")


def impact_counts(impact: Row) -> str:
    """Return what becomes of leases, in numbers."""
    return f"leases that move: {impact['moves']}, break: {impact['breaks']}, stay: {impact['stays']}"


def _row(lease: Row) -> Row:
    moves = (f"{' '.join(each['from'])} -> {' '.join(each['to'])}" for each in lease["moves"])
    row = {**lease, "hosts": " ".join(lease["hosts"]), "moves": ", ".join(moves)}
    return {name: "" if value is None else value for name, value in row.items()}


class ListMaintenances(ListCommand):
    """List the maintenances that are planned or under way (administrators)."""

    columns = ("id", "name", "start_date", "end_date", "hosts")
    default_sort = "start_date"

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        found = self.reservation.maintenance.list(sort_by=parsed_args.sort_by)
        return [{**each, "hosts": " ".join(each["hosts"])} for each in found]


class ShowMaintenance(ShowCommand):
    """Show a maintenance (administrators)."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("maintenance", metavar="MAINTENANCE", help="ID of the maintenance")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        return self.format_row(self.reservation.maintenance.get(parsed_args.maintenance), parsed_args)


class DeleteMaintenance(DeleteCommand):
    """End maintenances: their hosts can be reserved again at once (administrators)."""

    noun = "maintenance"
    argument_help = "ID of the maintenance to end; several can be given"

    def delete(self, reference: str) -> None:
        self.reservation.maintenance.delete(reference)
