"""Line charts, as SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

WIDTH, HEIGHT = 560, 320
LEFT, RIGHT, TOP, BOTTOM = 70, 150, 40, 50
COLOURS = ("#1f77b4", "#d62728", "#2ca02c")
GREY = "#777777"
LINE = 15
"""The height of a line of text."""


@dataclass(frozen=True)
class Line:
    """A line with its name; ``points`` are pairs of positive numbers."""

    label: str
    points: Sequence[tuple[Any, Any]]


@dataclass(frozen=True)
class _Axis:
    """Maps numbers from ``low`` to ``high`` to pixels from ``start`` to ``end``, by ``scale``."""

    low: float
    high: float
    start: float
    end: float
    scale: Callable[[float], float] = math.log

    def at(self, number: float) -> float:
        low, high = self.scale(self.low), self.scale(self.high)
        return self.start + (self.scale(number) - low) / (high - low) * (self.end - self.start)


def plot(title: str, x_words: str, y_words: str, lines: Sequence[Line]) -> str:
    """Return the text of an SVG file with logarithmic axes."""
    xs = sorted({x for line in lines for x, _ in line.points})
    ys = [y for line in lines for _, y in line.points]
    if len(xs) < 2:
        xs = [xs[0], xs[0] * 2]
    bottom, top = 10 ** math.floor(math.log10(min(ys))), 10 ** math.ceil(math.log10(max(ys) * 1.001))
    across = _Axis(xs[0], xs[-1], LEFT + 15, WIDTH - RIGHT - 15)
    up = _Axis(bottom, top, HEIGHT - BOTTOM, TOP)
    decades = [10.0**power for power in range(round(math.log10(bottom)), round(math.log10(top)) + 1)]
    return _svg(title, [*_frame(title, x_words, y_words, xs, decades, across, up)], lines, across, up)


def plot_shares(title: str, x_words: str, y_words: str, lines: Sequence[Line]) -> str:
    """Return the text of an SVG file for shares up to 100 %, without a number at each point."""
    xs = sorted({x for line in lines for x, _ in line.points})
    low = 10 * math.floor(min(y for line in lines for _, y in line.points) / 10)
    across = _Axis(xs[0], xs[-1], LEFT + 15, WIDTH - RIGHT - 15, float)
    up = _Axis(low, 100, HEIGHT - BOTTOM, TOP, float)
    frame = _frame(title, x_words, y_words, xs, range(low, 101, 10), across, up)
    return _svg(title, [*frame], lines, across, up, has_numbers=False)


def _svg(
    title: str,
    parts: list[str],
    lines: Sequence[Line],
    across: _Axis,
    up: _Axis,
    has_numbers: bool = True,
) -> str:
    labels = _apart([up.at(line.points[-1][1]) for line in lines])
    for colour, line, label in zip(COLOURS, lines, labels, strict=False):
        parts += _line(line, colour, across, up, label, has_numbers)
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}'
    style = 'font-family="sans-serif" font-size="12"'
    background = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    return "\n".join(
        [f"{head} {style}>", f"<title>{escape(title)}</title>", background, *parts, "</svg>", ""]
    )


def _frame(
    title: str,
    x_words: str,
    y_words: str,
    xs: Sequence[float],
    ys: Sequence[float],
    across: _Axis,
    up: _Axis,
) -> Iterator[str]:
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield _text(middle, 22, title, "middle", size=14)
    yield _text(middle, HEIGHT - 10, x_words, "middle")
    yield _text(6, TOP - 8, y_words, "start")
    for number in ys:
        y = up.at(number)
        yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{GREY}" stroke-width="0.5"/>'
        yield _text(LEFT - 6, y + 4, f"{number:g}", "end")
    for x in xs:
        yield _text(across.at(x), HEIGHT - BOTTOM + 18, f"{x:g}", "middle")


def _apart(heights: Sequence[float]) -> Sequence[float]:
    """Return the heights of labels, moved down where one would be on another."""
    found, last = [*heights], -math.inf
    for place in sorted(range(len(heights)), key=heights.__getitem__):
        found[place] = last = max(heights[place], last + LINE)
    return found


def _line(
    line: Line, colour: str, across: _Axis, up: _Axis, label: float, has_numbers: bool
) -> Iterator[str]:
    places = [(across.at(x), up.at(y)) for x, y in line.points]
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for (x, y), (_, number) in zip(places, line.points, strict=True):
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
        if has_numbers:
            yield _text(x, y - 8, _short(number), "middle", colour)
    yield _text(WIDTH - RIGHT + 8, label + 4, line.label, "start", colour)


def _short(number: float) -> str:
    return f"{number:.0f}" if number >= 1000 else f"{number:.3g}"


def _text(x: float, y: float, words: str, anchor: str, colour: str = "black", size: int = 12) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}"'
    return f"<text {place}>{escape(words)}</text>"
