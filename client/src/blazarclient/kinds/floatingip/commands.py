"""The commands for the reservable floating IPs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from blazarclient.commands import lookup
from blazarclient.commands.base import DeleteCommand, ListCommand, Row, ShowCommand
from blazarclient.kinds.floatingip import FLOATING_IP
from blazarclient.kinds.floatingip.v1 import FloatingIPs


class ListFloatingIPs(ListCommand):
    """Print a list of floating IPs."""

    columns = ("id", "floating_ip_address", "floating_network_id")
    default_sort = "id"

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        floatingips: FloatingIPs = self.reservation.floatingip
        return floatingips.list(sort_by=parsed_args.sort_by)


class ShowFloatingIP(ShowCommand):
    """Show floating IP details."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "floatingip", metavar="FLOATINGIP", help="ID or address of floating IP to look up"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        floatingips: FloatingIPs = self.reservation.floatingip
        found = floatingips.get(lookup.resource_id(parsed_args.floatingip, FLOATING_IP, floatingips.list))
        return self.format_row(found, parsed_args)


class CreateFloatingIP(ShowCommand):
    """Create a floating IP."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "network_id",
            metavar="NETWORK_ID",
            help="External network ID to which the floating IP belongs",
        )
        parser.add_argument(
            "floating_ip_address",
            metavar="FLOATING_IP_ADDRESS",
            help="Floating IP address to add to Blazar",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        floatingips: FloatingIPs = self.reservation.floatingip
        created = floatingips.create(parsed_args.network_id, parsed_args.floating_ip_address)
        self.announce("Created a new floatingip:", parsed_args)
        return self.format_row(created, parsed_args)


class DeleteFloatingIP(DeleteCommand):
    """Remove floating IPs from the reservation service."""

    noun = "floatingip"
    argument_help = "ID or address of floating IP to delete; several can be given"

    def delete(self, reference: str) -> None:
        floatingips: FloatingIPs = self.reservation.floatingip
        floatingips.delete(lookup.resource_id(reference, FLOATING_IP, floatingips.list))
