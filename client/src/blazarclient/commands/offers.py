"""The commands for offers."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, timedelta
from typing import Any

from blazarclient.commands.base import DeleteCommand, ListCommand, Row, ShowCommand
from blazarclient.commands.lease_create import add_times, period_of
from blazarclient.commands.lease_file import LeaseFile
from blazarclient.kinds.reservations import help_text, parse_reservation
from blazarclient.parsing.durations import parse_duration
from blazarclient.parsing.errors import InvalidInput
from blazarclient.parsing.pairs import parse_pairs
from blazarclient.parsing.times import TimeParser

MINUTE = timedelta(minutes=1)


class CreateOffer(ShowCommand):
    """Hold what a lease needs for some minutes, until it is claimed with `lease create --offer`."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_times(parser)
        parser.set_defaults(before_end_date=None)
        parser.add_argument(
            "--reservation",
            metavar="<key=value>",
            action="append",
            default=[],
            help="Reservation of the lease, as in `lease create`. Specify option multiple times for a lease "
            f"with multiple reservations. {help_text()}",
        )
        parser.add_argument(
            "--hold",
            metavar="<duration>",
            help="For how long it is held, like 10m or 1h (default: 15m, or the longest that the operator "
            "allows)",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        reservations = [parse_reservation(parse_pairs(text)) for text in parsed_args.reservation]
        if not reservations:
            raise InvalidInput(
                "there is nothing to hold: give --reservation, like "
                "--reservation resource_type=physical:host,min=1,max=1"
            )
        period = period_of(parsed_args, LeaseFile(), TimeParser(self.clock.now(), self.zone or UTC))
        hold = parsed_args.hold
        offer = self.reservation.offer.create(
            reservations,
            period.start,
            period.end,
            duration=period.duration,
            latest_end=period.latest_end,
            hold=None if hold is None else parse_duration(hold) // MINUTE,
        )
        self.announce("Held:", parsed_args)
        return self.format_row(offer, parsed_args)


class ListOffers(ListCommand):
    """List what is held for the project."""

    columns = ("id", "start_date", "end_date", "expires_at", "planned")
    default_sort = "expires_at"

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        found = self.reservation.offer.list(sort_by=parsed_args.sort_by)
        return [{**offer, "planned": _planned(offer)} for offer in found]


def _planned(offer: Row) -> str:
    return ", ".join(f"{each['units']} {each['resource_type']}" for each in offer["planned"])


class ShowOffer(ShowCommand):
    """Show what an offer holds, and until when."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("offer", metavar="OFFER", help="ID of the offer")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        return self.format_row(self.reservation.offer.get(parsed_args.offer), parsed_args)


class DeleteOffer(DeleteCommand):
    """Give back what offers hold."""

    noun = "offer"
    argument_help = "ID of the offer to delete; several can be given"

    def delete(self, reference: str) -> None:
        self.reservation.offer.delete(reference)
