"""The commands that list, show and delete leases."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC
from typing import Any

from blazarclient.commands import lookup
from blazarclient.commands.base import DeleteCommand, ListCommand, Row, ShowCommand
from blazarclient.parsing.times import TimeParser
from blazarclient.v1.priority import PRIORITIES, PRIORITY
from blazarclient.wire_time import to_wire

WINDOW = {
    "starts_after": "Only leases that start at this time or later",
    "starts_before": "Only leases that start before this time",
    "ends_after": "Only leases that end after this time",
    "ends_before": "Only leases that end at this time or earlier",
}
CLAIM_BY_FIELDS = frozenset({"claim_by", "claim_by_date"})
SORTS = tuple(
    key + direction
    for key in ("created_at", "start_date", "end_date", "name")
    for direction in ("", ":asc", ":desc")
)


class ListLeases(ListCommand):
    """Print a list of leases."""

    columns = ("id", "name", "start_date", "end_date")
    default_sort = "name"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--long", action="store_true", help="Show status and project too")
        parser.set_defaults(sort_by=None)
        _add_filters(parser)
        return parser

    def default_columns(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        return (*self.columns, "status", "project_id") if parsed_args.long else self.columns

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        has_order = parsed_args.sort is not None or parsed_args.limit is not None
        leases = self.reservation.lease
        # Without these columns the request is that of all versions.
        is_of_1_9 = not CLAIM_BY_FIELDS.isdisjoint(parsed_args.columns)
        listed = leases.list_since_1_9 if is_of_1_9 else leases.list
        return listed(
            sort_by=parsed_args.sort_by or (None if has_order else self.default_sort),
            status=parsed_args.status or None,
            name=parsed_args.name,
            project_id=parsed_args.project,
            resource_type=parsed_args.resource_type,
            priority=parsed_args.priority,
            sort=parsed_args.sort,
            limit=parsed_args.limit,
            **self._window(parsed_args),
        )

    def _window(self, parsed_args: argparse.Namespace) -> dict[str, str | None]:
        """Return the moments between which leases start and end, as the service takes them."""
        time_parser = TimeParser(self.clock.now(), self.zone or UTC)
        given = {name: getattr(parsed_args, name) for name in WINDOW}
        return {
            name: None if text is None else to_wire(time_parser.parse(text)) for name, text in given.items()
        }


def _add_filters(parser: argparse.ArgumentParser) -> None:
    """Add the options that select leases, which the service carries out from microversion 1.1 on."""
    parser.add_argument(
        "--status",
        metavar="<status>",
        action="append",
        type=str.upper,
        help="Only leases in this status, for example ACTIVE (repeatable)",
    )
    parser.add_argument("--name", metavar="<name>", help="Only leases of this name")
    parser.add_argument(
        "--project", metavar="<project-id>", help="Only leases of this project; for administrators"
    )
    parser.add_argument(
        "--resource-type", metavar="<type>", help="Only leases with a reservation of this kind"
    )
    parser.add_argument(
        "--priority", choices=PRIORITIES, help="Only leases of this class; the service has it since 1.13"
    )
    for name, help_ in WINDOW.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar="<time>", help=help_)
    parser.add_argument(
        "--sort",
        metavar="<key>[:asc|:desc]",
        choices=SORTS,
        help="Order of the service: created_at (default), start_date, end_date or name; :desc for the last "
        "first. Without --sort-by, the list is shown so",
    )
    parser.add_argument(
        "--limit",
        metavar="<number>",
        type=_positive,
        help="At most so many leases, the first in the order of --sort",
    )


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return int(text)


class ShowLease(ShowCommand):
    """Show details about the given lease."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("lease", metavar="LEASE", help="ID or name of lease to look up")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        leases = self.reservation.lease
        lease_id = lookup.lease_id(parsed_args.lease, leases)
        # Without these columns the request is that of all versions.
        if PRIORITY in parsed_args.columns:
            get = leases.get_since_1_13
        else:
            is_of_1_9 = not CLAIM_BY_FIELDS.isdisjoint(parsed_args.columns)
            get = leases.get_since_1_9 if is_of_1_9 else leases.get
        lease = get(lease_id)
        return self.format_row(lease, parsed_args)


class DeleteLease(DeleteCommand):
    """Delete leases, with the servers that run in them."""

    noun = "lease"
    argument_help = "ID or name of lease to delete; several can be given"

    def delete(self, reference: str) -> None:
        leases = self.reservation.lease
        leases.delete(lookup.lease_id(reference, leases))
