"""The commands for subscriptions."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import islice
from typing import Any

from blazarclient.commands.base import (
    DeleteCommand,
    ListCommand,
    ReservationCommand,
    Row,
    ShowCommand,
    add_time_zone_option,
)
from blazarclient.formatting.cells import in_zone
from blazarclient.parsing.errors import InvalidInput


def _add_events_option(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--event",
        metavar="<event>",
        action="append",
        dest="events",
        help="What is told: created, updated, waitlisted, promoted, expired, started, failed, end_soon, "
        "ended, deleted, offered, start_soon, degraded, moved, displaced or unclaimed_warning of leases, "
        "preemption_notice or preemption_notice_withdrawn of preemptible servers; can be repeated (default: "
        f"{default})",
    )


class CreateSubscription(ShowCommand):
    """Have what becomes of leases sent to an address, or kept for `subscription watch`.

    The secret with which the messages are signed is shown here, and not again.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "url",
            metavar="URL",
            nargs="?",
            help="Where messages are sent, like https://host/path (default: they are kept)",
        )
        _add_events_option(parser, "all")
        parser.add_argument("--name", metavar="<name>", help="Name of the subscription")
        parser.add_argument("--lease", metavar="<id>", help="Tell only of this lease")
        parser.add_argument(
            "--resource-type",
            metavar="<type>",
            help="Tell only of leases with this kind; with --below, the kind that is counted (default: "
            "physical:host)",
        )
        parser.add_argument(
            "--below",
            metavar="<number>",
            type=int,
            help="Tell when less than this is available at some time of the next days, and when there is "
            "enough again, in place of what becomes of leases",
        )
        parser.add_argument(
            "--days", metavar="<days>", type=int, help="With --below: how many days ahead (default: 7)"
        )
        parser.add_argument(
            "--quantity", metavar="<name>", help="With --below: what is counted (default: hosts)"
        )
        parser.add_argument(
            "--resource-properties",
            metavar="<requirement>",
            help="With --below: count only resources that meet this requirement",
        )
        projects = parser.add_mutually_exclusive_group()
        projects.add_argument(
            "--project", metavar="<id>", help="Tell of the leases of this project (administrators)"
        )
        projects.add_argument(
            "--all-projects", action="store_true", help="Tell of the leases of all projects (administrators)"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        capacity = _capacity(parsed_args)
        made = self.reservation.subscription.create(
            parsed_args.url,
            parsed_args.events,
            name=parsed_args.name,
            lease_id=parsed_args.lease,
            resource_type=None if capacity else parsed_args.resource_type,
            capacity=capacity,
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


class WatchSubscription(ReservationCommand):
    """Print what a subscription without a URL tells, as it happens, until Ctrl-C.

    All that is kept comes first. A service that is away is asked again.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_time_zone_option(parser)
        parser.add_argument("subscription", metavar="SUBSCRIPTION", help="ID of the subscription")
        parser.add_argument(
            "-f",
            "--format",
            choices=("value", "json"),
            default="value",
            help="How an event is printed: a line of words, or of JSON with all of it (default: value)",
        )
        parser.add_argument("--after", metavar="<id>", help="Begin behind the event with this ID")
        parser.add_argument("--count", metavar="<number>", type=int, help="Stop after so many events")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        found = self.reservation.subscription.watch(
            parsed_args.subscription, parsed_args.after, self.clock.sleep
        )
        for event in islice(found, parsed_args.count):
            told = in_zone(dict(event.data), self.zone)
            self.print_result(json.dumps(told) if parsed_args.format == "json" else _words(told))
            self.app.stdout.flush()


class DeleteSubscription(DeleteCommand):
    """Delete subscriptions. What is not under way yet is not sent any more."""

    noun = "subscription"
    argument_help = "ID of the subscription to delete; several can be given"

    def delete(self, reference: str) -> None:
        self.reservation.subscription.delete(reference)


def _capacity(parsed_args: argparse.Namespace) -> dict[str, Any] | None:
    """Return the condition of a subscription to capacity. Raises InvalidInput where it is not complete."""
    named = {
        name: getattr(parsed_args, name) for name in ("below", "days", "quantity", "resource_properties")
    }
    given = {name: value for name, value in named.items() if value is not None}
    if given and "below" not in given:
        raise InvalidInput("--days, --quantity and --resource-properties need --below.")
    if given and parsed_args.resource_type is not None:
        given["resource_type"] = parsed_args.resource_type
    return given or None


def _words(told: Row) -> str:
    """Return what an event tells as a line of words."""
    when = told.get("occurred_at", "").partition(".")[0].replace("T", " ")
    lease, server, capacity = told.get("lease", {}), told.get("server"), told.get("capacity")
    words = [lease.get("id"), lease.get("name")]
    if server:
        words = [server["id"], server["notice"]]
    if capacity:
        words = [f"{capacity['minimum']} {capacity['quantity']} (told below {capacity['below']})"]
    return " ".join(str(each) for each in (when, told["event"], *words) if each)


def _row(subscription: Row) -> Row:
    return {**subscription, "events": " ".join(subscription["events"])}
