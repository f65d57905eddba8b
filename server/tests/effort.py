"""How many random examples a property test draws, how long clients go on, and at which steps stories die.

``BLAZAR_TEST_EFFORT`` is ``quick`` (while one writes code), ``usual`` (CI) or ``thorough`` (before a
release)."""

from __future__ import annotations

import os

FACTORS = {"quick": 0.02, "usual": 0.07, "thorough": 4.0}
EFFORT = os.environ.get("BLAZAR_TEST_EFFORT", "usual")


def examples(number: int) -> int:
    """Return how many examples to draw where ``number`` is a good measure; never fewer than five."""
    return max(5, round(number * FACTORS[EFFORT]))


def seconds(number: float) -> float:
    """Return how long to go on with random work that takes ``number`` seconds before a release."""
    return number * {"quick": 0.1, "usual": 0.25, "thorough": 1.0}[EFFORT]


def crash_steps(number: int) -> range:
    """Return at which of ``number`` steps a story dies: at each, but at each third of a long one while one
    writes code."""
    return range(1, number + 1, 3 if EFFORT == "quick" and number > 30 else 1)
