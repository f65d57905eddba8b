"""The commands for VLANs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from blazarclient.commands import lookup
from blazarclient.commands.base import ListCommand, Row, ShowCommand
from vlankind import VLAN
from vlankind.v1 import Vlans


class ListVlans(ListCommand):
    """Print a list of VLANs."""

    columns = ("id", "segment")
    default_sort = "segment"

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        vlans: Vlans = self.reservation.vlan
        return vlans.list(sort_by=parsed_args.sort_by)


class ShowVlan(ShowCommand):
    """Show a VLAN."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("vlan", metavar="VLAN", help="ID or segment of VLAN to look up")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        vlans: Vlans = self.reservation.vlan
        vlan_id = lookup.resource_id(parsed_args.vlan, VLAN, vlans.list)
        return self.format_row(vlans.get(vlan_id), parsed_args)


class CreateVlan(ShowCommand):
    """Create a VLAN."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("segment", metavar="SEGMENT")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        vlans: Vlans = self.reservation.vlan
        return self.format_row(vlans.create(parsed_args.segment), parsed_args)
