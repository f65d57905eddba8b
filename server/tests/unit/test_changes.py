"""What a text beside the generation of a resource tells of its last changes."""

from __future__ import annotations

import pytest

from blazar.adapters.changes import LONGEST_CHANGES, changed_since, leases_of, noted


def text(*changes: str, first: int = 5) -> str:
    """The text of changes by these leases, the first of which has left the generation ``first``."""
    found = ""
    for number, leases in enumerate(changes):
        found = noted(found, first + number, leases_of(leases.split()))
    return found


@pytest.mark.parametrize(
    ("known", "leases"),
    [
        (7, {"c"}),
        (6, {"b", "d", "c"}),
        (5, {"a", "b", "d", "c"}),
        (8, None),  # there is no change
        (9, None),  # of a registration before
        (None, None),
        (4, None),  # what left this generation was not told
        (2**47, None),
    ],
)
def test_the_leases_that_have_changed_something_since(known: int | None, leases: set[str] | None) -> None:
    assert changed_since(text("a", "d b", "c"), known, 8) == leases


def test_a_change_without_leases_is_not_known() -> None:
    assert changed_since(text("a", "", "c"), 7, 8) == {"c"}
    assert changed_since(text("a", "", "c"), 6, 8) is None


def test_a_change_that_is_missing_is_not_known() -> None:
    """A program of the version before raises the generation, and writes nothing here."""
    since = noted(text("a"), 7, "c")
    assert changed_since(since, 7, 8) == {"c"}
    assert changed_since(since, 6, 8) is None
    assert changed_since(since, 5, 8) is None
    assert changed_since(text("a"), 5, 7) is None


@pytest.mark.parametrize("nothing", [None, ""])
def test_without_a_text_nothing_is_known(nothing: str | None) -> None:
    assert changed_since(nothing, 7, 8) is None


def test_a_registration_anew_with_a_later_generation_is_not_known() -> None:
    assert changed_since(None, 7, 2**40) is None
    assert changed_since(text("a", first=2**40), 7, 2**40 + 1) is None


def test_of_a_text_that_is_too_long_the_newest_changes_stay() -> None:
    leases = [f"{number:036}" for number in range(100)]
    found = text(*leases)
    assert len(found) == LONGEST_CHANGES
    generation = 5 + len(leases)
    assert changed_since(found, generation - 15, generation) == set(leases[-15:])
    assert changed_since(found, 5, generation) is None


def test_a_change_by_more_leases_than_have_room_is_not_known() -> None:
    many = [f"{number:036}" for number in range(40)]
    found = noted(text("a"), 6, leases_of(many))
    assert changed_since(found, 6, 7) is None
    assert changed_since(noted(found, 7, "c"), 7, 8) == {"c"}
