"""How long a wait lasts, and how often it looks."""

from __future__ import annotations

from datetime import timedelta

import pytest

from blazar.service.polling import Pauses, until

from .world import START, MovedClock

PAUSES = Pauses(0.1, 0.4)


@pytest.mark.parametrize(
    ("seconds", "looks"),
    [(-1, []), (0, []), (0.05, [0]), (0.3, [0, 0.1]), (1.5, [0, 0.1, 0.3, 0.7, 1.1])],
    ids=["past", "now", "one look", "twice as long", "not longer than the longest"],
)
def test_looks_with_growing_pauses_and_stops_at_the_deadline(seconds, looks):
    clock, seen = MovedClock(), []
    for _ in until(START + timedelta(seconds=seconds), clock, PAUSES):
        seen.append((clock.now() - START).total_seconds())
    assert seen == pytest.approx(looks)
    assert clock.now() == START + timedelta(seconds=max(seconds, 0))


def test_a_clock_that_is_set_back_does_not_prolong_it():
    class SetBack(MovedClock):
        def pause(self, seconds: float) -> None:
            super().pause(seconds - 3600)

    assert len(list(until(START + timedelta(seconds=1.5), SetBack(), PAUSES))) == 5
