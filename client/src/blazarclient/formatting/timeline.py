"""The timeline of resources and leases as text.

Each row has one line, or several lines if its leases overlap. A bar contains as much of the lease's name as
fits. Terminals get colours, and UTF-8 output gets line characters; other output is plain ASCII.
"""

from __future__ import annotations

import argparse
import math
import shutil
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from typing import Any, ClassVar, TextIO

from cliff.formatters import base
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from blazarclient.formatting.durations import format_duration

MINIMUM_WIDTH = 40
STYLES = {"ACTIVE": "black on green", "PENDING": "black on cyan", "ERROR": "white on red"}
_MINUTES = (5, 10, 15, 30, 60, 120, 180, 360, 720)
_DAYS = (1, 2, 7, 14, 28, 56, 112, 364)
_STEPS = (*(timedelta(minutes=step) for step in _MINUTES), *(timedelta(days=step) for step in _DAYS))


@dataclass(frozen=True)
class Bar:
    """A lease on one row: its `label` is drawn, `lease` is its name."""

    label: str
    lease: str
    lease_id: str
    reservation_id: str
    status: str
    start: datetime
    end: datetime


@dataclass(frozen=True)
class CalendarRow:
    """One row: a resource, whose kind of resource is the `noun`, or leases of one name, without a noun."""

    name: str
    bars: tuple[Bar, ...]
    noun: str = ""

    def within(self, start: datetime, end: datetime) -> CalendarRow:
        """Return the row with those bars that overlap the window."""
        return replace(self, bars=tuple(bar for bar in self.bars if bar.start < end and start < bar.end))


@dataclass(frozen=True)
class Timeline:
    """The rows and the visible window."""

    rows: tuple[CalendarRow, ...]
    start: datetime
    end: datetime
    zone: tzinfo


