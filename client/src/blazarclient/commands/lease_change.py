"""How does a user change a lease, or make it longer?"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from blazarclient.commands import lookup
from blazarclient.commands.base import ReservationCommand, add_time_zone_option
from blazarclient.reading.durations import format_duration, parse_duration
from blazarclient.reading.errors import NotUnderstood
from blazarclient.reading.kinds import read_change
from blazarclient.reading.moments import Reader
from blazarclient.reading.pairs import parse_pairs
from blazarclient.waiting import until
from blazarclient.wire_time import NOW, from_wire, to_wire


class SetLease(ReservationCommand):
    """Update a lease."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("lease", metavar="LEASE", help="ID or name of lease to update")
        add_time_zone_option(parser)
        parser.add_argument("--name", help="New name for the lease")
        parser.add_argument(
            "--reservation",
            metavar="<key=value>",
            action="append",
            default=[],
            help="Reservation values to update. The reservation must be selected with the id=<reservation-id> key-value "
            "pair.",
        )
        end = parser.add_mutually_exclusive_group()
        end.add_argument("--prolong-for", help="Time to prolong lease for, like 90m, 4h, 2d")
        end.add_argument("--prolong_for", dest="prolong_for", help=argparse.SUPPRESS)
        end.add_argument("--reduce-by", help="Time to reduce lease by")
        end.add_argument("--end-date", help="end date of the lease; now ends it")
        start = parser.add_mutually_exclusive_group()
        start.add_argument("--defer-by", help="Time to defer the lease start")
        start.add_argument("--advance-by", help="Time to advance the lease start")
        start.add_argument("--start-date", help="start date of the lease")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        reader = Reader(self.clock.now(), self.zone or UTC)
        changes = {
            "name": parsed_args.name,
            "prolong_for": _seconds(parsed_args.prolong_for),
            "reduce_by": _seconds(parsed_args.reduce_by),
            "end_date": _wire(parsed_args.end_date, reader),
            "defer_by": _seconds(parsed_args.defer_by),
            "advance_by": _seconds(parsed_args.advance_by),
            "start_date": _wire(parsed_args.start_date, reader),
        }
        reservations = [read_change(parse_pairs(text)) for text in parsed_args.reservation]
        leases = self.reservation.lease
        lease_id = lookup.lease_id(parsed_args.lease, leases.list)
        if not any(changes.values()) and not reservations:
            self.note("Nothing to change: give --name, --prolong-for, --end-date or the like.")
        leases.update(lease_id, reservations=reservations, **changes)
        self.say(f"Updated lease: {parsed_args.lease}")


class ExtendLease(ReservationCommand):
    """Make a lease longer, counted from the end that it has."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("lease", metavar="LEASE", help="ID or name of lease to extend")
        add_time_zone_option(parser)
        target = parser.add_mutually_exclusive_group(required=True)
        target.add_argument("duration", metavar="DURATION", nargs="?", help="How much longer, like 90m, 2h, 1d")
        target.add_argument("--until", metavar="END", help="The new end, written like the times of lease create")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        reader = Reader(self.clock.now(), self.zone or UTC)
        duration = _seconds(parsed_args.duration)
        end = reader.read(parsed_args.until) if parsed_args.until else None
        leases = self.reservation.lease
        lease_id = lookup.lease_id(parsed_args.lease, leases.list)
        if end is None:
            changed = leases.update(lease_id, prolong_for=duration)
        else:
            self._refuse_to_shorten(end, from_wire(leases.get(lease_id)["end_date"]))
            changed = leases.update(lease_id, end_date=to_wire(end))
        assert isinstance(changed, dict)  # noqa: S101 (a sentence comes only when nothing was to be changed)
        end = from_wire(changed["end_date"])
        self.say(
            f"Extended lease: {parsed_args.lease}, now until {self._shown(end)}, "
            f"{format_duration(until(end, self.clock))} from now"
        )

    def _refuse_to_shorten(self, end: datetime, present: datetime) -> None:
        if end <= present:
            raise NotUnderstood(
                f"the lease already lasts until {self._shown(present)}: give a later end, or shorten it with "
                "--reduce-by or --end-date of the command that updates leases"
            )

    def _shown(self, moment: datetime) -> str:
        local = moment.astimezone(self.zone or UTC)
        return f"{local:%Y-%m-%d %H:%M} {local.tzname() or ''}".rstrip()


def _seconds(text: str | None) -> str | None:
    """The duration in the one unit that the library needs."""
    return f"{int(parse_duration(text).total_seconds())}s" if text else None


def _wire(text: str | None, reader: Reader) -> str | None:
    if not text:
        return None
    return NOW if text.strip().lower() == NOW else to_wire(reader.read(text))
