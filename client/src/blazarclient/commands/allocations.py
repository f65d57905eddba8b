"""Which reservations lie on which host?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from blazarclient.commands import lookup
from blazarclient.commands.base import ListCommand, Row, ShowCommand

_COLLECTIONS = {"host": "os-hosts"}


class ListAllocations(ListCommand):
    """List allocations for all resources of a type."""

    columns = ("resource_id", "reservations")
    default_sort = "resource_id"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_arguments(parser)
        return parser

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        collection = _COLLECTIONS[parsed_args.resource_type]
        found = self.reservation.allocation.list(collection, sort_by=parsed_args.sort_by)
        return [_narrowed(row, parsed_args) for row in found]


class ShowAllocations(ShowCommand):
    """Show allocations for resource identified by type and ID."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_arguments(parser)
        parser.add_argument("resource", metavar="RESOURCE", help="ID or name of resource to look up")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        host = lookup.host_id(parsed_args.resource, self.reservation.host.list)
        found = self.reservation.allocation.get(_COLLECTIONS[parsed_args.resource_type], host)
        return self.shown(_narrowed(found, parsed_args), parsed_args)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("resource_type", choices=list(_COLLECTIONS), help="Show allocations for a resource type")
    parser.add_argument("--reservation-id", help="Show only allocations with specific reservation_id")
    parser.add_argument("--lease-id", help="Show only allocations with specific lease_id")


def _narrowed(row: Row, parsed_args: argparse.Namespace) -> Row:
    """The row with only those reservations that were asked for; the resource itself stays in the list."""
    kept = [
        reservation
        for reservation in row["reservations"]
        if parsed_args.reservation_id in (None, reservation["id"])
        and parsed_args.lease_id in (None, reservation["lease_id"])
    ]
    return {**row, "reservations": kept}
