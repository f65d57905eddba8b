"""The commands that update and extend a lease."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

from blazarclient.commands import lookup
from blazarclient.commands.base import ReservationCommand, add_time_zone_option
from blazarclient.commands.claim_by import add_claim_by_option, parse_claim_by
from blazarclient.commands.priority import add_priority_option
from blazarclient.formatting.durations import format_duration
from blazarclient.kinds.reservations import parse_reservation, parse_reservation_update
from blazarclient.parsing.durations import parse_duration
from blazarclient.parsing.errors import InvalidInput
from blazarclient.parsing.pairs import parse_pairs
from blazarclient.parsing.times import TimeParser
from blazarclient.waiting import time_until
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
            help="Reservation values to update. The reservation must be selected with the "
            "id=<reservation-id> key-value pair.",
        )
        parser.add_argument(
            "--add-reservation",
            metavar="<key=value>",
            action="append",
            default=[],
            help="Reservation to add to the lease, formed like those of lease create. Specify option "
            "multiple times to add several: all of them are added, or none",
        )
        parser.add_argument(
            "--remove-reservation",
            metavar="<reservation-id>",
            action="append",
            default=[],
            help="ID of a reservation to remove from the lease. Where the lease has begun, its servers are "
            "deleted; with a server of instance:server is done what its on_end says",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="Change nothing: tell whether the change could be made"
        )
        add_claim_by_option(parser)
        add_priority_option(parser)
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
        time_parser = TimeParser(self.clock.now(), self.zone or UTC)
        changes = {
            "name": parsed_args.name,
            "prolong_for": _to_seconds(parsed_args.prolong_for),
            "reduce_by": _to_seconds(parsed_args.reduce_by),
            "end_date": _to_wire(parsed_args.end_date, time_parser),
            "defer_by": _to_seconds(parsed_args.defer_by),
            "advance_by": _to_seconds(parsed_args.advance_by),
            "start_date": _to_wire(parsed_args.start_date, time_parser),
        }
        claim_by, priority = parse_claim_by(parsed_args.claim_by), parsed_args.priority
        reservations = [parse_reservation_update(parse_pairs(text)) for text in parsed_args.reservation]
        added = [parse_reservation(parse_pairs(text)) for text in parsed_args.add_reservation]
        members = {"add": added, "remove": parsed_args.remove_reservation}
        has_members = any(members.values())
        has_more = has_members or claim_by is not None or priority is not None
        leases = self.reservation.lease.explaining()
        lease_id = lookup.lease_id(parsed_args.lease, leases)
        if not any(changes.values()) and not reservations and not has_more:
            self.print_note("Nothing to change: give --name, --prolong-for, --end-date or the like.")
        if parsed_args.dry_run:
            shown = leases.preview_update(
                lease_id,
                claim_by=claim_by,
                priority=priority,
                reservations=reservations,
                **members,
                **changes,
            )
            self._tell(shown)
            return
        if priority is not None:
            leases.update_since_1_13(
                lease_id, priority, claim_by=claim_by, reservations=reservations, **members, **changes
            )
        elif has_members:
            leases.update_since_1_12(
                lease_id, claim_by=claim_by, reservations=reservations, **members, **changes
            )
        elif claim_by is None:
            leases.update(lease_id, reservations=reservations, **changes)
        else:
            leases.update_since_1_9(lease_id, claim_by, reservations=reservations, **changes)
        self.print_result(f"Updated lease: {parsed_args.lease}")

    def _tell(self, shown: dict[str, Any] | str) -> None:
        """Tell what a dry run has shown."""
        if not isinstance(shown, str):
            start, end = (to_wire(from_wire(shown[key])) for key in ("start_date", "end_date"))
            self.print_result(f"Nothing was changed. The lease would last from {start} to {end} UTC.")


class ExtendLease(ReservationCommand):
    """Postpone the end of a lease."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("lease", metavar="LEASE", help="ID or name of lease to extend")
        add_time_zone_option(parser)
        target = parser.add_mutually_exclusive_group(required=True)
        target.add_argument(
            "duration", metavar="DURATION", nargs="?", help="How much longer, like 90m, 2h, 1d"
        )
        target.add_argument(
            "--until", metavar="END", help="The new end, written like the times of lease create"
        )
        target.add_argument(
            "--latest",
            metavar="END",
            help="As long as its resources are free and quotas allow it, until END at the latest",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="Change nothing: tell until when the lease would last"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        time_parser = TimeParser(self.clock.now(), self.zone or UTC)
        duration = _to_seconds(parsed_args.duration)
        wanted = parsed_args.until or parsed_args.latest
        end = time_parser.parse(wanted) if wanted else None
        leases = self.reservation.lease.explaining()
        lease_id, is_dry_run = lookup.lease_id(parsed_args.lease, leases), parsed_args.dry_run
        update = leases.preview_update if is_dry_run else leases.update
        if end is None:
            changed = update(lease_id, prolong_for=duration)
        else:
            self._refuse_to_shorten(end, from_wire(leases.get(lease_id)["end_date"]))
            changed = (
                update(lease_id, end_date=to_wire(end))
                if parsed_args.until
                else leases.extend(lease_id, to_wire(end), is_dry_run)
            )
        assert isinstance(changed, dict)  # noqa: S101 (update returns text only if nothing changes)
        end = from_wire(changed["end_date"])
        until = f"{self._format_time(end)}, {format_duration(time_until(end, self.clock))} from now"
        self.print_result(
            f"Nothing was changed. The lease would last until {until}"
            if is_dry_run
            else f"Extended lease: {parsed_args.lease}, now until {until}"
        )

    def _refuse_to_shorten(self, end: datetime, current: datetime) -> None:
        if end <= current:
            raise InvalidInput(
                f"the lease already lasts until {self._format_time(current)}: give a later end, or shorten "
                "it with --reduce-by or --end-date of the command that updates leases"
            )

    def _format_time(self, when: datetime) -> str:
        local = when.astimezone(self.zone or UTC)
        return f"{local:%Y-%m-%d %H:%M} {local.tzname() or ''}".rstrip()


def _to_seconds(text: str | None) -> str | None:
    """Return the duration in seconds, because the library accepts one unit only."""
    return f"{int(parse_duration(text).total_seconds())}s" if text else None


def _to_wire(text: str | None, time_parser: TimeParser) -> str | None:
    if not text:
        return None
    return NOW if text.strip().lower() == NOW else to_wire(time_parser.parse(text))
