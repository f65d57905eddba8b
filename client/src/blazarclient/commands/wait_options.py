"""The waiting of commands for a lease: options, progress and exit codes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from blazarclient.commands.base import ReservationCommand
from blazarclient.formatting.progress import open_progress
from blazarclient.parsing.durations import parse_duration
from blazarclient.waiting import Goal, Outcome, WaitResult, status_reason, time_until, wait_for
from blazarclient.wire_time import from_wire

GRACE = timedelta(minutes=10)
EXIT_CODES = {WaitResult.REACHED: 0, WaitResult.FAILED: 3, WaitResult.TIMED_OUT: 4}
Lease = dict[str, Any]


def add_wait_options(parser: argparse.ArgumentParser, help: str) -> None:
    """Add `--wait` and `--wait-timeout`."""
    parser.add_argument("--wait", action="store_true", help=help)
    add_timeout_option(parser)


def add_timeout_option(parser: argparse.ArgumentParser) -> None:
    """Add `--wait-timeout`."""
    parser.add_argument(
        "--wait-timeout",
        metavar="<duration>",
        help="How long to wait, like 30s, 10m, 2h (default: until 10 minutes after the event is due)",
    )


def wait_with_progress(
    command: ReservationCommand, lease_id: str, statuses: Sequence[str], timeout: str | None
) -> Outcome[Lease]:
    """Wait until the lease has one of the statuses, show the progress, and log the reason of a failure."""
    try:
        return _wait(command, lease_id, statuses, timeout)
    except KeyboardInterrupt:
        command.print_note(f"\nLease {lease_id} is not affected: it goes on by itself.")
        raise


def _wait(
    command: ReservationCommand, lease_id: str, statuses: Sequence[str], timeout: str | None
) -> Outcome[Lease]:
    clock = command.clock
    limit = parse_duration(timeout) if timeout else None
    first = command.reservation.lease.get(lease_id)
    deadline = clock.now() + limit if limit else from_wire(_due(first, statuses)) + GRACE
    failures = tuple({"ERROR", "TERMINATED"} - set(statuses))
    with open_progress(command.app.stderr, clock) as progress:
        outcome = wait_for(
            lambda: command.reservation.lease.get(lease_id),
            lambda lease: str(lease["status"]),
            Goal(statuses, failures),
            clock=clock,
            deadline=deadline,
            interval=lambda lease: _interval(lease, statuses, command),
            on_poll=lambda lease: progress.show(lease, statuses[0]),
        )
    if outcome.result is not WaitResult.REACHED:
        command.app.LOG.error("%s", _failure_message(outcome, statuses))
    return outcome


def _due(lease: Lease, statuses: Sequence[str]) -> str:
    return str(lease["end_date"] if "TERMINATED" in statuses else lease["start_date"])


def _interval(lease: Lease, statuses: Sequence[str], command: ReservationCommand) -> float:
    """Return the seconds until the next poll: a tenth of the time until the event, between 1 and 15."""
    remaining = time_until(from_wire(_due(lease, statuses)), command.clock).total_seconds()
    return min(max(remaining / 10, 1.0), 15.0)


def _failure_message(outcome: Outcome[Lease], statuses: Sequence[str]) -> str:
    lease = outcome.lease
    if outcome.result is WaitResult.TIMED_OUT:
        return (
            f"Lease {lease['name']} is {lease['status']}{status_reason(lease)} and not yet {statuses[0]}. "
            "It goes on by itself: look again later, or wait longer with --wait-timeout."
        )
    return (
        f"Lease {lease['name']} is {lease['status']} and will not be {statuses[0]}{status_reason(lease)}. "
        "Delete it to free what it still holds."
    )
