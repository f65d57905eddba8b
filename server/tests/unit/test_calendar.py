"""Does the calendar hold what it is given, however large and however often it changes?"""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import numpy as np

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.calendar.columns import KEPT_ANSWERS
from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.requirement.comparison import Operator, term_of
from blazar.domain.requirement.language import parse
from blazar.domain.resource import WHOLE, Allocation, Inventory, Pool, Resource, Usage, database_order
from blazar.domain.time import Interval

START = datetime(2031, 3, 1, tzinfo=UTC)


def row(number: int, resource: str, start: timedelta, length: timedelta, usage: Usage = WHOLE) -> Allocation:
    interval = Interval(START + start, START + start + length)
    return Allocation(f"a{number}", f"r{number}", f"l{number}", resource, interval, usage)


def test_ids_sort_as_in_the_database() -> None:
    assert sorted(["b", "10", "9", "a", "²"], key=database_order) == ["9", "10", "a", "b", "²"]


def test_digits_of_other_scripts_are_text() -> None:
    """An Arabic-Indic two sorts as a text, in the calendar too, though Python reads it as a number."""
    ids = ["٢", "10", "a", "1"]
    calendar = Calendar()
    for name in ids:
        calendar.put(Resource(name, Pool("host")), ())
    assert sorted(ids, key=database_order) == list(calendar) == ["1", "10", "a", "٢"]


def test_allocations_of_any_length_are_found_in_their_time_and_only_there() -> None:
    """Lengths from a minute to a century, hundreds of each, put and taken away again."""
    calendar = Calendar()
    lengths = [timedelta(minutes=1), timedelta(days=3), timedelta(days=40), timedelta(days=36525)]
    rows = [
        row(number, str(number % 7), timedelta(days=number), length)
        for number, length in enumerate(lengths * 100)
    ]
    for name in map(str, range(7)):
        calendar.put(Resource(name, Pool("host")), [r for r in rows if r.resource_id == name])
    for day in (-1, 0, 57, 399, 30_000):
        interval = Interval(START + timedelta(days=day), START + timedelta(days=day, minutes=2))
        window = calendar.snapshot().window(interval)
        for name in map(str, range(7)):
            expected = any(r.interval.overlaps(interval) for r in rows if r.resource_id == name)
            assert window.occupied[calendar.snapshot().index_of(name)] == expected
    for name in map(str, range(7)):
        calendar.put(Resource(name, Pool("host")), ())
    assert not calendar.snapshot().window(Interval(START, START + timedelta(days=99_999))).occupied.any()


def test_a_pool_may_grow() -> None:
    calendar = Calendar()
    usage = Usage({"VCPU": 2})
    for number in range(300):
        name = str(number)
        host = Resource(
            name, Pool("host"), {"n": name}, frozenset({f"T{number}"}), {"VCPU": Inventory(number, number)}
        )
        calendar.put(host, [row(number, name, timedelta(days=number), timedelta(days=9), usage)])
    facts = calendar.snapshot().columns
    half = facts.matching(parse('["<", "$n", "200"]'), frozenset(), frozenset({"T3"}), Usage({"VCPU": 150}))
    assert np.flatnonzero(half).tolist() == list(range(150, 200))
    assert np.flatnonzero(facts.matching(parse(""), frozenset({"T299"}), frozenset(), WHOLE)).tolist() == [
        299
    ]
    window = calendar.snapshot().window(Interval(START, START + timedelta(days=100)))
    assert window.peak("VCPU").tolist() == [2] * 100 + [0] * 200
    assert list(calendar) == [str(number) for number in range(300)]


def test_rows_that_became_free_are_used_again() -> None:
    calendar = Calendar()
    for number in range(5000):
        calendar.put(
            Resource("1", Pool("host")), [row(number, "1", timedelta(days=number), timedelta(days=1))]
        )
    assert len(calendar.allocations_of("1")) == 1
    assert len(calendar.snapshot().occupancy.start) <= 512


