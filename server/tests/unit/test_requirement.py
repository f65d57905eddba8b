"""Does the requirement language mean what it says, and is everything else refused with a sentence?"""

from __future__ import annotations

from typing import Any

import pytest

from blazar.domain.errors import MalformedRequirements
from blazar.domain.requirement.language import ANYTHING, MAX_DEPTH, MAX_LENGTH, MAX_NODES, parse

HOST = {
    "vcpus": 16,
    "gpus": "10",
    "cpu": "zen4",
    "ssd": "True",
    "reservable": True,
    "load": 0.5,
    "serial": "9007199254740993",
    "nothing": None,
}


@pytest.mark.parametrize("empty", ["", "  ", "[]", "null", '""', None, []])
def test_the_empty_requirement_asks_for_nothing(empty: Any) -> None:
    assert parse(empty) == ANYTHING
    assert parse(empty).matches({})
    assert not parse(empty).names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["==", "$vcpus", "16"]', True),
        ('["=", "$vcpus", "16"]', True),
        ('["==", "$vcpus", 16]', True),
        ('["==", "$vcpus", 16.0]', True),
        ('["!=", "$vcpus", "16"]', False),
        ('[">", "$vcpus", "9"]', True),
        ('["<", "$vcpus", "9"]', False),
        ('["<=", "$vcpus", "16"]', True),
        ('[">=", "$vcpus", "16.5"]', False),
        # Text that reads as a number is one: "10" is not before "9".
        ('[">=", "$gpus", "9"]', True),
        ('["<", "$gpus", "5"]', False),
        ('["==", "$gpus", "10.0"]', True),
        ('["==", "$gpus", " 10"]', False),
        ('["==", "$gpus", 1e1]', True),
        # Text compares as text, and not with numbers.
        ('["==", "$cpu", "zen4"]', True),
        ('["==", "$cpu", "ZEN4"]', False),
        ('[">=", "$cpu", "zen3"]', True),
        ('[">", "$cpu", "3"]', False),
        ('["<", "$cpu", "3"]', False),
        ('["!=", "$cpu", "3"]', True),
        # Truth is told in any case, as a word or as a value.
        ('["==", "$ssd", "true"]', True),
        ('["==", "$ssd", true]', True),
        ('["!=", "$ssd", "TRUE"]', False),
        ('["==", "$ssd", false]', False),
        ('["==", "$reservable", "1"]', True),
        ('["==", "$reservable", "true"]', True),
        ('["==", "$reservable", true]', True),
        ('["<", "$load", "1"]', True),
        # Exact beyond what a float can tell apart.
        ('["==", "$serial", "9007199254740992"]', False),
        # Who lacks a property satisfies no comparison with it.
        ('["==", "$missing", "x"]', False),
        ('["!=", "$missing", "x"]', False),
        ('["!=", "$nothing", "x"]', False),
        ('["not", ["==", "$missing", "x"]]', True),
        ('["not", ["!=", "$vcpus", "16"]]', True),
        ('["in", "$cpu", "zen3", "zen4"]', True),
        ('["in", "$cpu", ["zen3", "zen5"]]', False),
        ('["in", "$vcpus", 8, "16"]', True),
        ('["and", ["==", "$cpu", "zen4"]]', True),
        ('["and", [">", "$vcpus", "1"], ["<", "$vcpus", "2"]]', False),
        # Nothing inside is dropped.
        ('["and", ["and", [">", "$vcpus", "1"], ["==", "$cpu", "x"]], [">", "$gpus", "1"]]', False),
        ('["or", ["==", "$cpu", "x"], ["and", [">", "$vcpus", "1"], [">", "$gpus", "1"]]]', True),
        ('["or", ["==", "$cpu", "x"], ["==", "$cpu", "y"]]', False),
        ('["and", [], ["==", "$cpu", "zen4"]]', True),
    ],
)
def test_conditions(text: str, expected: bool) -> None:
    assert parse(text).matches(HOST) is expected


def test_a_requirement_names_the_properties_it_asks_about() -> None:
    text = '["or", ["not", ["==", "$a", "1"]], ["and", ["in", "$b", "2"], [">", "$c d", "3"]]]'
    assert parse(text).names == {"a", "b", "c d"}


def test_two_requirements_are_joined_by_and() -> None:
    first, second = parse('["==", "$a", "1"]'), parse('["==", "$b", "1"]')
    assert first.joined(ANYTHING) is first
    assert ANYTHING.joined(second) is second
    assert first.joined(second).matches({"a": "1", "b": "1"})
    assert not first.joined(second).matches({"a": "1"})


