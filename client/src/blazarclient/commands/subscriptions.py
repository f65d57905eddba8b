"""The commands for subscriptions."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from blazarclient.commands.base import DeleteCommand, ListCommand, Row, ShowCommand


def _add_events_option(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--event",
        metavar="<event>",
        action="append",
        dest="events",
        help="What is told: created, updated, waitlisted, promoted, expired, started, failed, end_soon, "
        f"ended or deleted; can be repeated (default: {default})",
    )


class CreateSubscription(ShowCommand):
    """Have what becomes of leases sent to an address.

    The secret with which the messages are signed is shown here, and not again.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("url", metavar="URL", help="Where messages are sent, like https://host/path")
        _add_events_option(parser, "all")
        parser.add_argument("--name", metavar="<name>", help="Name of the subscription")
        parser.add_argument("--lease", metavar="<id>", help="Tell only of this lease")
        parser.add_argument("--resource-type", metavar="<type>", help="Tell only of leases with this kind")
        projects = parser.add_mutually_exclusive_group()
        projects.add_argument(
            "--project", metavar="<id>", help="Tell of the leases of this project (administrators)"
        )
        projects.add_argument(
            "--all-projects", action="store_true", help="Tell of the leases of all projects (administrators)"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        made = self.reservation.subscription.create(
            parsed_args.url,
            parsed_args.events,
            name=parsed_args.name,
            lease_id=parsed_args.lease,
            resource_type=parsed_args.resource_type,
            project_id=parsed_args.project,
            all_projects=parsed_args.all_projects,
        )
        return self.format_row(_row(made), parsed_args)


class ListSubscriptions(ListCommand):
    """List the subscriptions of the project; administrators see those of all projects."""

    columns = ("id", "name", "url", "events", "status", "waiting", "last_error")
    default_sort = "created_at"

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        return [_row(each) for each in self.reservation.subscription.list(sort_by=parsed_args.sort_by)]


class ShowSubscription(ShowCommand):
    """Show a subscription: how many messages wait, and why the last one was not taken."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("subscription", metavar="SUBSCRIPTION", help="ID of the subscription")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        return self.format_row(_row(self.reservation.subscription.get(parsed_args.subscription)), parsed_args)


class SetSubscription(ShowCommand):
    """Change a subscription, resume it, or make its secret anew."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("subscription", metavar="SUBSCRIPTION", help="ID of the subscription")
        parser.add_argument("--name", metavar="<name>", help="New name")
        parser.add_argument("--url", metavar="<url>", help="Where messages are sent from now on")
        _add_events_option(parser, "as before")
        parser.add_argument(
            "--resume", action="store_true", help="Send what waits at once, also where it is suspended"
        )
        parser.add_argument(
            "--renew-secret", action="store_true", help="Make a new secret, which is shown here only"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        changed = self.reservation.subscription.update(
            parsed_args.subscription,
            name=parsed_args.name,
            url=parsed_args.url,
            events=parsed_args.events,
            resume=parsed_args.resume,
            renew_secret=parsed_args.renew_secret,
        )
        return self.format_row(_row(changed), parsed_args)


class DeleteSubscription(DeleteCommand):
    """Delete subscriptions. What was not sent yet is not sent any more."""

    noun = "subscription"
    argument_help = "ID of the subscription to delete; several can be given"

    def delete(self, reference: str) -> None:
        self.reservation.subscription.delete(reference)


def _row(subscription: Row) -> Row:
    return {**subscription, "events": " ".join(subscription["events"])}
