"""The commands for calendar feeds."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from blazarclient.commands.base import DeleteCommand, ListCommand, Row, ShowCommand


class CreateFeed(ShowCommand):
    """Make a calendar feed of leases: those of the project, unless an option says otherwise.

    Calendar programs read its address without a token. It is shown here, and not again.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--name", metavar="<name>", help="Name, which calendar programs show")
        parser.add_argument(
            "--project", metavar="<id>", help="Show the leases of this project (administrators)"
        )
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--mine", action="store_true", help="Show only leases of your own")
        which.add_argument("--user", metavar="<id>", help="Show only leases of this user")
        which.add_argument("--lease", metavar="<id>", help="Show only this lease")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        of_user = parsed_args.mine or parsed_args.user
        made = self.reservation.feed.create(
            "lease" if parsed_args.lease else "user" if of_user else "project",
            name=parsed_args.name,
            project_id=parsed_args.project,
            user_id=parsed_args.user,
            lease_id=parsed_args.lease,
        )
        return self.format_row(made, parsed_args)


class ListFeeds(ListCommand):
    """List the calendar feeds that you have made with the project; administrators see those of all."""

    columns = ("id", "name", "scope", "project_id", "user_id", "lease_id", "created_at")
    default_sort = "created_at"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--project", metavar="<id>", help="Only feeds made with this project (administrators)"
        )
        parser.add_argument("--user", metavar="<id>", help="Only feeds of this user (administrators)")
        return parser

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        return self.reservation.feed.list(
            parsed_args.sort_by, project_id=parsed_args.project, user_id=parsed_args.user
        )


class DeleteFeed(DeleteCommand):
    """Delete calendar feeds, so that their addresses are none any more."""

    noun = "feed"
    argument_help = "ID of the feed to delete; several can be given"

    def delete(self, reference: str) -> None:
        self.reservation.feed.delete(reference)
