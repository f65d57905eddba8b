"""The commands for allocations: the reservations on each resource."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from blazarclient.commands import lookup
from blazarclient.commands.base import ListCommand, Row, ShowCommand
from blazarclient.kinds.registry import resources_with_allocations


class ListAllocations(ListCommand):
    """List allocations for all resources of a type."""

    columns = ("resource_id", "reservations")
    default_sort = "resource_id"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_arguments(parser)
        return parser

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        resource = resources_with_allocations()[parsed_args.resource_type]
        found = self.reservation.allocation.list(str(resource.allocations_path), sort_by=parsed_args.sort_by)
        return [_filter_reservations(row, parsed_args) for row in found]


class ShowAllocations(ShowCommand):
    """Show allocations for resource identified by type and ID."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_arguments(parser)
        parser.add_argument("resource", metavar="RESOURCE", help="ID or name of resource to look up")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        resource = resources_with_allocations()[parsed_args.resource_type]
        list_resources = getattr(self.reservation, resource.noun).list
        resource_id = lookup.resource_id(parsed_args.resource, resource, list_resources)
        found = self.reservation.allocation.get(str(resource.allocations_path), resource_id)
        return self.format_row(_filter_reservations(found, parsed_args), parsed_args)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "resource_type",
        choices=list(resources_with_allocations()),
        help="Show allocations for a resource type",
    )
    parser.add_argument("--reservation-id", help="Show only allocations with specific reservation_id")
    parser.add_argument("--lease-id", help="Show only allocations with specific lease_id")


def _filter_reservations(row: Row, parsed_args: argparse.Namespace) -> Row:
    """Return the row with the selected reservations only; a resource without any stays in the list."""
    kept = [
        reservation
        for reservation in row["reservations"]
        if parsed_args.reservation_id in (None, reservation["id"])
        and parsed_args.lease_id in (None, reservation["lease_id"])
    ]
    return {**row, "reservations": kept}
