"""Tests of the rule for servers with a known end: against brute force, and row by row."""

import json
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazarnova.backfill import decide_beside
from blazarnova.bounded import BoundedServer, Sizes, amounts_of, end_of, lease_id_of
from blazarnova.intervals import PromisedHost, Promises, Step, promises_of, takes
from blazarnova.rule import Aggregate, Reason, RequestSpec, Settings

LONG = 24
FREEPOOL = Aggregate("freepool")
SETTINGS = Settings()
NOW, LATER = 1000, 2000
CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")
SMALL = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}


@st.composite
def hosts(draw: st.DrawFn) -> PromisedHost:
    edges = sorted(draw(st.sets(st.integers(0, LONG), max_size=8)))
    amounts = st.none() | st.tuples(st.integers(0, 4), st.integers(0, 4))
    steps = [Step(a, b, draw(amounts)) for a, b in pairwise(edges) if draw(st.booleans())]
    return PromisedHost((4, 3), tuple(steps))


@given(hosts(), st.tuples(st.integers(0, 4), st.integers(0, 4)), st.integers(0, LONG), st.integers(1, LONG))
def test_a_host_takes_what_fits_at_each_moment(
    host: PromisedHost, amounts: tuple[int, int], start: int, length: int
) -> None:
    def fits(moment: int) -> bool:
        there = [step.amounts for step in host.steps if step.start <= moment < step.end]
        if None in there:
            return False
        taken = [sum(each[place] for each in there if each is not None) for place in range(2)]
        return all(a + t <= c for a, t, c in zip(amounts, taken, host.capacity, strict=True))

    assert takes(host, amounts, start, start + length) == all(map(fits, range(start, start + length)))


def promises(*steps: Step, margin: int = 0, cleaning: int = 0, **leases: str) -> Promises:
    host = PromisedHost((8, 8192, 80), steps)
    return Promises(CLASSES, 10_000, margin, cleaning, {"h1": host}, leases)


def decided(known: Promises | None, server: BoundedServer | None = None, *others: Aggregate) -> Reason:
    server = server or BoundedServer(LATER, SMALL, "l1")
    verdict = decide_beside(RequestSpec("p1"), server, "h1", [FREEPOOL, *others], SETTINGS, known, NOW)
    assert verdict.accepted is (verdict.reason is Reason.ENDS_IN_TIME)
    return verdict.reason


NO, YES = Reason.HOST_IS_RESERVABLE, Reason.ENDS_IN_TIME


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (promises(), YES),
        (promises(Step(LATER, 3000, None)), YES),
        (promises(Step(LATER, 3000, None), margin=1), NO),
        (promises(Step(LATER - 1, 3000, None)), NO),
        (promises(Step(0, NOW, None)), YES),
        (promises(Step(0, NOW, None), cleaning=1), NO),
        (promises(Step(1500, 1600, (7, 0, 0))), YES),
        (promises(Step(1500, 1600, (8, 0, 0))), NO),
        (promises(Step(1500, 1600, (0, 8192, 0))), NO),
        (None, NO),
        (Promises(CLASSES, 10_000, 0, 0), NO),
        (Promises(CLASSES, LATER - 1, 0, 0, {"h1": PromisedHost((8, 8192, 80))}), NO),
        (Promises(("VCPU",), 10_000, 0, 0, {"h1": PromisedHost((8,))}), NO),
        (promises(Step(0, 9000, None), l1="h1"), YES),
        (promises(l1="h2"), NO),
    ],
)
def test_a_server_that_ends_in_time(known: Promises | None, reason: Reason) -> None:
    assert decided(known) is reason


@pytest.mark.parametrize("server", [BoundedServer(None, SMALL, "l1"), BoundedServer(LATER, None, "l1")])
def test_one_of_which_less_is_known_comes_back_to_its_own_host(server: BoundedServer) -> None:
    """Such as one whose lease was extended: its hint's end is over."""
    assert decided(promises(), server) is NO
    assert decided(promises(l1="h1"), server) is YES


@pytest.mark.parametrize(
    "other",
    [
        Aggregate("r1", None, {"reservation": "r1"}),
        Aggregate("r1", None, {"blazar:server": "s2", "blazar:owner": "p1"}),
        Aggregate("r1", "blazar_r1", {"blazar:owner": "p2"}),
    ],
)
def test_a_host_that_serves_a_reservation_takes_none(other: Aggregate) -> None:
    """Also while the reservation service is away: Nova's aggregates say so."""
    assert decided(promises(), None, other) is NO


