"""Does the calendar hold what it is given, however large and however often it changes?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from blazar.domain.calendar import Calendar, database_order
from blazar.domain.comparison import Operator, term_of
from blazar.domain.facts import KEPT_ANSWERS
from blazar.domain.requirement import parse
from blazar.domain.resource import WHOLE, Allocation, Claim, Inventory, Pool, Resource
from blazar.domain.time import Interval

START = datetime(2031, 3, 1, tzinfo=UTC)


def row(number: int, resource: str, start: timedelta, length: timedelta, claim: Claim = WHOLE) -> Allocation:
    interval = Interval(START + start, START + start + length)
    return Allocation(f"a{number}", f"r{number}", f"l{number}", resource, interval, claim)


def test_ids_sort_as_in_the_database() -> None:
    assert sorted(["b", "10", "9", "a", "²"], key=database_order) == ["9", "10", "a", "b", "²"]


def test_allocations_of_any_length_are_found_in_their_time_and_only_there() -> None:
    """Lengths from a minute to a century, hundreds of each, put and taken away again."""
    calendar = Calendar()
    lengths = [timedelta(minutes=1), timedelta(days=3), timedelta(days=40), timedelta(days=36525)]
    rows = [row(number, str(number % 7), timedelta(days=number), length) for number, length in enumerate(lengths * 100)]
    for name in map(str, range(7)):
        calendar.put(Resource(name, Pool.HOST), [r for r in rows if r.resource_id == name])
    for day in (-1, 0, 57, 399, 30_000):
        interval = Interval(START + timedelta(days=day), START + timedelta(days=day, minutes=2))
        window = calendar.window(interval)
        for name in map(str, range(7)):
            expected = any(r.interval.overlaps(interval) for r in rows if r.resource_id == name)
            assert window.occupied[calendar.place_of(name)] == expected
    for name in map(str, range(7)):
        calendar.put(Resource(name, Pool.HOST), ())
    assert not calendar.window(Interval(START, START + timedelta(days=99_999))).occupied.any()


def test_a_pool_may_grow() -> None:
    calendar = Calendar()
    claim = Claim({"VCPU": 2})
    for number in range(300):
        name = str(number)
        host = Resource(name, Pool.HOST, {"n": name}, frozenset({f"T{number}"}), {"VCPU": Inventory(number, number)})
        calendar.put(host, [row(number, name, timedelta(days=number), timedelta(days=9), claim)])
    facts = calendar.facts
    half = facts.matching(parse('["<", "$n", "200"]'), frozenset(), frozenset({"T3"}), Claim({"VCPU": 150}))
    assert np.flatnonzero(half).tolist() == list(range(150, 200))
    assert np.flatnonzero(facts.matching(parse(""), frozenset({"T299"}), frozenset(), WHOLE)).tolist() == [299]
    window = calendar.window(Interval(START, START + timedelta(days=100)))
    assert window.peak("VCPU").tolist() == [2] * 100 + [0] * 200
    assert list(calendar) == [str(number) for number in range(300)]


def test_rows_that_became_free_are_used_again() -> None:
    calendar = Calendar()
    for number in range(5000):
        calendar.put(Resource("1", Pool.HOST), [row(number, "1", timedelta(days=number), timedelta(days=1))])
    assert len(calendar.allocations_of("1")) == 1
    assert len(calendar.occupancy._start) <= 512


def test_amounts_beyond_all_measure_neither_overflow_nor_fit() -> None:
    calendar = Calendar()
    huge = Claim({"VCPU": 2**70})
    resource = Resource("1", Pool.HOST, inventory={"VCPU": Inventory(2**80, 2**80)})
    rows = [row(n, "1", timedelta(0), timedelta(1), huge) for n in range(50)]
    calendar.put(resource, rows)
    place = calendar.place_of("1")
    window = calendar.window(rows[0].interval)
    assert window.peak("VCPU")[place] > calendar.facts.capacity("VCPU")[place] > 0
    assert not calendar.facts.matching(parse(""), frozenset(), frozenset(), huge)[place]


def test_answers_are_kept_but_not_without_bound() -> None:
    calendar = Calendar()
    calendar.put(Resource("1", Pool.HOST, {"n": "1"}), ())
    for number in range(2 * KEPT_ANSWERS):
        requirement = parse(f'["==", "$n", "{number}"]')
        mask = calendar.facts.matching(requirement, frozenset(), frozenset(), WHOLE)
        assert calendar.facts.matching(requirement, frozenset(), frozenset(), WHOLE) is mask
        assert mask.tolist() == [number == 1]
    assert len(calendar.facts._answers) == KEPT_ANSWERS


def test_a_property_that_changes_all_the_time_leaves_nothing_behind() -> None:
    calendar = Calendar()
    for number in range(1000):
        calendar.put(Resource("1", Pool.HOST, {"updated": f"at {number}"}), ())
    assert calendar.facts.compare("updated", Operator.EQUAL, term_of("at 999")).tolist() == [True]
    assert calendar.facts.compare("updated", Operator.LESS, term_of("at 5")).tolist() == [False]
    assert len(calendar.facts._properties["updated"]._terms) <= 2


def test_a_whole_window_can_be_asked_for_in_seconds() -> None:
    calendar = Calendar()
    calendar.put(Resource("1", Pool.HOST), [row(1, "1", timedelta(0), timedelta(minutes=1))])
    at = int(START.timestamp())
    assert calendar.window_of(at + 59, at + 60).occupied.tolist() == [True]
    assert calendar.window_of(at + 60, at + 61).occupied.tolist() == [False]
    margin = timedelta(microseconds=1)
    assert calendar.window(Interval(START + timedelta(minutes=1), START + timedelta(hours=1)), margin).occupied.all()
