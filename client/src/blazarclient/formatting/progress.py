"""The progress display of commands that wait for a lease.

A terminal gets one line that is overwritten. Other streams get one line per change, so that logs stay short.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, TextIO

from rich.console import Console
from rich.status import Status

from blazarclient.clock import Clock
from blazarclient.formatting.durations import format_duration
from blazarclient.waiting import status_reason, time_until
from blazarclient.wire_time import from_wire


class Progress(Protocol):
    """Shows the lease after each poll, with the status that the command waits for."""

    def show(self, lease: Mapping[str, Any], goal: str) -> None: ...


@contextmanager
def open_progress(stream: TextIO, clock: Clock) -> Iterator[Progress]:
    """Open the display for a terminal or for another stream."""
    if not stream.isatty():
        yield LineProgress(stream, clock)
        return
    console = Console(file=stream)
    with console.status("Waiting ...", refresh_per_second=5) as status:
        yield LiveProgress(status, clock)


class LineProgress:
    """Writes a line whenever the status or its reason changes."""

    def __init__(self, stream: TextIO, clock: Clock) -> None:
        self._stream = stream
        self._clock = clock
        self._last = ("", "")

    def show(self, lease: Mapping[str, Any], goal: str) -> None:
        if (lease["status"], status_reason(lease)) != self._last:
            self._last = (lease["status"], status_reason(lease))
            self._stream.write(progress_line(lease, goal, self._clock) + "\n")
            self._stream.flush()


class LiveProgress:
    """Overwrites one line of a terminal."""

    def __init__(self, status: Status, clock: Clock) -> None:
        self._status = status
        self._clock = clock

    def show(self, lease: Mapping[str, Any], goal: str) -> None:
        self._status.update(progress_line(lease, goal, self._clock).replace("[", r"\["))


def progress_line(lease: Mapping[str, Any], goal: str, clock: Clock) -> str:
    """Return the status of the lease and the time until its next event."""
    text = f"Lease {lease['name']} is {lease['status']}"
    if lease["status"] == goal:
        return text
    key, verb = ("end_date", "ends") if goal == "TERMINATED" else ("start_date", "starts")
    remaining = time_until(from_wire(lease[key]), clock)
    due = (
        f"{verb} in {format_duration(remaining)}"
        if remaining.total_seconds() >= 1
        else f"its time to {verb[:-1]} has come"
    )
    return f"{text}, waiting for {goal}: {due}{status_reason(lease)}"
