"""The commands for licences: `openstack reservation licence ...` and `blazar licence-...`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from blazar_licences.client import LICENCE, Licences
from blazarclient.commands import lookup
from blazarclient.commands.base import DeleteCommand, ListCommand, Row, ShowCommand


class ListLicences(ListCommand):
    """Print a list of licences."""

    columns = ("id", "name", "tokens")
    default_sort = "name"

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        licences: Licences = self.reservation.licence
        return licences.list(sort_by=parsed_args.sort_by)


class CreateLicence(ShowCommand):
    """Register a licence."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("name", metavar="NAME", help="Name of the licence")
        parser.add_argument("tokens", metavar="TOKENS", type=int, help="Number of its tokens")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        licences: Licences = self.reservation.licence
        return self.format_row(licences.create(parsed_args.name, parsed_args.tokens), parsed_args)


class DeleteLicence(DeleteCommand):
    """Remove licences from the reservation service."""

    noun = "licence"
    argument_help = "ID or name of licence to delete; several can be given"

    def delete(self, reference: str) -> None:
        licences: Licences = self.reservation.licence
        licences.delete(lookup.resource_id(reference, LICENCE, licences.list))
