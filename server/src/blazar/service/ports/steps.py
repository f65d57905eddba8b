"""The port by which a verb runs steps that do not depend on each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Step = Callable[[], None]
RunSteps = Callable[[Sequence[Step]], None]
"""Runs all steps, in any order and several at once, and returns when none runs any more. Raises what the
first step raised that failed; no other is begun then."""


def one_after_another(steps: Sequence[Step]) -> None:
    """Run the steps in their order, in this thread."""
    for step in steps:
        step()
