"""Tests of how much of a resource is promised at a moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from blazar.domain.resource import Allocation, Usage
from blazar.domain.time import Interval
from blazar.kinds.promised import most_at_once

START = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("allocated", "most"),
    [
        ([], 0),
        ([(0, 2, 5)], 5),
        ([(0, 2, 5), (2, 4, 6)], 6),  # one ends as the other starts
        ([(2, 4, 6), (0, 3, 5)], 11),
        ([(0, 9, 1), (1, 2, 3), (3, 4, 4), (4, 5, 5)], 6),
        ([(0, 1, 7), (0, 1, 7)], 14),
    ],
)
def test_the_most_that_is_allocated_at_once(allocated: list[tuple[int, int, int]], most: int) -> None:
    allocations = [
        Allocation(
            f"allocation-{n}",
            "reservation",
            "lease",
            "pool",
            Interval(START + timedelta(hours=first), START + timedelta(hours=last)),
            Usage({"PORT": 1}),
            slots,
        )
        for n, (first, last, slots) in enumerate(allocated)
    ]
    assert most_at_once(allocations, "PORT") == most
    assert most_at_once(allocations, "GIGABYTE") == 0