@pytest.mark.parametrize(
    ("malformed", "reason"),
    [
        ("and", "it is not JSON."),
        ('["and"', "it is not JSON."),
        ('["==", "$a", NaN]', "it is not JSON."),
        ('["==", "$a", ' + "9" * 5000 + "]", "it is not JSON."),
        ('["and"]', '"and" needs at least one condition.'),
        ('["or"]', '"or" needs at least one condition.'),
        ('["not"]', '"not" needs exactly one condition.'),
        ('["not", [], []]', '"not" needs exactly one condition.'),
        ('["in", "$a"]', '"in" needs a property and at least one value.'),
        ('["in", "$a", []]', '"in" needs a property and at least one value.'),
        ('["in"]', '"in" needs a property and at least one value.'),
        ('["~", "$a", "1"]', '"~" is no operator.'),
        ('["AND", ["==", "$a", "1"]]', '"AND" is no operator.'),
        ('["=="]', '"==" needs a property and one value.'),
        ('["==", "$a"]', '"==" needs a property and one value.'),
        ('["==", "$a", "1", "2"]', '"==" needs a property and one value.'),
        ('["==", "a", "1"]', '"a" is no property: it is written as "$" and its name.'),
        ('["==", "$", "1"]', '"$" is no property: it is written as "$" and its name.'),
        ('["==", 1, "1"]', '1 is no property: it is written as "$" and its name.'),
        ('["==", "$a", ""]', '"" is no value: it must be a text, a number, true or false.'),
        ('["==", "$a", null]', "None is no value: it must be a text, a number, true or false."),
        ('["==", "$a", ["1"]]', "['1'] is no value: it must be a text, a number, true or false."),
        ('["==", "$a", 1e999]', "a number is out of range."),
        (["==", "$a", float("nan")], "a number is out of range."),
        (["==", "$a", 10**5000], "a number is out of range."),
        ("{}", 'a condition is a list such as [">=", "$vcpus", "4"].'),
        ('"text"', 'a condition is a list such as [">=", "$vcpus", "4"].'),
        ("7", 'a condition is a list such as [">=", "$vcpus", "4"].'),
        ('[["==", "$a", "1"]]', 'a condition is a list such as [">=", "$vcpus", "4"].'),
        ("[" * 1000 + "]" * 1000, f"it is nested deeper than {MAX_DEPTH} levels."),
        ('["not",' * 1000 + "[]" + "]" * 1000, f"it is nested deeper than {MAX_DEPTH} levels."),
        ('["not",' * 33, f"it is nested deeper than {MAX_DEPTH} levels."),
        (" " + "x" * MAX_LENGTH, f"it is longer than {MAX_LENGTH} characters."),
        ('"' + '\\"' * 8000, "it is not JSON."),
        (["==", "$a", "x" * MAX_LENGTH], f"it is longer than {MAX_LENGTH} characters."),
        (["in", "$a", *map(str, range(MAX_NODES))], f"it has more than {MAX_NODES} parts."),
        (["and", *[["==", "$a", "1"]] * 200], f"it has more than {MAX_NODES} parts."),
    ],
)
def test_what_leaves_the_grammar_is_refused(malformed: Any, reason: str) -> None:
    with pytest.raises(MalformedRequirements) as refusal:
        parse(malformed)
    assert refusal.value.fields["reason"] == reason
    assert len(refusal.value.message) < 400


def test_braces_may_be_as_deep_as_they_like() -> None:
    with pytest.raises(MalformedRequirements):
        parse('{"a":' * 2000 + "1" + "}" * 2000)


def test_a_list_inside_itself_is_refused() -> None:
    endless: list[Any] = ["not"]
    endless.append(endless)
    with pytest.raises(MalformedRequirements):
        parse(endless)


def test_brackets_in_strings_do_not_count_as_nesting() -> None:
    brackets = "[" * 100
    assert parse(["==", "$a", brackets]) == parse(f'["==", "$a", "{brackets}"]')
    assert parse(f'["==", "$a\\"[", "{brackets}\\"["]').matches({'a"[': brackets + '"['})


def test_as_deep_as_allowed_is_parsed() -> None:
    inner = '["==", "$a", "1"]'
    for _ in range(MAX_DEPTH - 1):
        inner = f'["not", {inner}]'
    assert parse(inner).matches({}) is True
