"""What all parts of a run share: the scheduler, the weather, the trace, and one call of a port as a step."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

from .scheduler import SECOND, Crash, Process, Scheduler
from .troubles import Trouble, Weather

START = datetime(2030, 1, 1, 8, 0, tzinfo=UTC)


class Unforeseen(Exception):
    """An error that no part of the service knows, as drivers and libraries raise them."""


def _exceptions() -> Iterator[type[Exception]]:
    """Yield all built-in exceptions that are made of one text."""
    yield Unforeseen
    for _, found in sorted(vars(builtins).items()):
        if isinstance(found, type) and issubclass(found, Exception):
            try:
                found("text")
            except TypeError:
                continue
            yield found


EXCEPTIONS = tuple(dict.fromkeys(_exceptions()))
PLANNED = "a trouble of this run"


def unforeseen(random: Random, text: str) -> Exception:
    """Return an exception of any class: one of a library, or of a defect."""
    failure = random.choice(EXCEPTIONS)(text)
    failure.add_note(PLANNED)
    return failure


def is_planned(failure: BaseException | None) -> bool:
    """Return whether a trouble of the run is behind a failure."""
    return failure is not None and (
        PLANNED in getattr(failure, "__notes__", ())
        or is_planned(failure.__cause__)
        or is_planned(failure.__context__)
    )


@dataclass(frozen=True)
class Line:
    """One line of the trace. What only looks, and finds nothing, is quiet."""

    now: int
    actor: str
    action: str
    outcome: str
    is_quiet: bool

    def __str__(self) -> str:
        moment = START + timedelta(microseconds=self.now)
        time = f"{moment:%H:%M:%S}.{self.now % SECOND // 1000:03d}"
        return f"{time}  {self.actor:<24} {self.action} -> {self.outcome}"


@dataclass
class World:
    """The parts of one run that belong to no process."""

    seed: str
    scheduler: Scheduler
    weather: Weather
    trace: list[Line] = field(default_factory=list)
    dice: Random = field(default_factory=Random)

    @staticmethod
    def made(seed: str, troubles: Sequence[Trouble]) -> World:
        scheduler = Scheduler(seed)
        return World(seed, scheduler, Weather(seed, scheduler, troubles), dice=Random(f"{seed}/dice"))

    def now(self) -> datetime:
        """Return the true time, which no clock in the site shows exactly."""
        return START + timedelta(microseconds=self.scheduler.now)

    def tell(self, action: str, outcome: str, is_quiet: bool = False, actor: str | None = None) -> None:
        """Add a line to the trace."""
        by = actor or str(self.scheduler.current or "site")
        self.trace.append(Line(self.scheduler.now, by, action, outcome, is_quiet))

    def step(self, process: Process, latency: float) -> None:
        """Pass the turn on at a call of a port, which takes about ``latency`` seconds; the process may die
        here."""
        if self.weather.is_to_crash(process):
            self.tell("kill -9", f"{process.name} is dead")
            self.scheduler.kill(process)
            raise Crash
        if self.dice.random() < 0.3:
            self.scheduler.switch()
        else:
            self.scheduler.sleep(self.dice.expovariate(1 / latency))


class SimulatedClock:
    """The Clock port of one process, ahead of or behind the true time by ``skew`` seconds."""

    def __init__(self, world: World, process: Process, skew: float) -> None:
        self._world = world
        self._process = process
        self._skew = timedelta(seconds=skew)

    def now(self) -> datetime:
        if self._world.dice.random() < 0.1:
            self._world.scheduler.switch()
        return self._world.now() + self._skew

    def pause(self, seconds: float) -> None:
        self._world.scheduler.sleep(seconds)


def passed(scheduler: Scheduler) -> float:
    """Return the seconds since the run began."""
    return scheduler.now / SECOND
