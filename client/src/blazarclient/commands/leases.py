"""The commands that list, show and delete leases."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from blazarclient.commands import lookup
from blazarclient.commands.base import DeleteCommand, ListCommand, Row, ShowCommand


class ListLeases(ListCommand):
    """Print a list of leases."""

    columns = ("id", "name", "start_date", "end_date")
    default_sort = "name"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--long", action="store_true", help="Show status and project too")
        return parser

    def default_columns(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        return (*self.columns, "status", "project_id") if parsed_args.long else self.columns

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        return self.reservation.lease.list(sort_by=parsed_args.sort_by)


class ShowLease(ShowCommand):
    """Show details about the given lease."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("lease", metavar="LEASE", help="ID or name of lease to look up")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        leases = self.reservation.lease
        return self.format_row(leases.get(lookup.lease_id(parsed_args.lease, leases.list)), parsed_args)


class DeleteLease(DeleteCommand):
    """Delete leases, with the servers that run in them."""

    noun = "lease"
    argument_help = "ID or name of lease to delete; several can be given"

    def delete(self, reference: str) -> None:
        leases = self.reservation.lease
        leases.delete(lookup.lease_id(reference, leases.list))