class TextFormatter(base.ListFormatter, ABC):
    """Prints what a command stored in its parsed arguments, drawn to the width of the terminal."""

    title: ClassVar[str]

    def add_argument_group(self, parser: argparse.ArgumentParser) -> None:
        group = parser.add_argument_group(self.title)
        group.add_argument("--width", type=int, metavar="<columns>", help="Width (default: the terminal's)")

    def emit_list(
        self,
        column_names: Sequence[str],
        data: Iterable[Sequence[Any]],
        stdout: TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        width = parsed_args.width or shutil.get_terminal_size().columns
        console = Console(file=stdout, width=max(width, MINIMUM_WIDTH), highlight=False, legacy_windows=False)
        unicode = (getattr(stdout, "encoding", None) or "ascii").lower().replace("-", "") == "utf8"
        coloured = console.is_terminal and console.color_system is not None
        for line in self.lines(parsed_args, console.width, unicode=unicode, coloured=coloured):
            if not unicode:
                line.plain = line.plain.encode("ascii", "replace").decode()
            console.print(line, overflow="crop", no_wrap=True, soft_wrap=not console.is_terminal)

    @abstractmethod
    def lines(
        self, parsed_args: argparse.Namespace, width: int, *, unicode: bool, coloured: bool
    ) -> list[Text]:
        """Return the lines, none wider than `width`."""


class TimelineFormatter(TextFormatter):
    """Prints the timeline that the command stored in its parsed arguments."""

    title = "timeline"

    def lines(
        self, parsed_args: argparse.Namespace, width: int, *, unicode: bool, coloured: bool
    ) -> list[Text]:
        return render(parsed_args.timeline, width, unicode=unicode, coloured=coloured)


def render(timeline: Timeline, width: int, *, unicode: bool, coloured: bool) -> list[Text]:
    """Return the lines of the timeline, none wider than `width`."""
    if not timeline.rows:
        return [Text("Nothing to show: there is no host, and no lease in this time.")]
    label_width = min(max(cell_len(row.name) for row in timeline.rows), max(10, width // 4))
    scale = Scale(timeline, width - label_width - 2)
    separator = " │" if unicode else " |"
    lines = [centred_title(timeline), axis(scale, label_width + 2)]
    for row in timeline.rows:
        for number, bars in enumerate(_stack(row.bars) or [[]]):
            head = set_cell_size(row.name if number == 0 else "", label_width)
            line = Text(head + separator)
            line.append_text(_draw_line(bars, scale, unicode, coloured))
            lines.append(line)
    lines.append(Text(_legend(timeline, scale)))
    return lines


class Scale:
    """Converts times to columns."""

    def __init__(self, timeline: Timeline, width: int) -> None:
        self.timeline = timeline
        self.width = width
        self._seconds = (timeline.end - timeline.start).total_seconds() / width

    def column(self, time: datetime) -> int:
        column = (time - self.timeline.start).total_seconds() / self._seconds
        return max(0, min(self.width, round(column)))

    def columns_of(self, start: datetime, end: datetime) -> tuple[int, int]:
        """Return the first column that the time touches, and the one behind the last."""
        first, last = (
            (moment - self.timeline.start).total_seconds() / self._seconds for moment in (start, end)
        )
        return max(0, int(first)), min(self.width, math.ceil(last))

    @property
    def column_length(self) -> timedelta:
        return timedelta(seconds=self._seconds)

    def step(self) -> timedelta:
        """Return the smallest distance between marks on the axis at which their texts do not overlap."""
        minimum = timedelta(seconds=self._seconds * 8)
        return next((step for step in _STEPS if step >= minimum), _STEPS[-1])


def centred_title(timeline: Timeline) -> Text:
    """Return the line with start and end."""
    start, end = (time.astimezone(timeline.zone) for time in (timeline.start, timeline.end))
    return Text(f"{start:%a %Y-%m-%d %H:%M} to {end:%a %Y-%m-%d %H:%M} {end.tzname() or ''}".rstrip())


def axis(scale: Scale, indent: int) -> Text:
    """Return the axis, with marks at round local times."""
    step = scale.step()
    zone = scale.timeline.zone
    canvas = [" "] * scale.width
    free_from = 0
    for mark in _marks(scale.timeline.start.astimezone(zone), scale.timeline.end, step):
        column = scale.column(mark)
        text = _mark_text(mark, step)
        if column >= free_from and column + len(text) <= scale.width:
            canvas[column : column + len(text)] = text
            free_from = column + len(text) + 1
    return Text(" " * indent + "".join(canvas).rstrip())


def _mark_text(mark: datetime, step: timedelta) -> str:
    """Return the day at midnight, and the time otherwise; on long scales the date."""
    if (mark.hour, mark.minute) != (0, 0):
        return f"'{mark:%H:%M}"
    return f"'{mark:%a %d}" if step < timedelta(days=7) else f"'{mark:%d %b}"


def _marks(start: datetime, end: datetime, step: timedelta) -> list[datetime]:
    """Return the round local times in the window: multiples of the step since local midnight."""
    mark = start.replace(hour=0, minute=0, second=0, microsecond=0)
    marks = []
    while mark < end:
        if mark >= start:
            marks.append(mark)
        mark += step  # local time: a day has 24 hours, also at a change of daylight saving
    return marks


def _stack(bars: Sequence[Bar]) -> list[list[Bar]]:
    """Distribute the bars to as few lines as possible, so that no two of a line overlap.

    In the order of their starts, each bar goes to the first line whose last bar has ended.
    """
    lines: list[list[Bar]] = []
    for bar in sorted(bars, key=lambda item: (item.start, item.end, item.label)):
        for line in lines:
            if line[-1].end <= bar.start:
                line.append(bar)
                break
        else:
            lines.append([bar])
    return lines


def _draw_line(bars: Sequence[Bar], scale: Scale, unicode: bool, coloured: bool) -> Text:
    line = Text()
    position = 0
    for bar in bars:
        first = max(scale.column(bar.start), position)
        last = max(scale.column(bar.end), first + 1)
        if first >= scale.width:
            break
        line.append(("·" if unicode else ".") * (first - position))
        line.append(
            _draw_bar(bar, min(last, scale.width) - first, scale, unicode, coloured),
            STYLES.get(bar.status, "black on white") if coloured else "",
        )
        position = min(last, scale.width)
    line.append(("·" if unicode else ".") * (scale.width - position))
    return line


def _draw_bar(bar: Bar, width: int, scale: Scale, unicode: bool, coloured: bool) -> str:
    """Return a bar of this width: its name between edges, or between arrows beyond the window."""
    left = "<" if bar.start < scale.timeline.start else "["
    right = ">" if bar.end > scale.timeline.end else "]"
    fill = " " if coloured else ("━" if unicode else "=")
    if width == 1:
        return "▌" if unicode and not coloured else "#"
    inner = width - 2
    label = bar.label if cell_len(bar.label) <= inner else _shortened(bar.label, inner, unicode)
    return left + label + fill * (inner - cell_len(label)) + right


def _shortened(label: str, width: int, unicode: bool) -> str:
    mark = "…" if unicode else "~"
    return set_cell_size(label, width - 1) + mark if width > 2 else ""


def _legend(timeline: Timeline, scale: Scale) -> str:
    column = format_duration(scale.column_length)
    bars = sum(len(row.bars) for row in timeline.rows)
    resources = Counter(row.noun for row in timeline.rows if row.noun)
    counts = [_count(number, noun) for noun, number in resources.items()]
    counts.append(_count(bars, "reservation" if resources else "lease"))
    return f"{', '.join(counts)}; one column is {column}; < and > reach beyond"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
