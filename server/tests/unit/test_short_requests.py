"""Which requests a long plan waits for, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pytest

from blazar.service.short_requests import LONG_PLAN, MOST_WAITING, SHORT_REQUEST, Patience, ShortRequests

STEP = 0.001
ENOUGH = 10_000
"""Looks after which a wait that has not ended is endless."""


class Time:
    """A clock that goes on where a thread sleeps, and what happens meanwhile at its time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept = 0
        self._due: list[tuple[float, Callable[[], object]]] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept += 1
        assert self.slept < ENOUGH, "it waits for ever"
        self.now += seconds
        for each in [each for each in self._due if each[0] <= self.now]:
            self._due.remove(each)
            each[1]()

    def at(self, moment: float, action: Callable[[], object]) -> None:
        self._due.append((moment, action))


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def requests(time: Time) -> ShortRequests:
    return ShortRequests(time.monotonic, time.sleep)


@pytest.fixture
def running() -> ExitStack:
    return ExitStack()


def computed(time: Time, patience: Patience, seconds: float) -> None:
    """Go on with a plan that computes for so long, and looks about once a millisecond."""
    done = 0.0
    while done < seconds:
        time.now += STEP
        done += STEP
        patience.breathe()


def test_a_long_plan_waits_until_a_short_request_of_another_project_is_answered(
    time: Time, requests: ShortRequests, running: ExitStack
) -> None:
    running.enter_context(requests.arrived("greedy"))
    with requests.planning("greedy") as patience:
        computed(time, patience, 2 * LONG_PLAN)
        assert patience.waited == 0
        neighbour = ExitStack()
        neighbour.enter_context(requests.arrived("neighbour"))
        time.at(time.now + 0.03, neighbour.close)
        began = time.now
        patience.breathe()
        assert time.now - began == pytest.approx(0.03, abs=2 * STEP)
        assert patience.waited == pytest.approx(time.now - began, abs=STEP)
        waited = patience.waited
        computed(time, patience, 0.1)
        assert patience.waited == waited


def test_a_short_plan_does_not_wait(time: Time, requests: ShortRequests) -> None:
    with requests.arrived("neighbour"), requests.planning("other") as patience:
        began = time.now
        computed(time, patience, LONG_PLAN / 2)
        assert patience.waited == 0
        assert time.now - began == pytest.approx(LONG_PLAN / 2), "it does not even pause"


@pytest.mark.parametrize("project", ["greedy", "neighbour"])
def test_no_plan_waits_for_its_own_project_or_for_what_takes_long(
    time: Time, requests: ShortRequests, project: str
) -> None:
    with requests.arrived(project), requests.planning("greedy") as patience:
        computed(time, patience, 2 * SHORT_REQUEST)
        waited = patience.waited
        computed(time, patience, 1)
        assert patience.waited == waited
        assert waited <= (SHORT_REQUEST if project == "neighbour" else 0)


def test_two_long_plans_do_not_wait_for_each_other(time: Time, requests: ShortRequests) -> None:
    with (
        requests.arrived("one"),
        requests.arrived("other"),
        requests.planning("one") as first,
        requests.planning("other") as second,
    ):
        time.now += LONG_PLAN + STEP
        requests.begins_long_plan("other")
        first.breathe()
        requests.ends_long_plan("other")
        second.breathe()
        assert (first.waited, second.waited) == (0, 0)


def test_a_plan_has_a_share_of_the_time_however_many_short_requests_there_are(
    time: Time, requests: ShortRequests
) -> None:
    with requests.planning("greedy") as patience:
        computed(time, patience, 2 * LONG_PLAN)
        for _ in range(200):
            with requests.arrived("neighbour"):
                time.now += STEP
                patience.breathe()
        assert 0 < patience.waited <= MOST_WAITING * (time.now - patience.waited) + SHORT_REQUEST
        assert time.now < 2


def test_a_plan_does_not_wait_while_another_project_waits_for_its_turn(
    time: Time, requests: ShortRequests
) -> None:
    with requests.arrived("neighbour"), requests.planning("greedy", lambda: True) as patience:
        computed(time, patience, 0.05)
        assert patience.waited == 0


def test_nothing_is_kept_of_what_is_over(time: Time, requests: ShortRequests) -> None:
    with requests.arrived("one"), requests.arrived("one"), requests.planning("one") as patience:
        computed(time, patience, 2 * LONG_PLAN)
    with requests.planning("greedy") as patience:
        computed(time, patience, 2 * LONG_PLAN)
        with requests.arrived("one"):
            patience.breathe()
            assert patience.waited > 0, "the project has no long plan any more"
    assert not requests.has_others("greedy")
