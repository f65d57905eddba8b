"""The commands for the reservable network segments."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from blazarclient.commands import lookup
from blazarclient.commands.base import DeleteCommand, ListCommand, Row, ShowCommand
from blazarclient.kinds.network import NETWORK_SEGMENT, TYPES
from blazarclient.kinds.network.v1 import NetworkSegments

COLUMNS = ("id", "name", "network_type", "physical_network", "segmentation_id")


class ListNetworkSegments(ListCommand):
    """Print a list of network segments."""

    columns = COLUMNS
    default_sort = "name"

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        segments: NetworkSegments = self.reservation.networksegment
        return segments.list(sort_by=parsed_args.sort_by)


class CreateNetworkSegments(ListCommand):
    """Register a network segment, or a range of them: all or none."""

    columns = COLUMNS
    default_sort = "segmentation_id"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("network_type", metavar="TYPE", choices=TYPES, help="One of " + ", ".join(TYPES))
        parser.add_argument(
            "segmentation_id", metavar="NUMBER", type=int, help="Number of the segment, or of the first one"
        )
        parser.add_argument(
            "last",
            metavar="LAST",
            type=int,
            nargs="?",
            help="Number of the last one, where there are several",
        )
        parser.add_argument(
            "--physical-network", metavar="NAME", help="Physical network in Neutron; needed for VLANs"
        )
        return parser

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        segments: NetworkSegments = self.reservation.networksegment
        return segments.create(
            parsed_args.network_type,
            parsed_args.segmentation_id,
            parsed_args.last,
            parsed_args.physical_network,
        )


class ShowNetworkSegment(ShowCommand):
    """Show a network segment."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("networksegment", metavar="SEGMENT", help="ID or name of segment to look up")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        segments: NetworkSegments = self.reservation.networksegment
        found = segments.get(lookup.resource_id(parsed_args.networksegment, NETWORK_SEGMENT, segments.list))
        return self.format_row(found, parsed_args)


class DeleteNetworkSegments(DeleteCommand):
    """Remove network segments from the reservation service."""

    noun = "networksegment"
    argument_help = "ID or name of segment to delete; several can be given"

    def delete(self, reference: str) -> None:
        segments: NetworkSegments = self.reservation.networksegment
        segments.delete(lookup.resource_id(reference, NETWORK_SEGMENT, segments.list))
