"""The commands for the reservable volume types."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from blazarclient.commands import lookup
from blazarclient.commands.base import DeleteCommand, ListCommand, Row, ShowCommand
from blazarclient.kinds.volume import VOLUME_TYPE
from blazarclient.kinds.volume.v1 import VolumeTypes


class ListVolumeTypes(ListCommand):
    """Print a list of volume types."""

    columns = ("id", "name", "gigabytes", "volumes")
    default_sort = "name"

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        volume_types: VolumeTypes = self.reservation.volumetype
        return volume_types.list(sort_by=parsed_args.sort_by)


class ShowVolumeType(ShowCommand):
    """Show how much of a volume type can be reserved."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("volumetype", metavar="VOLUMETYPE", help="ID or name of volume type to look up")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        volume_types: VolumeTypes = self.reservation.volumetype
        found = volume_types.get(lookup.resource_id(parsed_args.volumetype, VOLUME_TYPE, volume_types.list))
        return self.format_row(found, parsed_args)


class CreateVolumeType(ShowCommand):
    """Register a volume type, with how much of it can be reserved."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "volumetype", metavar="VOLUMETYPE", help="ID or name of the volume type in Cinder"
        )
        parser.add_argument("gigabytes", metavar="GIGABYTES", type=int, help="GiB that can be reserved")
        parser.add_argument("volumes", metavar="VOLUMES", type=int, help="Volumes that can be reserved")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        volume_types: VolumeTypes = self.reservation.volumetype
        created = volume_types.create(parsed_args.volumetype, parsed_args.gigabytes, parsed_args.volumes)
        self.announce("Created a new volumetype:", parsed_args)
        return self.format_row(created, parsed_args)


class SetVolumeType(ShowCommand):
    """Change how much of a volume type can be reserved."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("volumetype", metavar="VOLUMETYPE", help="ID or name of volume type to change")
        parser.add_argument("--gigabytes", metavar="GIGABYTES", type=int, help="GiB that can be reserved")
        parser.add_argument("--volumes", metavar="VOLUMES", type=int, help="Volumes that can be reserved")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        volume_types: VolumeTypes = self.reservation.volumetype
        volumetype_id = lookup.resource_id(parsed_args.volumetype, VOLUME_TYPE, volume_types.list)
        known = volume_types.get(volumetype_id)
        given = (getattr(parsed_args, name) for name in ("gigabytes", "volumes"))
        gigabytes, volumes = (
            known[name] if value is None else value
            for name, value in zip(("gigabytes", "volumes"), given, strict=True)
        )
        return self.format_row(volume_types.update(volumetype_id, gigabytes, volumes), parsed_args)


class DeleteVolumeType(DeleteCommand):
    """Remove volume types from the reservation service."""

    noun = "volumetype"
    argument_help = "ID or name of volume type to delete; several can be given"

    def delete(self, reference: str) -> None:
        volume_types: VolumeTypes = self.reservation.volumetype
        volume_types.delete(lookup.resource_id(reference, VOLUME_TYPE, volume_types.list))
