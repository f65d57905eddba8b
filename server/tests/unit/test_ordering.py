"""Who has to wait for whom when an allocation is about to start?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from blazar.domain.ordering import must_wait_for
from blazar.domain.resource import WHOLE, Allocation, Claim
from blazar.domain.time import Interval

NOON = datetime(2031, 5, 1, 12, tzinfo=UTC)
SHARED = Claim({"VCPU": 1})


def row(lease: str, start: int, end: int, claim: Claim = WHOLE, resource: str = "1") -> Allocation:
    interval = Interval(NOON + timedelta(hours=start), NOON + timedelta(hours=end))
    return Allocation(f"{lease}-{resource}", f"{lease}-reservation", lease, resource, interval, claim)


@pytest.mark.parametrize(
    ("earlier", "waits"),
    [
        pytest.param(row("before", -2, 0), True, id="it ends when the other starts"),
        pytest.param(row("before", -3, -1), True, id="it should have ended long ago"),
        pytest.param(row("before", -2, 0, SHARED), True, id="a shared claim before a whole one"),
        pytest.param(row("before", -2, 0, resource="2"), False, id="another resource"),
        pytest.param(row("starting", -2, 0), False, id="the same lease"),
        pytest.param(row("after", 1, 2), False, id="it comes later"),
        pytest.param(row("beside", -2, 1), False, id="it overlaps, which nobody may have planned"),
    ],
)
def test_a_whole_claim_waits(earlier: Allocation, waits: bool) -> None:
    assert must_wait_for([row("starting", 0, 1)], [earlier]) == ({"before"} if waits else set())


def test_a_shared_claim_waits_for_a_whole_one_only() -> None:
    starting = [row("starting", 0, 1, SHARED), row("starting", 0, 1, SHARED, resource="2")]
    unfinished = [
        row("whole", -1, 0),
        row("shared", -1, 0, SHARED),
        row("far", -1, 0, resource="3"),
        row("whole too", -9, -5, resource="2"),
    ]
    assert must_wait_for(starting, unfinished) == {"whole", "whole too"}


def test_nobody_waits_for_nobody() -> None:
    assert must_wait_for([], [row("before", -1, 0)]) == frozenset()
    assert must_wait_for([row("starting", 0, 1)], []) == frozenset()
