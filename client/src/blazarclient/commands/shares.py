"""The commands for leases that are shared with other projects."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from blazarclient.commands import lookup
from blazarclient.commands.base import ListCommand, ReservationCommand, Row

RIGHTS = ("read", "use", "change", "use_and_change", "take_over")


class SetShare(ReservationCommand):
    """Share a lease with another project, or change what that project may do."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_lease(parser)
        _add_project(parser)
        parser.add_argument(
            "--right",
            choices=RIGHTS,
            default=RIGHTS[0],
            help="What the project may do: see the lease (read, the default); put servers onto what it "
            "reserves, too (use); change its name and its dates, too (change); or all of it "
            "(use_and_change); make it its own before it starts (take_over)",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        leases = self.reservation.lease
        lease_id = lookup.lease_id(parsed_args.lease, leases)
        share = leases.share(lease_id, parsed_args.project, parsed_args.right)
        self.print_result(
            f"Lease {parsed_args.lease} is shared with {share['project_id']}: {share['right']}."
        )


class UnsetShare(ReservationCommand):
    """Share a lease with a project no longer. A project may give back what is shared with it."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_lease(parser)
        _add_project(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        leases = self.reservation.lease
        leases.unshare(lookup.lease_id(parsed_args.lease, leases), parsed_args.project)
        self.print_result(f"Lease {parsed_args.lease} is no longer shared with {parsed_args.project}.")


class TakeLeaseOver(ReservationCommand):
    """Make a lease that another project offers yours."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("lease", metavar="LEASE", help="ID of the lease")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        lease = self.reservation.lease.take_over(parsed_args.lease)
        self.print_result(f"Lease {lease['id']} belongs to {lease['project_id']} now.")


class ListShares(ListCommand):
    """List the projects that a lease is shared with."""

    columns = ("project_id", "right", "user_id", "created_at")
    default_sort = "project_id"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_lease(parser)
        return parser

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        leases = self.reservation.lease
        return leases.shares(lookup.lease_id(parsed_args.lease, leases), sort_by=parsed_args.sort_by)


def _add_lease(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("lease", metavar="LEASE", help="ID or name of the lease")


def _add_project(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("project", metavar="PROJECT", help="ID of the other project")
