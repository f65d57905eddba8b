"""The capacity over time as text: a line of bars for each quantity, which are as high as what is available.

A bar tells the least of its column. Terminals get colours, and UTF-8 output gets blocks; other output gets
digits: 9 for all of it, 0 for nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from blazarclient.formatting.durations import format_duration
from blazarclient.formatting.timeline import Scale, TextFormatter, Timeline, axis, centred_title

_BLOCKS = "▁▂▃▄▅▆▇█"
_NOTHING = "bold red"
_SOME = "green"


@dataclass(frozen=True)
class Curve:
    """What is available from each of these moments on; `total` is as high as a bar gets."""

    name: str
    total: int
    minimum: int
    throughout: int
    starts: Sequence[datetime]
    values: Sequence[int]


@dataclass(frozen=True)
class Chart:
    """The curves in a window; its rows are empty."""

    curves: tuple[Curve, ...]
    window: Timeline


class CurveFormatter(TextFormatter):
    """Prints the chart that the command stored in its parsed arguments."""

    title = "curves"

    def lines(
        self, parsed_args: argparse.Namespace, width: int, *, unicode: bool, coloured: bool
    ) -> list[Text]:
        return render(parsed_args.chart, width, unicode=unicode, coloured=coloured)


def render(chart: Chart, width: int, *, unicode: bool, coloured: bool) -> list[Text]:
    """Return the lines of the chart, none wider than `width`."""
    if not chart.curves:
        return [Text("Nothing to show: no kind of resources has a quantity.")]
    label_width = min(max(cell_len(curve.name) for curve in chart.curves), max(10, width // 4))
    scale = Scale(chart.window, width - label_width - 2)
    separator = " │" if unicode else " |"
    lines = [centred_title(chart.window), axis(scale, label_width + 2)]
    for curve in chart.curves:
        line = Text(set_cell_size(curve.name, label_width) + separator)
        line.append_text(_bars(curve, scale, unicode, coloured))
        lines.append(line)
    lines += [Text(_sentence(curve)) for curve in chart.curves]
    most = "a full bar is all of it" if unicode else "9 is all of it"
    lines.append(Text(f"one column is {format_duration(scale.column_length)}; {most}"))
    return lines


def _bars(curve: Curve, scale: Scale, unicode: bool, coloured: bool) -> Text:
    line = Text()
    for value in _least(curve, scale):
        style = (_SOME if value else _NOTHING) if coloured else ""
        line.append(_bar(value, curve.total, unicode), style)
    return line


def _bar(value: int, total: int, unicode: bool) -> str:
    """Return the bar; only nothing has none, and only all has a full one."""
    levels = len(_BLOCKS) if unicode else 9
    level = min(max(1, value * levels // max(total, 1)), levels) if value > 0 else 0
    if not unicode:
        return str(level)
    return _BLOCKS[level - 1] if level else "·"


def _least(curve: Curve, scale: Scale) -> list[int]:
    """Return the least value in the time of each column."""
    least = [-1] * scale.width
    ends = [*curve.starts[1:], scale.timeline.end]
    for start, end, value in zip(curve.starts, ends, curve.values, strict=True):
        first, last = scale.columns_of(start, end)
        for column in range(first, last):
            least[column] = value if least[column] < 0 else min(least[column], value)
    return [max(value, 0) for value in least]


def _sentence(curve: Curve) -> str:
    whole = f"{curve.throughout} from start to end"
    return f"{curve.name}: at least {curve.minimum} of {curve.total}, {whole}"
