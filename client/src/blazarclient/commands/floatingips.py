"""Which floating IP addresses are in the service's care?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from blazarclient.commands import lookup
from blazarclient.commands.base import DeleteCommand, ListCommand, Row, ShowCommand


class ListFloatingIPs(ListCommand):
    """Print a list of floating IPs."""

    columns = ("id", "floating_ip_address", "floating_network_id")
    default_sort = "id"

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        return self.reservation.floatingip.list(sort_by=parsed_args.sort_by)


class ShowFloatingIP(ShowCommand):
    """Show floating IP details."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("floatingip", metavar="FLOATINGIP", help="ID or address of floating IP to look up")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        floatingips = self.reservation.floatingip
        found = floatingips.get(lookup.floatingip_id(parsed_args.floatingip, floatingips.list))
        return self.shown(found, parsed_args)


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
        made = self.reservation.floatingip.create(parsed_args.network_id, parsed_args.floating_ip_address)
        self.announce("Created a new floatingip:", parsed_args)
        return self.shown(made, parsed_args)


class DeleteFloatingIP(DeleteCommand):
    """Delete floating IPs from the service's care."""

    noun = "floatingip"
    what = "ID or address of floating IP to delete; several can be given"

    def delete(self, reference: str) -> None:
        floatingips = self.reservation.floatingip
        floatingips.delete(lookup.floatingip_id(reference, floatingips.list))
