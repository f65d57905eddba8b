"""Leaves out the tests that take long, but for ``make test-thorough``; and takes the forms of a test by turns
where ``BLAZAR_TEST_TURN`` is a number, as in ``.ci/run``. ``BLAZAR_TEST_SHARE=4`` takes each fourth of all
tests, by turns as well."""

from __future__ import annotations

import os
from collections import defaultdict
from zlib import crc32

import pytest
from effort import EFFORT

TURN = os.environ.get("BLAZAR_TEST_TURN", "")
SHARE = int(os.environ.get("BLAZAR_TEST_SHARE", "1"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what is marked ``thorough``, and what other turns take, unless the effort is thorough."""
    if EFFORT == "thorough":
        return
    left_out = {item for item in items if item.get_closest_marker("thorough")}
    if TURN:
        left_out |= of_other_turns([item for item in items if item not in left_out], int(TURN))
        left_out |= {item for number, item in enumerate(items, int(TURN)) if number % SHARE}
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


def of_other_turns(items: list[pytest.Item], turn: int) -> set[pytest.Item]:
    """Return those marked ``by_turns(n)`` that this turn leaves out: it takes each n-th form of a test, and
    others than the n - 1 turns before it."""
    forms: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("by_turns"):
            forms[item.nodeid.partition("[")[0]].append(item)
    return {
        item
        for test, of_test in forms.items()
        for number, item in enumerate(of_test, crc32(test.encode()) + turn)
        if number % item.get_closest_marker("by_turns").args[0]  # type: ignore[union-attr]
    }
