"""Helpers take steps off a worker: how many at once, for whom next, and what of a step that fails."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import pytest

from blazar.engine.helpers import Helpers
from blazar.service import log_context
from blazar.service.context import Caller

SECONDS = 20.0
"""How long a thread waits for another one before the test fails."""
VARIABLE: ContextVar[str] = ContextVar("variable", default="-")


def together(number: int) -> Callable[[], None]:
    """Return a step that ends when so many threads are at it at once."""
    barrier = threading.Barrier(number, timeout=SECONDS)
    return lambda: (barrier.wait(), None)[1]


@pytest.mark.parametrize("number", [1, 8])
def test_a_worker_and_all_helpers_are_at_it_at_once_and_no_more(number: int) -> None:
    lock, running, most = threading.Lock(), 0, 0
    meet = together(number + 1)

    def step() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        meet()
        with lock:
            running -= 1

    Helpers(number).run([step] * (number + 1) * 5)
    assert most == number + 1


def test_without_helpers_the_steps_come_in_their_order_in_the_thread_of_the_worker() -> None:
    seen: list[tuple[int, int]] = []
    Helpers(0).run([lambda n=n: seen.append((n, threading.get_ident())) for n in range(20)])
    assert seen == [(n, threading.get_ident()) for n in range(20)]


def test_no_steps_are_done_at_once() -> None:
    Helpers(2).run([])


def test_a_verb_of_many_steps_leaves_others_their_share() -> None:
    """The second verb needs the only helper, which the first one keeps busy."""
    helpers, is_over, begun = Helpers(1), threading.Event(), threading.Event()
    done: list[int] = []

    def slow() -> None:
        begun.set()
        is_over.wait(0.01)
        done.append(1)

    with ThreadPoolExecutor(1) as worker:
        first = worker.submit(helpers.run, [slow] * 4000)
        assert begun.wait(SECONDS)
        meet = together(2)
        helpers.run([meet, meet])
        assert len(done) < 2000
        is_over.set()
        first.result(SECONDS)
    assert len(done) == 4000


def test_the_first_failure_is_raised_when_no_step_runs_any_more_and_none_is_begun_after_it() -> None:
    failed, ended, done = threading.Event(), threading.Event(), []

    def fail() -> None:
        failed.set()
        raise KeyError("x")

    def go_on() -> None:
        assert failed.wait(SECONDS)
        ended.wait(0.2)
        done.append(1)

    with pytest.raises(KeyError):
        Helpers(1).run([go_on, fail, *[lambda: done.append(2)] * 10])
    assert 1 in done
    assert len(done) < 11


def test_helpers_have_the_log_context_and_the_variables_of_the_worker() -> None:
    found: list[tuple[int, str | None, str]] = []
    meet, own = together(2), log_context.request_id()

    def step() -> None:
        meet()
        found.append((threading.get_ident(), log_context.request_id(), VARIABLE.get()))

    helpers, token = Helpers(1), VARIABLE.set("trace")
    try:
        with log_context.bound_to(Caller("u", "p", (), request_id="req-1", global_request_id="req-1")):
            helpers.run([step, step])
    finally:
        VARIABLE.reset(token)
    assert len({thread for thread, _, _ in found}) == 2
    assert {each[1:] for each in found} == {("req-1", "trace")}
    found.clear()
    helpers.run([step, step])
    assert {each[1:] for each in found} == {(own, "-")}
