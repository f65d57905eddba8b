"""The commands for the ports that can be reserved."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from blazarclient.commands.base import ReservationCommand, ShowCommand


class ShowPortPool(ShowCommand):
    """Show how many ports can be reserved."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        return self.format_row(self.reservation.portpool.get(), parsed_args)


class SetPortPool(ShowCommand):
    """Set how many ports can be reserved."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("ports", metavar="PORTS", type=int, help="Ports that can be reserved")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        return self.format_row(self.reservation.portpool.set(parsed_args.ports), parsed_args)


class UnsetPortPool(ReservationCommand):
    """Let no ports be reserved any more."""

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.reservation.portpool.unset()
        self.print_result("Updated portpool: no ports can be reserved")