def year(hosts: int = 20, days: int = 300) -> Calendar:
    """A reservation of a day on each host for each day."""
    calendar = Calendar()
    calendar.bulk_load(
        (
            Resource(str(name), Pool("host")),
            [
                row(name * days + day, str(name), timedelta(days=day), timedelta(days=1))
                for day in range(days)
            ],
        )
        for name in range(hosts)
    )
    return calendar


def test_a_snapshot_copies_nothing_and_a_write_beside_it_only_the_blocks_that_it_changes() -> None:
    calendar = year()
    first = calendar.snapshot()
    assert calendar.snapshot() is first
    calendar.put(Resource("1", Pool("host")), [row(0, "1", timedelta(days=9), timedelta(days=1))])
    second = calendar.snapshot()
    assert second.columns is first.columns
    moved = np.count_nonzero(first.occupancy.page != second.occupancy.page)
    # 300 rows were freed; in the worst case each of them stood in another block.
    assert 0 < moved <= 300
    calendar.put(Resource("1", Pool("host")), [row(1, "1", timedelta(days=8), timedelta(days=1))])
    third = calendar.snapshot()
    assert np.count_nonzero(second.occupancy.page != third.occupancy.page) <= 2
    assert np.shares_memory(second.occupancy.start, third.occupancy.start)


def test_pages_that_no_snapshot_sees_any_more_are_used_again() -> None:
    calendar = year()
    calendar.put(Resource("1", Pool("host")), ())
    size = len(calendar.snapshot().occupancy.start)
    kept = [calendar.snapshot()]
    for number in range(1000):
        calendar.put(
            Resource("1", Pool("host")), [row(number, "1", timedelta(days=number % 300), timedelta(days=1))]
        )
        kept = [*kept[-2:], calendar.snapshot()]
    assert len(calendar.snapshot().occupancy.start) <= 2 * size


def test_readers_in_other_threads_see_one_moment_each() -> None:
    """A writer gives three hosts the same load again and again; no reader ever sees two loads at once."""
    calendar, lock, torn = Calendar(), threading.Lock(), []
    done = threading.Event()

    def write(load: int) -> None:
        with lock:
            for name in "123":
                usage = Usage({"VCPU": load})
                rows = [
                    row(n, name, timedelta(days=n), timedelta(days=2), usage) for n in range(load % 7 + 1)
                ]
                calendar.put(Resource(name, Pool("host"), generation=load), rows)

    def read() -> None:
        while not done.is_set():
            with lock:
                snapshot = calendar.snapshot()
            for _ in range(3):
                total = snapshot.window(Interval(START, START + timedelta(days=30))).total("VCPU").tolist()
                load = snapshot.generation_of("1") or 0
                if total != [load * (load % 7 + 1)] * 3 or snapshot.generation_of("3") != load:
                    torn.append((load, total))

    write(1)
    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for load in range(2, 100):
        write(load)
    done.set()
    for reader in readers:
        reader.join()
    assert torn == []


def test_amounts_beyond_all_measure_neither_overflow_nor_fit() -> None:
    calendar = Calendar()
    huge = Usage({"VCPU": 2**70})
    resource = Resource("1", Pool("host"), inventory={"VCPU": Inventory(2**80, 2**80)})
    rows = [row(n, "1", timedelta(0), timedelta(1), huge) for n in range(50)]
    calendar.put(resource, rows)
    place = calendar.snapshot().index_of("1")
    window = calendar.snapshot().window(rows[0].interval)
    assert window.peak("VCPU")[place] > calendar.snapshot().columns.capacity("VCPU")[place] > 0
    assert not calendar.snapshot().columns.matching(parse(""), frozenset(), frozenset(), huge)[place]


def test_answers_are_kept_but_not_without_bound() -> None:
    calendar = Calendar()
    calendar.put(Resource("1", Pool("host"), {"n": "1"}), ())
    for number in range(2 * KEPT_ANSWERS):
        requirement = parse(f'["==", "$n", "{number}"]')
        mask = calendar.snapshot().columns.matching(requirement, frozenset(), frozenset(), WHOLE)
        assert calendar.snapshot().columns.matching(requirement, frozenset(), frozenset(), WHOLE) is mask
        assert mask.tolist() == [number == 1]
    assert len(calendar.snapshot().columns._answers) == KEPT_ANSWERS


