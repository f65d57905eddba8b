"""The commands for the reservable hosts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from blazarclient.commands import lookup
from blazarclient.commands.base import DeleteCommand, ListCommand, ReservationCommand, Row, ShowCommand
from blazarclient.kinds.host import HOST
from blazarclient.kinds.host.v1 import Hosts
from blazarclient.parsing.errors import InvalidInput


class ListHosts(ListCommand):
    """Print a list of hosts."""

    columns = ("id", "hypervisor_hostname", "vcpus", "memory_mb", "local_gb")
    default_sort = "hypervisor_hostname"

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        hosts: Hosts = self.reservation.host
        return hosts.list(sort_by=parsed_args.sort_by)


class ShowHost(ShowCommand):
    """Show host details."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("host", metavar="HOST", help="ID or name of host to look up")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        hosts: Hosts = self.reservation.host
        return self.format_row(hosts.get(lookup.resource_id(parsed_args.host, HOST, hosts.list)), parsed_args)


class CreateHost(ShowCommand):
    """Create a host."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("name", metavar="HOST", help="Name of the host to add")
        _add_extra(parser, "<key>=<value>", "Extra capabilities key/value pairs to add for the host")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        extra = _extra_pairs(parsed_args.extra)
        if "name" in extra or "id" in extra:
            raise InvalidInput("name and id are not free keys of a host: the name is the HOST argument")
        hosts: Hosts = self.reservation.host
        host = hosts.create(parsed_args.name, **extra)
        self.announce("Created a new host:", parsed_args)
        return self.format_row(host, parsed_args)


class SetHost(ReservationCommand):
    """Update attributes of a host."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("host", metavar="HOST", help="ID or name of host to update")
        _add_extra(parser, "<key>=<value>", "Extra capabilities key/value pairs to update for the host")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        values = _extra_pairs(parsed_args.extra)
        if not values:
            raise InvalidInput("nothing to set: give --extra key=value")
        hosts: Hosts = self.reservation.host
        hosts.update(lookup.resource_id(parsed_args.host, HOST, hosts.list), values)
        self.print_result(f"Updated host: {parsed_args.host}")


class UnsetHost(ReservationCommand):
    """Unset attributes of a host."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("host", metavar="HOST", help="ID or name of host to update")
        _add_extra(parser, "<key>", "Extra capability keys which should be unset from the host")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        if not parsed_args.extra:
            raise InvalidInput("nothing to unset: give --extra key")
        hosts: Hosts = self.reservation.host
        hosts.update(lookup.resource_id(parsed_args.host, HOST, hosts.list), dict.fromkeys(parsed_args.extra))
        self.print_result(f"Updated host: {parsed_args.host}")


class DeleteHost(DeleteCommand):
    """Remove hosts from the reservation service."""

    noun = "host"
    argument_help = "ID or name of host to delete; several can be given"

    def delete(self, reference: str) -> None:
        hosts: Hosts = self.reservation.host
        hosts.delete(lookup.resource_id(reference, HOST, hosts.list))


def _add_extra(parser: argparse.ArgumentParser, metavar: str, help: str) -> None:
    parser.add_argument("--extra", metavar=metavar, action="append", default=[], help=f"{help} (repeatable)")


def _extra_pairs(arguments: Sequence[str]) -> dict[str, str]:
    """Split arguments at their first equal sign: a value may contain further ones."""
    pairs: dict[str, str] = {}
    for argument in arguments:
        key, separator, value = argument.partition("=")
        if not separator or not key:
            raise InvalidInput(f"--extra '{argument}' is not of the form key=value")
        pairs[key] = value
    return pairs
