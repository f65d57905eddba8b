"""Who has to wait for whom when an allocation is about to start?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from blazar.domain.lease.ordering import must_wait_for, shared_with
from blazar.domain.resource import WHOLE, Allocation, Usage
from blazar.domain.time import Interval

NOON = datetime(2031, 5, 1, 12, tzinfo=UTC)
SHARED = Usage({"VCPU": 1})


def row(lease: str, start: int, end: int, usage: Usage = WHOLE, resource: str = "1") -> Allocation:
    interval = Interval(NOON + timedelta(hours=start), NOON + timedelta(hours=end))
    return Allocation(f"{lease}-{resource}", f"{lease}-reservation", lease, resource, interval, usage)


@pytest.mark.parametrize(
    ("earlier", "waits"),
    [
        pytest.param(row("before", -2, 0), True, id="it ends when the other starts"),
        pytest.param(row("before", -3, -1), True, id="it should have ended long ago"),
        pytest.param(row("before", -2, 0, SHARED), True, id="a shared claim before a whole one"),
        pytest.param(row("before", -2, 0, resource="2"), False, id="another resource"),
        pytest.param(row("starting", -2, 0), False, id="the same lease"),
        pytest.param(row("after", 1, 2), False, id="it comes later"),
        pytest.param(row("beside", -2, 1), False, id="it overlaps, which no manager may have planned"),
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


def cpus(lease: str, start: int, end: int, number: int, resource: str = "1") -> Allocation:
    return row(lease, start, end, Usage({"VCPU": number}), resource)


@pytest.mark.parametrize(
    ("capacity", "unfinished", "planned", "waits"),
    [
        pytest.param(8, [cpus("before", -1, 0, 4)], [], False, id="both fit"),
        pytest.param(7, [cpus("before", -1, 0, 4)], [], True, id="both do not fit"),
        pytest.param(
            8, [cpus("before", -1, 0, 4)], [cpus("beside", -1, 1, 1)], True, id="all three do not fit"
        ),
        pytest.param(9, [cpus("before", -1, 0, 4)], [cpus("beside", -1, 1, 1)], False, id="all three fit"),
        pytest.param(4, [cpus("starting", -1, 0, 4)], [], False, id="it is the same lease"),
        pytest.param(4, [cpus("before", -1, 1, 4)], [], False, id="it is not over"),
        pytest.param(4, [cpus("before", -1, 0, 4, "2")], [], False, id="another host"),
    ],
)
def test_amounts_wait_as_long_as_they_do_not_fit(
    capacity: int, unfinished: list[Allocation], planned: list[Allocation], waits: bool
) -> None:
    starting = [cpus("starting", 0, 1, 4)]
    found = must_wait_for(starting, unfinished, [*starting, *planned], {"1": {"VCPU": capacity}})
    assert found == ({"before"} if waits else set())


def test_the_amounts_of_an_earlier_lease_count_once() -> None:
    starting = [cpus("starting", 0, 1, 2), cpus("starting", 0, 2, 2)]
    assert must_wait_for(starting, [cpus("before", -1, 0, 4)], starting, {"1": {"VCPU": 8}}) == frozenset()


def test_only_shared_resources_need_their_amounts() -> None:
    starting = [
        cpus("starting", 0, 1, 2),
        row("starting", 0, 1, resource="2"),
        cpus("starting", 0, 1, 1, "3"),
    ]
    unfinished = [cpus("before", -1, 0, 1), cpus("before", -1, 0, 1, "2"), cpus("far", -1, 0, 1, "9")]
    assert shared_with(starting, unfinished) == {"1"}
