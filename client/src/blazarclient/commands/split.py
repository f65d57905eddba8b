"""The command that splits a lease."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from blazarclient.commands import lookup
from blazarclient.commands.base import ShowCommand
from blazarclient.parsing.errors import InvalidInput


class SplitLease(ShowCommand):
    """Make another lease of some of what a lease reserves, at the same dates."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("lease", metavar="LEASE", help="ID or name of the lease, which has not begun")
        parser.add_argument("name", metavar="NAME", help="Name of the new lease")
        going = parser.add_mutually_exclusive_group(required=True)
        going.add_argument(
            "--units",
            metavar="UNITS",
            type=int,
            help="How many hosts, servers or addresses of the only reservation of the lease go",
        )
        going.add_argument(
            "--reservation",
            metavar="ID[=UNITS]",
            action="append",
            default=[],
            help="A reservation that goes into the new lease: all of it, or so many of its hosts, servers or "
            "addresses. May be given several times",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        leases = self.reservation.lease
        going = dict(map(going_reservation, parsed_args.reservation))
        if len(going) < len(parsed_args.reservation):
            raise InvalidInput("--reservation: each reservation is named once.")
        lease_id = lookup.lease_id(parsed_args.lease, leases)
        if parsed_args.units is not None:
            going = {only_reservation(leases.get(lease_id)): parsed_args.units}
        made = leases.split(lease_id, parsed_args.name, going)
        self.announce("Created a new lease:", parsed_args)
        return self.format_row(made, parsed_args)


def only_reservation(lease: dict[str, Any]) -> str:
    """Return the id of the only reservation of the lease. Raises InvalidInput."""
    ids = [str(each["id"]) for each in lease["reservations"]]
    if len(ids) != 1:
        raise InvalidInput(
            f"--units: the lease has {len(ids)} reservations, so name them with --reservation."
        )
    return ids[0]


def going_reservation(text: str) -> tuple[str, int | None]:
    """Return the id of a reservation, and how many of its units go. Raises InvalidInput."""
    id_, has_units, units = text.partition("=")
    if not id_ or (has_units and not (units.isascii() and units.isdigit() and int(units) > 0)):
        raise InvalidInput(
            f"--reservation {text}: ID or ID=UNITS is expected, with a whole number from 1 on."
        )
    return id_, int(units) if has_units else None
