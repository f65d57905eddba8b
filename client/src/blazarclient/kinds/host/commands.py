"""The commands for the reservable hosts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC
from typing import Any

from blazarclient.commands import lookup
from blazarclient.commands.base import (
    DeleteCommand,
    ListCommand,
    ReservationCommand,
    Row,
    ShowCommand,
    add_time_zone_option,
)
from blazarclient.commands.maintenances import impact_counts, print_broken
from blazarclient.exception import BlazarClientException
from blazarclient.kinds.host import HOST
from blazarclient.kinds.host.v1 import Hosts
from blazarclient.parsing.errors import InvalidInput
from blazarclient.parsing.times import TimeParser
from blazarclient.wire_time import NOW, to_wire

NEVER = "never"
LASTING_COLUMNS = ("id", "hypervisor_hostname", "available_from", "available_until", "buffer")


class ListHosts(ListCommand):
    """Print a list of hosts."""

    columns = ("id", "hypervisor_hostname", "vcpus", "memory_mb", "local_gb")
    default_sort = "hypervisor_hostname"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_available(parser)
        parser.add_argument(
            "--regions", action="store_true", help="Print also the region of each (needs version 1.26)"
        )
        return parser

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        hosts: Hosts = self.reservation.host
        if parsed_args.regions:
            return hosts.list_since_1_26(sort_by=parsed_args.sort_by)
        if not parsed_args.available:
            return hosts.list(sort_by=parsed_args.sort_by)
        return hosts.list_since_1_15(sort_by=parsed_args.sort_by)

    def default_columns(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        columns = LASTING_COLUMNS if parsed_args.available else self.columns
        return (*columns, "region") if parsed_args.regions else columns


class ShowHost(ShowCommand):
    """Show host details."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("host", metavar="HOST", help="ID or name of host to look up")
        _add_available(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        hosts: Hosts = self.reservation.host
        host_id = lookup.resource_id(parsed_args.host, HOST, hosts.list)
        host = hosts.get_since_1_15(host_id) if parsed_args.available else hosts.get(host_id)
        return self.format_row(host, parsed_args)


class CreateHost(ShowCommand):
    """Create a host."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("name", metavar="HOST", help="Name of the host to add")
        parser.add_argument(
            "--region", help="Region that the host lies in (default: the first one; needs version 1.26)"
        )
        _add_extra(parser, "<key>=<value>", "Extra capabilities key/value pairs to add for the host")
        _add_dates(parser, "default: now", "default: it stays")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        extra = _extra_pairs(parsed_args.extra)
        if "name" in extra or "id" in extra:
            raise InvalidInput("name and id are not free keys of a host: the name is the HOST argument")
        hosts: Hosts = self.reservation.host
        dates = _dates(self, parsed_args)
        if parsed_args.region is not None:
            host = hosts.create_since_1_26(parsed_args.name, parsed_args.region, **dates, **extra)
        elif dates:
            host = hosts.create_since_1_15(parsed_args.name, **dates, **extra)
        else:
            host = hosts.create(parsed_args.name, **extra)
        self.announce("Created a new host:", parsed_args)
        return self.format_row(host, parsed_args)


class SetHost(ReservationCommand):
    """Update attributes of a host: properties, or the time for which it is there.

    Nothing is reserved on a host that is not there. Leases that have not begun move to other hosts. Where one
    would break, nothing is changed, unless it is forced.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("host", metavar="HOST", help="ID or name of host to update")
        _add_extra(parser, "<key>=<value>", "Extra capabilities key/value pairs to update for the host")
        add_time_zone_option(parser)
        _add_dates(parser, "'now': it is there", "'never': it stays")
        buffer = parser.add_mutually_exclusive_group()
        buffer.add_argument(
            "--buffer",
            dest="buffer",
            action="store_true",
            default=None,
            help="Keep the host for leases that lose others: no request gets it",
        )
        buffer.add_argument(
            "--no-buffer", dest="buffer", action="store_false", help="Keep the host no longer"
        )
        parser.add_argument(
            "--force",
            action="store_true",
            help="Also where leases break: what has begun moves without its servers, what cannot be moved is "
            "degraded",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="Change nothing: tell what would become of leases"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        values, dates = _extra_pairs(parsed_args.extra), _dates(self, parsed_args)
        hosts: Hosts = self.reservation.host
        if sum(map(bool, (dates, values, parsed_args.buffer is not None))) > 1:
            raise InvalidInput("set --extra, the dates of a host and --buffer one after the other")
        if dates:
            self._set_dates(hosts, parsed_args, dates)
            return
        if parsed_args.buffer is None and not values:
            raise InvalidInput("nothing to set: give --extra key=value")
        if parsed_args.force or parsed_args.dry_run:
            raise InvalidInput("--force and --dry-run are about --available-from and --available-until")
        host_id = lookup.resource_id(parsed_args.host, HOST, hosts.list)
        if parsed_args.buffer is None:
            hosts.update(host_id, values)
        else:
            hosts.set_buffer(host_id, parsed_args.buffer)
        self.print_result(f"Updated host: {parsed_args.host}")

    def _set_dates(self, hosts: Hosts, parsed_args: argparse.Namespace, dates: dict[str, Any]) -> None:
        host_id = lookup.resource_id(parsed_args.host, HOST, hosts.list)
        if parsed_args.dry_run:
            impact = hosts.preview_since_1_15(host_id, force=parsed_args.force, **dates)
            self.print_result(f"Nothing is changed: {impact_counts(impact)}")
            return
        try:
            changed = hosts.update_since_1_15(host_id, force=parsed_args.force, **dates)
        except BlazarClientException as error:
            print_broken(self, error)
            raise
        self.print_result(f"Updated host: {parsed_args.host} ({impact_counts(changed['impact'])})")


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


def _add_available(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--available",
        action="store_true",
        help="Show from when on hosts are there, until when, and whether they are a buffer",
    )


def _add_dates(parser: argparse.ArgumentParser, begin: str, end: str) -> None:
    parser.add_argument("--available-from", metavar="DATE", help=f"From when on the host is there ({begin})")
    parser.add_argument("--available-until", metavar="DATE", help=f"Until when the host is there ({end})")


def _dates(command: ReservationCommand, parsed_args: argparse.Namespace) -> dict[str, Any]:
    """Return the dates that were given, as the service takes them; None for what is not bounded."""
    times = TimeParser(command.clock.now(), command.zone or UTC)
    begin, end, found = parsed_args.available_from, parsed_args.available_until, dict[str, Any]()
    if begin is not None:
        found["available_from"] = None if begin == NOW else to_wire(times.parse(begin))
    if end is not None:
        found["available_until"] = None if end == NEVER else to_wire(times.parse(end))
    return found


def _extra_pairs(arguments: Sequence[str]) -> dict[str, str]:
    """Split arguments at their first equal sign: a value may contain further ones."""
    pairs: dict[str, str] = {}
    for argument in arguments:
        key, separator, value = argument.partition("=")
        if not separator or not key:
            raise InvalidInput(f"--extra '{argument}' is not of the form key=value")
        pairs[key] = value
    return pairs
