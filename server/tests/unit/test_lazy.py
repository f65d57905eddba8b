"""An attribute that is computed when it is first asked for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

from blazar.domain.lazy import lazy


class Thing:
    def __init__(self, started: Event, go_on: Event) -> None:
        self.computed = 0
        self._started = started
        self._go_on = go_on

    @lazy
    def number(self) -> int:
        """A number."""
        self.computed += 1
        self._started.set()
        assert self._go_on.wait(30)
        return 7


def set_event() -> Event:
    event = Event()
    event.set()
    return event


def test_it_is_computed_once() -> None:
    thing = Thing(Event(), set_event())
    assert thing.computed == 0
    assert (thing.number, thing.number) == (7, 7)
    assert thing.computed == 1


def test_one_that_takes_long_holds_up_no_other() -> None:
    started, go_on = Event(), Event()
    slow, quick = Thing(started, go_on), Thing(Event(), set_event())
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(lambda: slow.number)
        try:
            assert started.wait(30)
            assert pool.submit(lambda: quick.number).result(timeout=10) == 7
        finally:
            go_on.set()
        assert waiting.result(timeout=10) == 7
