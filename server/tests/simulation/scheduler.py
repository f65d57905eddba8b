"""Which task runs next, and what time it is: simulated threads on simulated time, decided by one seed.

Every thread of the service is a greenlet here, and exactly one of them runs at a time. A task gives the turn
away only in the methods of this class, and the scheduler picks the next one at random. Time passes only while
every task waits. So a run depends on the seed alone, and a simulated hour takes a second."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from greenlet import getcurrent, greenlet

SECOND = 1_000_000
"""Simulated time is counted in microseconds, for floats would round."""
SPINNING = 50_000
"""So many turns without time passing mean that a loop does not pause."""


class Crash(BaseException):
    """kill -9: nothing in the service catches it, and what runs while it unwinds has no effect outside."""


@dataclass(eq=False)
class Process:
    """A process of the site: its threads die together, and stand still together."""

    name: str
    dead: bool = False
    frozen_until: int = 0


@dataclass(eq=False)
class Task:
    """A thread of a process."""

    name: str
    process: Process
    greenlet: Any = None
    ticket: int = 0
    """Grows with every turn, so that a timer of an earlier wait is known as such."""
    woken: bool = False
    is_to_end: bool = False
    finished: bool = False
    waiters: list[Task] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.process.name}/{self.name}"


@dataclass(frozen=True)
class Violation:
    """A rule that was broken."""

    rule: str
    text: str


class Scheduler:
    """Runs tasks until the simulated time is over or a rule is broken."""

    def __init__(self, seed: str) -> None:
        self.random = Random(f"{seed}/schedule")
        self.now = 0
        self.current: Task | None = None
        self.violation: Violation | None = None
        self.switches = 0
        self.died: Callable[[Task, BaseException], None] = lambda task, failure: None
        """Called when an exception ends a task."""
        self._ready: list[Task] = []
        self._timers: list[tuple[int, int, Task | Callable[[], None], int]] = []
        self._number = 0
        self._turns = 0
        self._tasks: list[Task] = []
        self._closing = False
        self._hub = getcurrent()

    # what tasks call

    def switch(self) -> None:
        """Let any task run that can."""
        task = self._own()
        if task is not None:
            self._ready.append(task)
            self._leave(task)

    def sleep(self, seconds: float) -> None:
        """Wait for this much time to pass."""
        task = self._own()
        if task is None:
            return
        self._set_timer(self.now + max(round(seconds * SECOND), 0), task)
        self._leave(task)

    def park(self, timeout: float | None = None) -> bool:
        """Wait until another task wakes this one; false where that did not happen in time."""
        task = self._own()
        if task is None:
            raise RuntimeError("only a task can wait")
        task.woken = False
        if timeout is not None:
            self._set_timer(self.now + max(round(timeout * SECOND), 0), task)
        self._leave(task)
        return task.woken

    def wake(self, task: Task) -> None:
        """Let a parked task go on."""
        if not task.finished and not task.woken:
            task.woken = True
            task.ticket += 1
            self._ready.append(task)

    # what the site calls

    def spawn(self, name: str, process: Process, work: Callable[[], Any]) -> Task:
        """Begin a task."""
        task = Task(name, process)
        task.greenlet = greenlet(lambda: self._live(task, work), self._hub)  # where it goes when it ends
        self._tasks.append(task)
        self._ready.append(task)
        return task

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        """Call ``action``, which does not wait for anything, when so much time has passed."""
        self._push(self.now + round(seconds * SECOND), action, 0)

    def kill(self, process: Process) -> None:
        """End all tasks of the process, whatever they are doing."""
        process.dead = True
        process.frozen_until = 0
        for task in self._tasks:
            if task.process is process and not task.finished and task is not self.current:
                self.wake(task)

    def end(self, process: Process, name: str) -> None:
        """End the tasks of this name alone; the process goes on without them."""
        for task in self._tasks:
            if task.process is process and task.name == name and not task.finished:
                task.is_to_end = True
                self.wake(task)

    def ended(self, process: Process) -> frozenset[str]:
        """Return the names of the tasks of the process that have ended."""
        return frozenset(task.name for task in self._tasks if task.process is process and task.finished)

    def is_any_alive(self, names: Sequence[str]) -> bool:
        """Return whether a task of one of these names is at work."""
        return any(task.name in names and not task.finished for task in self._tasks)

    def fail(self, rule: str, text: str) -> None:
        """Report a broken rule; the run ends with the first one."""
        if self.violation is None:
            self.violation = Violation(rule, text)

    def run(self, seconds: float, is_over: Callable[[], bool] = lambda: False) -> None:
        """Run until so much time has passed, ``is_over``, or a rule is broken."""
        until = self.now + round(seconds * SECOND)
        while self.violation is None:
            if self._ready:
                self._turns += 1
                if self._turns > SPINNING:
                    self.fail("no-spinning", "the tasks run on and on while no time passes")
                self._resume(self._pick())
            elif is_over() or not self._timers or self._timers[0][0] > until:
                break
            else:
                self._pass_time()
        else:
            return
        if not is_over():
            self.now = until

    def close(self) -> None:
        """Unwind every task that is left, so that nothing runs later on."""
        self._closing = True
        for task in self._tasks:
            while not task.finished:
                self._enter(task)

    # parts

    def _own(self) -> Task | None:
        if self.current is not None:
            self._require_life(self.current)
        return self.current

    def _require_life(self, task: Task) -> None:
        if task.process.dead or task.is_to_end or self._closing:
            raise Crash

    def _leave(self, task: Task) -> None:
        self.switches += 1
        self._hub.switch()
        self._require_life(task)

    def _pick(self) -> Task:
        number = self.random.randrange(len(self._ready)) if len(self._ready) > 1 else 0
        self._ready[number], self._ready[-1] = self._ready[-1], self._ready[number]
        return self._ready.pop()

    def _resume(self, task: Task) -> None:
        if task.finished:
            return
        if task.process.frozen_until > self.now:
            self._set_timer(task.process.frozen_until, task)
        else:
            self._enter(task)

    def _enter(self, task: Task) -> None:
        task.ticket += 1
        self.current = task
        try:
            task.greenlet.switch()
        finally:
            self.current = None

    def _live(self, task: Task, work: Callable[[], Any]) -> None:
        try:
            self._require_life(task)
            work()
        except Crash:
            pass
        except BaseException as failure:  # noqa: BLE001 - the edge of a simulated thread
            self.died(task, failure)
        finally:
            task.finished = True
            for waiter in task.waiters:
                self.wake(waiter)

    def _set_timer(self, moment: int, task: Task) -> None:
        self._push(moment, task, task.ticket)

    def _push(self, moment: int, what: Task | Callable[[], None], ticket: int) -> None:
        self._number += 1
        heapq.heappush(self._timers, (moment, self._number, what, ticket))

    def _pass_time(self) -> None:
        moment, _, what, ticket = heapq.heappop(self._timers)
        if moment > self.now:
            self.now, self._turns = moment, 0
        if not isinstance(what, Task):
            what()
        elif what.ticket == ticket and not what.finished:
            self._ready.append(what)
            what.ticket += 1
