"""What does a user see while a command waits?

On a terminal one line that moves; elsewhere one line for each change, so that logs stay short.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, TextIO

from rich.console import Console
from rich.status import Status

from blazarclient.clock import Clock
from blazarclient.reading.durations import format_duration
from blazarclient.waiting import reason, until
from blazarclient.wire_time import from_wire


class Progress(Protocol):
    """Is told of every look at the lease, and of the status that is waited for."""

    def show(self, lease: Mapping[str, Any], goal: str) -> None: ...


@contextmanager
def progress_on(stream: TextIO, clock: Clock) -> Iterator[Progress]:
    """The progress display that fits the stream."""
    if not stream.isatty():
        yield LineProgress(stream, clock)
        return
    console = Console(file=stream)
    with console.status("Waiting ...", refresh_per_second=5) as status:
        yield LiveProgress(status, clock)


class LineProgress:
    """A line whenever the status, or the reason for it, changes."""

    def __init__(self, stream: TextIO, clock: Clock) -> None:
        self._stream = stream
        self._clock = clock
        self._last = ("", "")

    def show(self, lease: Mapping[str, Any], goal: str) -> None:
        if (lease["status"], reason(lease)) != self._last:
            self._last = (lease["status"], reason(lease))
            self._stream.write(sentence(lease, goal, self._clock) + "\n")
            self._stream.flush()


class LiveProgress:
    """A line that is written over."""

    def __init__(self, status: Status, clock: Clock) -> None:
        self._status = status
        self._clock = clock

    def show(self, lease: Mapping[str, Any], goal: str) -> None:
        self._status.update(sentence(lease, goal, self._clock).replace("[", r"\["))


def sentence(lease: Mapping[str, Any], goal: str, clock: Clock) -> str:
    """Where the lease stands and when its next event is due."""
    text = f"Lease {lease['name']} is {lease['status']}"
    if lease["status"] == goal:
        return text
    key, verb = ("end_date", "ends") if goal == "TERMINATED" else ("start_date", "starts")
    left = until(from_wire(lease[key]), clock)
    due = f"{verb} in {format_duration(left)}" if left.total_seconds() >= 1 else f"its time to {verb[:-1]} has come"
    return f"{text}, waiting for {goal}: {due}{reason(lease)}"
