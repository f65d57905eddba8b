"""What goes wrong in a run, and when: a list of troubles that the seed draws in advance, so that each can be
left out.

A trouble is in force for some seconds, and then strikes each call of its area with its odds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from .scheduler import SECOND, Process, Scheduler

AREAS = {
    "deadlock": "database",
    "database away": "database",
    "unforeseen error": "database",
    "slow database": "database",
    "commit unknown": "commit",
    "cloud away": "cloud",
    "cloud refuses": "cloud",
    "cloud hangs": "cloud",
    "answer of the cloud lost": "answer",
    "unforeseen cloud error": "cloud",
    "slow cloud": "cloud",
    "message lost": "message",
    "message late": "message",
    "message twice": "message",
    "answer lost": "reply",
    "nova takes all for down": "list",
    "nova lists nothing": "list",
    "servers do not die": "server",
    "broker away": "notifier",
    "unforeseen broker error": "notifier",
    "crash": "process",
    "freeze": "process",
    "thread ends": "process",
}
"""Every trouble, and the calls that it strikes."""
LONGEST = {
    "cloud refuses": 25,
    "crash": 0,
    "freeze": 25,
    "servers do not die": 90,
    "cloud hangs": 20,
    "thread ends": 0,
}
"""Seconds that some troubles are in force, where that differs from a minute."""

WEIGHTS = {"servers do not die": 5, "crash": 5, "commit unknown": 2, "slow cloud": 2, "freeze": 2}
"""How often some troubles are drawn, where that differs from once."""


@dataclass(frozen=True)
class Trouble:
    """One trouble: ``begin`` and ``length`` in seconds; ``steps`` is how many calls later a crash comes."""

    number: int
    kind: str
    begin: float
    length: float
    odds: float
    process: str
    steps: int

    def __str__(self) -> str:
        if self.kind == "crash":
            return f"{self.process} crashes at its call number {self.steps} after {self.begin:.0f} s"
        if self.kind == "freeze":
            return f"{self.process} stands still from {self.begin:.0f} s on for {self.length:.0f} s"
        if self.kind == "thread ends":
            return f"a thread of {self.process} ends after {self.begin:.0f} s"
        return (
            f"{self.kind} at {self.odds:.0%} of the calls of {self.process} "
            f"from {self.begin:.0f} s on for {self.length:.0f} s"
        )


def draw(
    random: Random, until: float, managers: Sequence[str], callers: Sequence[str], without: Iterable[str]
) -> list[Trouble]:
    """Draw the troubles of one run: from none to a dozen, all over before ``until``."""
    kinds = [kind for kind in AREAS if kind not in set(without)]
    found = []
    for number in range(random.choice((0, 1, 2, 3, 4, 6, 8, 12)) if kinds else 0):
        kind = random.choices(kinds, [WEIGHTS.get(kind, 1) for kind in kinds])[0]
        begin = random.uniform(0, until * 0.9)
        length = min(random.uniform(1, LONGEST.get(kind, 60)), until - begin) if LONGEST.get(kind, 1) else 0.0
        odds = random.choice((0.02, 0.1, 0.3, 0.8, 1.0))
        steps = round(random.choice((3, 10, 40, 150)) * random.random())
        process = random.choice(callers if AREAS[kind] in ("message", "reply") else managers)
        found.append(Trouble(number, kind, begin, length, odds, process, steps))
    return found


class Weather:
    """The troubles that are in force now. ``strikes`` counts how often each came."""

    def __init__(self, seed: str, scheduler: Scheduler, troubles: Sequence[Trouble]) -> None:
        self.strikes: Counter[str] = Counter()
        self._scheduler = scheduler
        self._all = {trouble.number: trouble for trouble in troubles}
        self._random = {t.number: Random(f"{seed}/trouble/{t.number}") for t in troubles}
        self._steps = {t.number: t.steps for t in troubles if t.kind == "crash"}
        self.is_over = False

    def clear(self) -> None:
        """End all troubles for good."""
        self.is_over = True

    def strike(self, area: str, process: Process) -> Trouble | None:
        """Return the trouble that strikes this call, if any does."""
        if self.is_over:
            return None
        now = self._scheduler.now / SECOND
        for trouble in self._all.values():
            if (
                AREAS[trouble.kind] == area
                and trouble.begin <= now < trouble.begin + trouble.length
                and (trouble.process == process.name or area == "server")
                and self._random[trouble.number].random() < trouble.odds
            ):
                self.strikes[trouble.kind] += 1
                return trouble
        return None

    def random_of(self, trouble: Trouble) -> Random:
        """Return the source of what else there is to be drawn for the trouble."""
        return self._random[trouble.number]

    def is_to_crash(self, process: Process) -> bool:
        """Count one call of the process; true where it is to die here."""
        if self.is_over or not self._steps:
            return False
        now = self._scheduler.now / SECOND
        for number in list(self._steps):
            trouble = self._all[number]
            if trouble.process == process.name and trouble.begin <= now:
                self._steps[number] -= 1
                if self._steps[number] < 0:
                    del self._steps[number]
                    self.strikes["crash"] += 1
                    return True
        return False

    def of_kind(self, kind: str) -> Iterable[Trouble]:
        return [trouble for trouble in self._all.values() if trouble.kind == kind]
