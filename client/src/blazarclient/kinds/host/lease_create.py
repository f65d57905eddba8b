"""The command `blazar lease-create`, which has an option for reservations of hosts."""

from __future__ import annotations

import argparse
from typing import Any

from blazarclient.commands.lease_create import CreateLease
from blazarclient.kinds.host import HostKind
from blazarclient.kinds.reservations import parse_reservation
from blazarclient.parsing.pairs import parse_pairs


class CreateLeaseWithPhysicalReservation(CreateLease):
    """Create a lease."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--physical-reservation",
            metavar="<min=int,max=int,hypervisor_properties=str,resource_properties=str,before_end=str>",
            action="append",
            default=[],
            help="Short for --reservation resource_type=physical:host,... Specify option multiple times to "
            "create multiple reservations.",
        )
        return parser

    def reservations(self, parsed_args: argparse.Namespace) -> list[dict[str, Any]]:
        physical = [
            parse_reservation({"resource_type": HostKind.resource_type} | parse_pairs(text))
            for text in parsed_args.physical_reservation
        ]
        return physical + super().reservations(parsed_args)
