"""Do plans take turns by project, so that one project's expensive plans delay its own first?"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from blazar.domain.errors import CloudUnavailable, TooLate
from blazar.service.turns import FEW, REMEMBERED, Turns

PATIENCE = 20.0
"""Seconds until a test that hangs fails."""


class Plans:
    """Threads that want a turn, and go on when the test says so."""

    def __init__(self, at_once: int) -> None:
        self.turns = Turns(at_once)
        self.order: list[str] = []
        self._go: dict[str, threading.Event] = {}
        self._began: dict[str, threading.Event] = {}
        self._threads: list[threading.Thread] = []

    def ask(self, name: str) -> None:
        """Begin a plan; its project is the first letter of its name. Return when it runs or waits."""
        self._go[name], self._began[name] = threading.Event(), threading.Event()
        before = self.turns.waiting()
        thread = threading.Thread(target=self._run, args=(name,), daemon=True)
        self._threads.append(thread)
        thread.start()
        while not (self._began[name].wait(0.001) or self.turns.waiting() > before):
            assert thread.is_alive()

    def runs(self, name: str) -> bool:
        return self._began[name].is_set()

    def begins(self, name: str) -> bool:
        return self._began[name].wait(PATIENCE)

    def finish(self, name: str) -> None:
        self._go[name].set()

    def finish_all(self) -> None:
        for go in self._go.values():
            go.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def _run(self, name: str) -> None:
        with self.turns.taken(name[0], lambda: None):
            self.order.append(name)
            self._began[name].set()
            assert self._go[name].wait(PATIENCE)


@contextmanager
def plans(at_once: int) -> Iterator[Plans]:
    asked = Plans(at_once)
    try:
        yield asked
    finally:
        asked.finish_all()


def test_no_project_has_two_turns_and_a_neighbour_does_not_wait() -> None:
    with plans(at_once=2) as asked:
        for name in ("a1", "a2", "a3"):
            asked.ask(name)
        asked.ask("b1")
        assert asked.runs("a1")
        assert asked.begins("b1")
        assert not asked.runs("a2")
        assert asked.turns.waiting() == 2
        asked.finish("a1")
        assert asked.begins("a2")


def test_projects_take_turns_where_all_are_taken() -> None:
    with plans(at_once=1) as asked:
        for name in ("a1", "a2", "a3", "b1", "b2", "c1"):
            asked.ask(name)
        for name in ("a1", "a2", "b1", "c1", "a3", "b2"):
            assert asked.begins(name)
            asked.finish(name)
    assert asked.order == ["a1", "a2", "b1", "c1", "a3", "b2"]


def test_a_turn_that_fails_is_given_back() -> None:
    turns = Turns(1)
    with pytest.raises(KeyError), turns.taken("a", lambda: None):
        raise KeyError
    with turns.taken("b", lambda: 0.0):
        pass


def test_who_does_not_wait_any_longer_leaves_the_line() -> None:
    turns = Turns(1)
    with turns.taken("a", lambda: None):
        for seconds in (0.0, -5.0, 0.01):
            with pytest.raises(TooLate), turns.taken("b", lambda seconds=seconds: seconds):
                pass
        assert turns.waiting() == 0
    with turns.taken("b", lambda: 0.0):
        pass


class Processor:
    """The processor time of the plans, and the time that passes between them, as the test says."""

    def __init__(self) -> None:
        self.used = 0.0
        self.now = 0.0

    def turns(self) -> Turns:
        return Turns(1, lambda: self.used, lambda: self.now)

    def plan(self, turns: Turns, project: str, seconds: float) -> None:
        with turns.taken(project, lambda: None):
            self.used += seconds


def waiters(turns: Turns, project: str, number: int) -> list[str]:
    """Let so many plans of the project wait while one of another project runs. Return how each ended."""
    outcomes: list[str] = []

    def wait() -> None:
        try:
            with turns.taken(project, lambda: PATIENCE):
                outcomes.append("planned")
        except CloudUnavailable:
            outcomes.append("refused")

    threads = [threading.Thread(target=wait, daemon=True) for _ in range(number)]
    with turns.taken("another", lambda: None):
        for count, thread in enumerate(threads, 1):
            thread.start()
            while turns.waiting() + len(outcomes) < count:
                assert threads[0].is_alive()
    for thread in threads:
        thread.join(PATIENCE)
    return outcomes


@pytest.mark.parametrize(
    ("seconds", "planned"),
    [(0.0, 12), (0.05, 12), (0.1, 10), (0.6, FEW), (2.0, FEW)],
    ids=["nothing known", "cheap", "ten in a second", "expensive", "very expensive"],
)
def test_few_expensive_plans_of_a_project_wait_and_many_cheap_ones(seconds: float, planned: int) -> None:
    processor = Processor()
    turns = processor.turns()
    processor.plan(turns, "a", seconds)
    outcomes = waiters(turns, "a", 12)
    assert outcomes.count("planned") == planned
    assert outcomes.count("refused") == 12 - planned


def test_a_neighbour_of_a_project_with_expensive_plans_is_not_refused() -> None:
    processor = Processor()
    turns = processor.turns()
    processor.plan(turns, "a", 2.0)
    assert waiters(turns, "b", 12).count("planned") == 12


def test_those_who_wait_too_long_are_refused_when_the_plan_before_them_is_expensive() -> None:
    processor = Processor()
    turns, outcomes = processor.turns(), []

    def wait() -> None:
        try:
            with turns.taken("a", lambda: PATIENCE):
                outcomes.append("planned")
        except CloudUnavailable:
            outcomes.append("refused")

    threads = [threading.Thread(target=wait, daemon=True) for _ in range(5)]
    with turns.taken("a", lambda: None):
        for count, thread in enumerate(threads, 1):
            thread.start()
            while turns.waiting() < count:
                assert thread.is_alive()
        processor.used += 2.0
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(outcomes) == ["planned"] * FEW + ["refused"] * 3


def test_cheap_plans_in_between_do_not_hide_expensive_ones_at_once() -> None:
    processor = Processor()
    turns = processor.turns()
    for seconds in (2.0, 0.001):
        processor.plan(turns, "a", seconds)
    assert waiters(turns, "a", 5).count("planned") == FEW
    for _ in range(10):
        processor.plan(turns, "a", 0.001)
    assert waiters(turns, "a", 5).count("planned") == 5


def test_the_cost_of_plans_is_forgotten() -> None:
    processor = Processor()
    turns = processor.turns()
    processor.plan(turns, "a", 2.0)
    processor.now += REMEMBERED
    processor.plan(turns, "b", 0.001)
    assert waiters(turns, "a", 5).count("planned") == 5
