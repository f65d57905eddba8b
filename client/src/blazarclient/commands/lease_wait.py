"""The command that waits for the status of a lease."""

from __future__ import annotations

import argparse

from blazarclient.commands import lookup
from blazarclient.commands.base import ReservationCommand
from blazarclient.commands.wait_options import EXIT_CODES, add_timeout_option, wait_with_progress

STATUSES = ("PENDING", "ACTIVE", "TERMINATED", "ERROR")


class WaitForLease(ReservationCommand):
    """Wait until a lease has a status. Exit code 3: it never will; 4: the time is over."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("lease", metavar="LEASE", help="ID or name of lease to wait for")
        parser.add_argument(
            "--status",
            choices=STATUSES,
            default="ACTIVE",
            type=str.upper,
            help="Status to wait for (default: ACTIVE)",
        )
        add_timeout_option(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        leases = self.reservation.lease
        lease_id = lookup.lease_id(parsed_args.lease, leases)
        outcome = wait_with_progress(self, lease_id, (parsed_args.status,), parsed_args.wait_timeout)
        self._exit_code = EXIT_CODES[outcome.result]
        if not self._exit_code:
            self.print_result(f"Lease {outcome.lease['name']} is {outcome.lease['status']}")

    def run(self, parsed_args: argparse.Namespace) -> int:
        self._exit_code = 0
        return super().run(parsed_args) or self._exit_code
