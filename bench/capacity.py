"""Measure how long a capacity curve takes, on calendars of several sizes.

    python bench/capacity.py [--hosts 10000] [--reservations 100000] [--rounds 300] [--seed 7]

The calendars are those of ``planning.py``, with future reservations over a year. Each question is for another
window, and is asked of a calendar that has just changed, so nothing is known from the question before."""

from __future__ import annotations

import argparse
import gc
import platform
import random
import statistics
import time
from collections.abc import Callable, Sequence
from datetime import timedelta

import numpy as np
from planning import HOUR, SMALL, START, Setting, with_allocations

from blazar.cmd.process import keep_freed_memory
from blazar.domain.calendar.calendar import Calendar
from blazar.domain.planning.budget import Budget
from blazar.domain.planning.candidate import candidate_for
from blazar.domain.planning.demand import Demand
from blazar.domain.planning.skyline import Skyline
from blazar.domain.planning.steps import Curve, Curves, length_for, stepped
from blazar.domain.requirement.language import parse
from blazar.domain.resource import WHOLE, Usage
from blazar.domain.time import Interval

MOST_STEPS = 4000
CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")
DEMANDS = {"hosts": Demand("", 0, 1), **{name: Demand("", 0, 1, Usage({name: 1})) for name in CLASSES}}
"""What a curve of each quantity counts."""


class Questions:
    """Questions about a calendar, each for another window of so many hours."""

    def __init__(self, calendar: Calendar, hours: int, seed: int, cleaning: int = 0) -> None:
        self._calendar = calendar
        self._hours = hours
        self._rng = random.Random(seed)
        self._cleaning = timedelta(minutes=cleaning)

    def _skyline(self) -> Skyline:
        begin = START + self._rng.randrange(-24, 365 * 24 - self._hours + 1) * HOUR
        interval = Interval(begin, begin + self._hours * HOUR)
        rank = self._rng.randrange(2, 16)
        self._requirement = parse(f'[">=", "$vcpus", "{rank}"]')  # all hosts, but not known from before
        self._snapshot = self._calendar.snapshot()
        columns = self._snapshot.columns
        matching = columns.matching(self._requirement, frozenset(), frozenset(), WHOLE)
        return Skyline(self._snapshot, interval, self._cleaning, matching, START, Budget())

    def one(self, name: str) -> None:
        skyline = self._skyline()
        self._tell([self._curves(skyline, name)])

    def all(self) -> None:
        skyline = self._skyline()
        self._tell([self._curves(skyline, name) for name in DEMANDS])

    def density(self) -> None:
        skyline = self._skyline()
        fit = skyline.fit(candidate_for(self._snapshot, Demand("", 0, 1, SMALL), Budget()))
        self._tell([Curves(skyline.axis, {"fits": Curve(fit.values)})])

    def _curves(self, skyline: Skyline, name: str) -> Curves:
        resource_class = None if name == "hosts" else name
        curves = {
            "available": Curve(skyline.fit(candidate_for(self._snapshot, DEMANDS[name], Budget())).values),
            "reserved": Curve(skyline.reserved(resource_class), tells_most=True),
            "in_use": Curve(skyline.reserved(resource_class, in_use=True), tells_most=True),
        }
        return Curves(skyline.axis, curves)

    def _tell(self, several: list[Curves]) -> None:
        length = length_for(several, MOST_STEPS, Budget())
        for curves in several:
            stepped(curves, length)


def measured(ask: Callable[[], None], rounds: int) -> tuple[float, float]:
    """Return median and 99th percentile in milliseconds of CPU time, which other programs do not affect."""
    ask()
    taken = []
    for _ in range(rounds):
        begun = time.thread_time()
        ask()
        taken.append((time.thread_time() - begun) * 1000)
    return statistics.median(taken), statistics.quantiles(taken, n=100)[-1]


def measure(setting: Setting, rounds: int) -> dict[str, tuple[float, float]]:
    calendar = Calendar()
    calendar.bulk_load(with_allocations(setting))
    gc.collect()  # what loading has left is not to be collected in the middle of a question
    year, week = (Questions(calendar, hours, setting.seed) for hours in (365 * 24, 7 * 24))
    cleaned = Questions(calendar, 365 * 24, setting.seed, cleaning=10)
    questions: dict[str, Callable[[], None]] = {
        "a year: hosts": lambda: year.one("hosts"),
        "a year: VCPUs": lambda: year.one("VCPU"),
        "a year: how many of a shape fit": year.density,
        "a year: hosts, VCPUs, memory and disk": year.all,
        "a year: VCPUs, with cleaning time": lambda: cleaned.one("VCPU"),
        "a week: VCPUs": lambda: week.one("VCPU"),
        "a week: hosts, VCPUs, memory and disk": week.all,
    }
    return {name: measured(ask, rounds) for name, ask in questions.items()}


def table(
    hosts: int = 10_000, reservations: int = 100_000, rounds: int = 300, seed: int = 7
) -> list[Sequence[object]]:
    """Return a head and a row for each question: median / 99th percentile in milliseconds of CPU."""
    each = reservations // hosts
    settings = (
        Setting(100, 100 * each, 365, 0.2, seed),
        Setting(hosts, reservations, 365, 0.2, seed),
        Setting(hosts, reservations, 365, 0.0, seed),
    )
    keep_freed_memory()
    columns = [measure(setting, rounds) for setting in settings]
    rows = [[name, *(f"{c[name][0]:.2f} / {c[name][1]:.2f}" for c in columns)] for name in columns[0]]
    return [["median / 99th percentile, ms of CPU", *(setting.name for setting in settings)], *rows]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--reservations", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, numpy {np.__version__}")
    for row in table(options.hosts, options.reservations, options.rounds, options.seed):
        print(" | ".join(map(str, row)))


if __name__ == "__main__":
    main()
