"""The commands for what users are told by mail."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from blazarclient.commands.base import Row, ShowCommand
from blazarclient.parsing.errors import InvalidInput


class ShowMail(ShowCommand):
    """Show what you are told by mail of your leases, in all projects."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        return self.format_row(_row(self.reservation.mail.get()), parsed_args)


class SetMail(ShowCommand):
    """Choose what you are told by mail of your leases, in all projects."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--event",
            dest="events",
            metavar="<event>",
            action="append",
            help="Tell this event, such as end_soon; several can be given, and no other is told",
        )
        which.add_argument(
            "--none", dest="events", action="store_const", const=[], help="Tell nothing: send no mail"
        )
        which.add_argument("--usual", action="store_true", help="Tell what the operator has told")
        when = parser.add_mutually_exclusive_group()
        when.add_argument(
            "--daily", action="store_true", default=None, help="Tell all events of a day in one mail"
        )
        when.add_argument(
            "--at-once", dest="daily", action="store_false", help="Tell each event when it happens"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        events = parsed_args.events
        if events is None and not parsed_args.usual and parsed_args.daily is None:
            raise InvalidInput("say what is to change: --event, --none, --usual, --daily or --at-once")
        chosen = self.reservation.mail.set(events=events, usual=parsed_args.usual, daily=parsed_args.daily)
        return self.format_row(_row(chosen), parsed_args)


def _row(mail: Row) -> Row:
    return {**mail, "events": " ".join(mail["events"])}