def test_others_are_decided_by_the_rule_alone() -> None:
    def reason(request: RequestSpec, *aggregates: Aggregate) -> Reason:
        server = BoundedServer(LATER, SMALL)
        return decide_beside(request, server, "h1", aggregates, SETTINGS, promises(), NOW).reason

    assert reason(RequestSpec("p1"), Aggregate("rack")) is Reason.HOST_IS_ORDINARY
    assert reason(RequestSpec("p1", frozenset({"r1"})), FREEPOOL) is Reason.NOT_IN_RESERVATION
    unbounded = decide_beside(RequestSpec("p1"), None, "h1", [FREEPOOL], SETTINGS, promises(), NOW)
    assert unbounded.reason is NO


def at(text: str) -> int:
    return int(datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=UTC).timestamp())


@pytest.mark.parametrize(
    ("hint", "end"),
    [
        ({"name": "x", "end": "2030-01-01 09:00"}, "2030-01-01 09:00"),
        ({"name": "x", "start": "now", "end": "2030-01-01 09:00"}, "2030-01-01 09:00"),
        ({"name": "x", "duration": 30}, "2030-01-01 08:31"),
        ({"name": "x", "end": "2030-01-01 08:00"}, None),
        ({"name": "x", "start": "2030-01-01 08:30", "end": "2030-01-01 09:00"}, None),
        ({"name": "x", "end": "2030-01-01 09:00", "duration": 30}, None),
        ({"name": "x", "end": "Sunday"}, None),
        ({"name": "x", "end": 3}, None),
        ({"name": "x", "duration": True}, None),
        ({"name": "x", "duration": -1}, None),
        ({"name": "x", "duration": 10**9}, None),
        ({"name": "x"}, None),
        ({"end": "2030-01-01 09:00"}, None),
        ({"name": "x", "end": "2030-01-01 09:00", "ends": 1}, None),
        ([1], None),
    ],
)
def test_when_a_server_ends(hint: Any, end: str | None) -> None:
    now = at("2030-01-01 08:00")
    text = json.dumps(hint)
    assert end_of(text, now) == end_of([text], now) == (None if end is None else at(end))
    assert end_of([text, text], now) is None


def test_what_is_no_hint() -> None:
    assert [end_of(each, 0) for each in (None, [], "", "{", "[" * 100_000)] == [None] * 5


def test_what_a_server_takes() -> None:
    sizes = Sizes(2, 2048, 10, 5, 1025)
    taken = {"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 17}
    assert amounts_of(sizes, {}) == amounts_of(sizes, {"trait:X": "required", "hw_rng:allowed": "1"}) == taken
    for spec in ("resources:PCPU", "hw:cpu_policy", "pci_passthrough:alias", "ssd", "aggregate:x"):
        assert amounts_of(sizes, {spec: "1"}) is None


def test_the_id_of_a_lease_follows_from_its_server() -> None:
    server = "11111111-1111-4111-8111-111111111111"
    assert lease_id_of(server) == "e03e7651-a609-5914-b96f-5a6fd2e584ee"


DOCUMENT: Any = {
    "promises": {
        "classes": ["VCPU"],
        "until": 100,
        "margin": 5,
        "cleaning": 3,
        "hosts": {"h1": {"capacity": [4], "steps": [[0, 10, [1]], [10, 20, None]]}},
        "leases": {"l1": "h1"},
    }
}


def with_host(**host: Any) -> Any:
    return {"promises": DOCUMENT["promises"] | {"hosts": {"h1": host}}}


def test_the_document() -> None:
    host = PromisedHost((4,), (Step(0, 10, (1,)), Step(10, 20, None)))
    assert promises_of(DOCUMENT) == Promises(("VCPU",), 100, 5, 3, {"h1": host}, {"l1": "h1"})


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        {"promises": None},
        {"promises": DOCUMENT["promises"] | {"hosts": {"h1": {"capacity": [4, 4], "steps": []}}}},
        {"promises": DOCUMENT["promises"] | {"hosts": {"h1": {"capacity": [4], "steps": [[0, 1]]}}}},
        {
            "promises": DOCUMENT["promises"]
            | {"hosts": {"h1": {"capacity": [4], "steps": [[5, 9, None], [0, 1, None]]}}}
        },
    ],
)
def test_what_is_no_document(document: Any) -> None:
    with pytest.raises(ValueError, match="no document of promises"):
        promises_of(document)
