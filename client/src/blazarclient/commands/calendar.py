"""Who has what, when? A timeline of hosts and leases, from what the caller may see.

An administrator sees the hosts and every reservation on them; everybody else sees the leases of the own project.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from cliff import lister

from blazarclient import exception
from blazarclient.commands.base import ReservationCommand, Row, add_time_zone_option
from blazarclient.reading.durations import parse_duration
from blazarclient.reading.errors import NotUnderstood, nearest
from blazarclient.reading.moments import Reader
from blazarclient.showing.timeline import Bar, Timeline
from blazarclient.wire_time import from_wire

COLUMNS = ("row", "lease", "lease_id", "reservation_id", "status", "start_date", "end_date")
DEFAULT_SPAN = timedelta(days=7)
# On these, nothing is held any more.
_OVER = frozenset({"TERMINATED"})


class ShowCalendar(ReservationCommand, lister.Lister):
    """Show a timeline of hosts and leases."""

    @property
    def formatter_namespace(self) -> str:
        return "blazarclient.formatter.calendar"

    @property
    def formatter_default(self) -> str:
        return "timeline"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_time_zone_option(parser)
        parser.add_argument("--start-date", metavar="START", help="Where to begin (default: now)")
        end = parser.add_mutually_exclusive_group()
        end.add_argument("--end-date", metavar="END", help="Where to end (default: 7 days after the start)")
        end.add_argument("--duration", metavar="<duration>", help="How much to show, like 8h, 2d, 4w")
        parser.add_argument("--host", action="append", default=[], help="Only this host (repeatable)")
        parser.add_argument("--mine", action="store_true", help="Show leases instead of hosts, also to administrators")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        now = self.clock.now()
        start, end = self._window(parsed_args, now)
        leases = {lease["id"]: lease for lease in self.reservation.lease.list(sort_by="start_date")}
        by_host = None if parsed_args.mine else self._by_host(parsed_args, leases)
        shown = {
            name: [bar for bar in bars if bar.start < end and start < bar.end]
            for name, bars in (_by_lease(leases) if by_host is None else by_host).items()
        }
        if by_host is None:
            shown = {name: bars for name, bars in shown.items() if bars}
        row_is = "lease" if by_host is None else "host"
        parsed_args.timeline = Timeline(shown, start, end, self.zone or UTC, row_is)
        return COLUMNS, [self._record(name, bar) for name, bars in shown.items() for bar in bars]

    def _window(self, parsed_args: argparse.Namespace, now: datetime) -> tuple[datetime, datetime]:
        reader = Reader(now, self.zone or UTC)
        start = reader.read(parsed_args.start_date or "now")
        if parsed_args.end_date:
            end = reader.read(parsed_args.end_date)
        else:
            end = start + (parse_duration(parsed_args.duration) if parsed_args.duration else DEFAULT_SPAN)
        if end <= start:
            raise NotUnderstood("the end of the calendar is not after its start")
        return start, end

    def _by_host(self, parsed_args: argparse.Namespace, leases: dict[str, Row]) -> dict[str, list[Bar]] | None:
        """Bars by host, idle ones too; None for those who may not see hosts."""
        try:
            hosts = self.reservation.host.list(sort_by="hypervisor_hostname")
            allocations = self.reservation.allocation.list("os-hosts")
        except exception.BlazarClientException as error:
            # 404: the service has no hosts at all, because that kind is not switched on.
            if error.code not in (403, 404) or parsed_args.host:
                raise
            self.note("These are the leases of your project: only administrators may see the hosts.")
            return None
        return _by_host(_chosen(hosts, parsed_args.host), allocations, leases)

    def _record(self, name: str, bar: Bar) -> tuple[Any, ...]:
        start, end = (moment.astimezone(self.zone or UTC) for moment in (bar.start, bar.end))
        times = (start.isoformat(timespec="minutes"), end.isoformat(timespec="minutes"))
        return (name, bar.label, bar.lease_id, bar.reservation_id, bar.status, *times)


def _chosen(hosts: Sequence[Row], wanted: Sequence[str]) -> Sequence[Row]:
    names = [host["hypervisor_hostname"] for host in hosts]
    for reference in wanted:
        if reference not in names and reference not in {host["id"] for host in hosts}:
            guess = nearest(reference, names)
            hint = f": did you mean '{guess}'?" if guess else ""
            raise exception.BlazarClientException(
                f"Unable to find resource with name '{reference}'{hint}", code=404, noun="host"
            )
    return [host for host in hosts if not wanted or host["hypervisor_hostname"] in wanted or host["id"] in wanted]


def _by_host(hosts: Sequence[Row], allocations: Sequence[Row], leases: dict[str, Row]) -> dict[str, list[Bar]]:
    reservations = {row["resource_id"]: row["reservations"] for row in allocations}
    rows: dict[str, list[Bar]] = {}
    for host in hosts:
        # A reservation of several instances on one host comes once per instance, but is one bar.
        found = {item["id"]: item for item in reservations.get(host["id"], [])}
        rows[host["hypervisor_hostname"]] = [_bar(item, leases) for item in found.values()]
    return rows


def _bar(item: Row, leases: dict[str, Row]) -> Bar:
    lease = leases.get(item["lease_id"], {})
    return Bar(
        label=lease.get("name") or item["lease_id"],
        lease_id=item["lease_id"],
        reservation_id=item["id"],
        status=lease.get("status", ""),
        start=from_wire(item["start_date"]),
        end=from_wire(item["end_date"]),
    )


def _by_lease(leases: dict[str, Row]) -> dict[str, list[Bar]]:
    rows: dict[str, list[Bar]] = {}
    for lease in leases.values():
        if lease["status"] in _OVER:
            continue
        bar = Bar(
            label=lease["status"],
            lease_id=lease["id"],
            reservation_id=" ".join(item["id"] for item in lease.get("reservations", [])),
            status=lease["status"],
            start=from_wire(lease["start_date"]),
            end=from_wire(lease["end_date"]),
        )
        rows.setdefault(lease["name"], []).append(bar)
    return rows
