"""The commands that list and show leases."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from blazarclient.commands import lookup
from blazarclient.commands.base import ListCommand, Row, ShowCommand
from blazarclient.commands.lease_filters import add_filters, filters_of
from blazarclient.v1.bound import BOUND, bound_of
from blazarclient.v1.leases import Leases
from blazarclient.v1.lending import LEND, lending_of
from blazarclient.v1.made_volumes import MADE_VOLUMES, made_volumes_of
from blazarclient.v1.match import MATCH, matches_of
from blazarclient.v1.on_start import ON_START
from blazarclient.v1.priority import PRIORITY
from blazarclient.v1.shares import RIGHT
from blazarclient.v1.units import UNITS, units_of
from blazarclient.v1.use import QUANTITIES, USE, quantities_of, use_of

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
        add_filters(parser)
        parser.add_argument(
            "--series", metavar="<series>", help="Only leases of this series, by its ID or name"
        )
        parser.add_argument(
            "--shared",
            action="store_true",
            help="Show leases of other projects that are shared with yours, in place of your own",
        )
        _add_order(parser)
        return parser

    def default_columns(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        longer = (*self.columns, "status", "project_id") if parsed_args.long else self.columns
        return tuple(dict.fromkeys((*longer, "project_id", RIGHT))) if parsed_args.shared else longer

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        has_order = parsed_args.sort is not None or parsed_args.limit is not None
        leases = self.reservation.lease
        # Without these columns the request is that of all versions.
        is_of_1_9 = not CLAIM_BY_FIELDS.isdisjoint(parsed_args.columns)
        listed = leases.list_since_1_9 if is_of_1_9 else leases.list
        series = parsed_args.series
        return listed(
            series_id=None if series is None else lookup.series_id(series, self.reservation.series),
            sort_by=parsed_args.sort_by or (None if has_order else self.default_sort),
            sort=parsed_args.sort,
            limit=parsed_args.limit,
            shared=parsed_args.shared,
            **filters_of(parsed_args, self.clock, self.zone),
        )


def _add_order(parser: argparse.ArgumentParser) -> None:
    """Add the options for the order and the length of the list."""
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


@dataclass(frozen=True)
class Since:
    """A column of one lease that a later version of the API tells."""

    column: str
    get: Callable[[Leases, str], dict[str, Any]]
    lines: Callable[[Mapping[str, Any]], str] | None = None
    """Makes the column of the reservations; without it the lease has it."""


SINCE = (
    Since(LEND, Leases.get_since_1_43, lending_of),
    Since(QUANTITIES, Leases.get_since_1_42, quantities_of),
    Since(MADE_VOLUMES, Leases.get_since_1_39, made_volumes_of),
    Since(ON_START, Leases.get_since_1_37),
    Since(RIGHT, Leases.get_since_1_34),
    Since(MATCH, Leases.get_since_1_29, matches_of),
    Since(BOUND, Leases.get_since_1_23, bound_of),
    Since(USE, Leases.get_since_1_22, use_of),
    Since(UNITS, Leases.get_since_1_19, units_of),
    Since(PRIORITY, Leases.get_since_1_13),
    *(Since(each, Leases.get_since_1_9) for each in sorted(CLAIM_BY_FIELDS)),
)
"""The newest first: each answer tells what those after it tell, too."""


class ShowLease(ShowCommand):
    """Show details about the given lease."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("lease", metavar="LEASE", help="ID or name of lease to look up")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        leases = self.reservation.lease
        lease_id = lookup.lease_id(parsed_args.lease, leases)
        asked = [each for each in SINCE if each.column in parsed_args.columns]
        if not asked:  # the request is that of all versions
            return self.format_row(leases.get(lease_id), parsed_args)
        lease = asked[0].get(leases, lease_id)
        lines = {each.column: each.lines(lease) for each in asked if each.lines is not None}
        return self.format_row({**lease, **lines}, parsed_args)