def test_a_property_that_changes_all_the_time_leaves_nothing_behind() -> None:
    calendar = Calendar()
    for number in range(1000):
        calendar.put(Resource("1", Pool("host"), {"updated": f"at {number}"}), ())
    assert calendar.snapshot().columns.compare("updated", Operator.EQUAL, (term_of("at 999"),)).tolist() == [
        True
    ]
    assert calendar.snapshot().columns.compare("updated", Operator.LESS, (term_of("at 5"),)).tolist() == [
        False
    ]
    assert len(calendar.snapshot().columns._properties["updated"]._terms) <= 2


def test_a_whole_window_can_be_asked_for_in_seconds() -> None:
    calendar = Calendar()
    calendar.put(Resource("1", Pool("host")), [row(1, "1", timedelta(0), timedelta(minutes=1))])
    at = int(START.timestamp())
    assert calendar.snapshot().window_of(at + 59, at + 60).occupied.tolist() == [True]
    assert calendar.snapshot().window_of(at + 60, at + 61).occupied.tolist() == [False]
    margin = timedelta(microseconds=1)
    assert (
        calendar.snapshot()
        .window(Interval(START + timedelta(minutes=1), START + timedelta(hours=1)), margin)
        .occupied.all()
    )


def test_a_copy_is_changed_by_itself() -> None:
    calendar, day = Calendar(), timedelta(days=1)
    calendar.put(Resource("1", Pool("host"), generation=8), [row(1, "1", 0 * day, day)])
    calendar.put(Resource("2", Pool("host"), generation=7), [])
    before = calendar.snapshot()
    copy = calendar.copy()
    copy.occupy("1", [])
    copy.occupy("2", [row(2, "2", 0 * day, day)])
    copy.add(row(3, "2", day, day))
    calendar.put(Resource("2", Pool("host"), generation=9), [])

    def taken(seen: CalendarSnapshot) -> list[bool]:
        return [bool(at) for at in seen.window(Interval(START, START + day)).occupied]

    assert taken(before) == taken(calendar.snapshot()) == [True, False]
    assert taken(copy.snapshot()) == [False, True]
    assert [a.id for a in copy.allocations_of("2")] == ["a2", "a3"]
    copy.add(row(4, "1", 0 * day, day))
    assert taken(copy.snapshot()) == [True, True]
    assert [a.id for a in calendar.allocations_of("1")] == ["a1"]
    assert (copy.generation_of("1"), copy.generation_of("2")) == (8, 7)
    assert calendar.generation_of("2") == 9


def test_a_copy_of_a_calendar_that_has_changed_often_holds_the_same() -> None:
    """Pages that were copied for snapshots are left behind in the original; the copy reads the right ones."""
    calendar, hour, kept = Calendar(), timedelta(hours=1), []
    for turn in range(200):
        name = str(turn % 5)
        rows = [row(turn * 7 + n, name, n * hour, hour) for n in range(70)]
        calendar.put(Resource(name, Pool("host")), rows)
        kept.append(calendar.snapshot())
        del kept[:-3]
    copy = calendar.copy()
    for name in map(str, range(5)):
        assert copy.allocations_of(name) == calendar.allocations_of(name)
    for turn in range(50):
        copy.occupy(str(turn % 5), [row(turn, str(turn % 5), turn * hour, hour)])
        kept.append(copy.snapshot())
    assert [len(copy.allocations_of(str(n))) for n in range(5)] == [1] * 5
    assert all(len(calendar.allocations_of(str(n))) == 70 for n in range(5))
    late = copy.snapshot().window(Interval(START + 49 * hour, START + 50 * hour)).occupied
    assert [bool(at) for at in late] == [False, False, False, False, True]
