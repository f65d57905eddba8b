"""The commands for the properties of hosts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from blazarclient import exception
from blazarclient.commands.base import ListCommand, ReservationCommand, Row, ShowCommand
from blazarclient.formatting.cells import in_zone
from blazarclient.kinds.host.v1 import Hosts
from blazarclient.parsing.errors import InvalidInput, nearest
from blazarclient.v1.ordering import sort_rows


class ListHostProperties(ListCommand):
    """List host properties."""

    columns = ("property", "private", "property_values")
    default_sort = "property"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--detail", action="store_true", help="Return properties with values and attributes"
        )
        parser.add_argument(
            "--all", action="store_true", help="Return all properties, public and private (administrators)"
        )
        return parser

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        hosts: Hosts = self.reservation.host
        rows = hosts.list_properties(detail=parsed_args.detail, all=parsed_args.all)
        if rows and parsed_args.sort_by not in rows[0]:
            raise InvalidInput(f"--sort-by {parsed_args.sort_by} needs --detail")
        return sort_rows(rows, parsed_args.sort_by)


class ShowHostProperty(ShowCommand):
    """Show host property."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("property", metavar="PROPERTY", help="Name of the property to look up")
        parser.add_argument("--all", action="store_true", help="Look among private ones too (administrators)")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        hosts: Hosts = self.reservation.host
        properties = hosts.list_properties(detail=True, all=parsed_args.all)
        rows = {row["property"]: row for row in properties}
        if parsed_args.property not in rows:
            guess = nearest(parsed_args.property, rows)
            hint = f"\nDid you mean '{guess}'?" if guess else ""
            raise exception.ResourcePropertyNotFound(exception.ResourcePropertyNotFound.message + hint)
        row = in_zone(rows[parsed_args.property], self.zone)
        values = row["property_values"]
        if parsed_args.formatter in ("table", "value", "shell"):
            row = {**row, "property_values": "\n".join(str(value) for value in values)}
        names = sorted(row)
        return names, [row[name] for name in names]


class SetHostProperty(ReservationCommand):
    """Update attributes of a host property."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("property_name", metavar="PROPERTY", help="Name of property to patch")
        visibility = parser.add_mutually_exclusive_group(required=True)
        visibility.add_argument("--private", action="store_true", help="Show it to administrators only")
        visibility.add_argument("--public", action="store_true", help="Show it to all users")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        hosts: Hosts = self.reservation.host
        hosts.set_property(parsed_args.property_name, private=parsed_args.private)
        self.print_result(f"Updated host property: {parsed_args.property_name}")
