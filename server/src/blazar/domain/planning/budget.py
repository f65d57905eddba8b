"""The budget of one decision: a number of steps, counted wherever work can grow with what a user asks for.

A step stands for some microseconds on one core. Code that loops counts each turn; code that works on whole
arrays counts ``of_array`` of their length. Equal requests on equal calendars take equal steps, so a test that
counts them needs no clock. Time is the caller's business: ``look`` is called every LOOK steps, and may end
the decision."""

from __future__ import annotations

from collections.abc import Callable

LOOK = 200
"""Steps between two looks, about a millisecond."""
DECISION = 60_000
"""Steps to find a plan: about a third of a second."""
FIRST_FIT = 30_000
"""Steps to find the first possible start of a request that does not fit: about a seventh of a second."""
_PER_STEP = 1_000
"""Elements of arrays that are worked on in one step."""
_CALLS = 4
"""Steps of one pass over arrays, however short they are."""


class CutShort(Exception):
    """The budget is spent, or its time is over: what was looked for may exist all the same."""


def _go_on() -> None:
    """Look at nothing."""


class Budget:
    """So many steps; a part of it is a smaller budget, whose steps count in both."""

    def __init__(
        self, steps: int = DECISION, look: Callable[[], None] = _go_on, whole: Budget | None = None
    ) -> None:
        self._steps = steps
        self._look = look
        self._whole = whole
        self._next_look = LOOK
        self.spent = 0

    def spend(self, steps: int = 1) -> None:
        """Count these steps. Raises CutShort where there are not so many left, and what ``look`` raises."""
        self.spent += steps
        if self._whole is not None:
            self._whole.spend(steps)
        elif self.spent >= self._next_look:
            self._next_look = self.spent + LOOK
            self._look_up()
        if self.spent > self._steps:
            raise CutShort

    def _look_up(self) -> None:
        try:
            self._look()
        except CutShort:
            self._steps = -1  # a caller that goes on all the same is stopped at the next step
            raise

    def part(self, steps: int) -> Budget:
        """Return a budget of so many steps of this one."""
        return Budget(steps, whole=self)


def of_array(length: int, passes: int = 1) -> int:
    """Return the steps of so many passes over arrays of this length."""
    return passes * (_CALLS + length // _PER_STEP)
