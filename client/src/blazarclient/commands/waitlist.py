"""The commands for leases that wait until there is enough for them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC

from blazarclient.commands import lookup
from blazarclient.commands.base import (
    DeleteCommand,
    ListCommand,
    ReservationCommand,
    Row,
    add_time_zone_option,
)
from blazarclient.parsing.times import TimeParser
from blazarclient.wire_time import to_wire


class ListWaitlist(ListCommand):
    """List the leases that wait, the next one first; they are made with `lease create --or-wait-until`."""

    columns = ("position", "lease_id", "name", "start_date", "until", "expected_start")
    default_sort = "position"

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        return self.reservation.waitlist.list(sort_by=parsed_args.sort_by)


class SetWaitlist(ReservationCommand):
    """Change until when a lease waits."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("lease", metavar="LEASE", help="ID or name of the lease that waits")
        add_time_zone_option(parser)
        parser.add_argument(
            "--until",
            metavar="<time>",
            required=True,
            help="Until when it waits, written like the times of lease create",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        until = TimeParser(self.clock.now(), self.zone or UTC).parse(parsed_args.until)
        lease_id = lookup.lease_id(parsed_args.lease, self.reservation.lease)
        lease = self.reservation.waitlist.update(lease_id, to_wire(until))
        self.print_result(f"Lease {parsed_args.lease} waits until {lease['waiting']['until'][:16]} UTC.")


class DeleteWaitlist(DeleteCommand):
    """Delete leases that wait. One that has been made meanwhile is not deleted."""

    noun = "lease"
    argument_help = "ID or name of the lease that waits; several can be given"

    def delete(self, reference: str) -> None:
        self.reservation.waitlist.delete(lookup.lease_id(reference, self.reservation.lease))
