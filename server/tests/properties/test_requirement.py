"""A requirement evaluated over columns says the same as for one resource after another, before and after
changes."""

from __future__ import annotations

import json
import operator
from typing import Any

from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.domain.calendar.columns import ResourceColumns
from blazar.domain.errors import MalformedRequirements
from blazar.domain.requirement.comparison import Operator, holds, term_of
from blazar.domain.requirement.language import parse
from blazar.domain.resource import Pool, PropertyValue, Resource

NAMES = ("a", "b", "c")
TEXTS = st.sampled_from(
    (
        "1", "10", "9", "9.0", "-3", ".5", "1e1", "x", "X", "true", "False", "TRUE", "0", " 9", "", "nan",
        "1e999", "9007199254740993", "9007199254740992", "Ünï", "9" * 70,
    )
)  # fmt: skip
VALUES: st.SearchStrategy[PropertyValue] = st.one_of(
    TEXTS,
    st.booleans(),
    st.integers(-3, 12),
    st.integers(),
    st.floats(),
    st.sampled_from((2**53, 2**53 + 1, 10**400, -(10**400))),
    st.none(),
)
LITERALS = st.one_of(
    TEXTS.filter(bool),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(-1e300, 1e300, allow_nan=False),
)
COMPARISONS = st.tuples(st.sampled_from((*Operator, "=")), st.sampled_from(NAMES), LITERALS).map(
    lambda parts: [str(parts[0]), f"${parts[1]}", parts[2]]
)
MEMBERSHIPS = st.tuples(st.sampled_from(NAMES), st.lists(LITERALS, min_size=1, max_size=3)).map(
    lambda parts: ["in", f"${parts[0]}", *parts[1]]
)
EXPRESSIONS: st.SearchStrategy[Any] = st.recursive(
    COMPARISONS | MEMBERSHIPS | st.just([]),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(("and", "or")), st.lists(inner, min_size=1, max_size=3)).map(
            lambda parts: [parts[0], *parts[1]]
        ),
        inner.map(lambda operand: ["not", operand]),
    ),
    max_leaves=8,
)
PROPERTIES = st.dictionaries(st.sampled_from(NAMES), VALUES)


def host(properties: dict[str, PropertyValue]) -> Resource:
    return Resource("1", Pool("host"), properties)


@given(
    EXPRESSIONS,
    st.lists(PROPERTIES, max_size=6),
    st.lists(st.tuples(st.integers(0, 5), PROPERTIES), max_size=4),
)
@settings(max_examples=examples(1000), deadline=None)
def test_columns_agree_with_single_resources(
    tree: Any, pool: list[dict[str, PropertyValue]], changes: list[tuple[int, dict[str, PropertyValue]]]
) -> None:
    requirement = parse(tree)
    facts = ResourceColumns()
    stored = dict(enumerate(pool))
    for place, properties in stored.items():
        facts.write(place, host(properties))
    for place, properties in [(-1, {}), *changes]:
        if place >= 0:
            stored[place] = properties
            facts.write(place, host(properties))
        expected = [place in stored and requirement.matches(stored[place]) for place in range(facts.size)]
        assert (requirement.mask(facts) & facts.all()).tolist() == expected


@given(EXPRESSIONS, PROPERTIES)
def test_text_and_list_read_the_same(tree: Any, properties: dict[str, PropertyValue]) -> None:
    assert parse(json.dumps(tree)) == parse(tree)


@given(EXPRESSIONS, PROPERTIES)
def test_not_is_the_complement(tree: Any, properties: dict[str, PropertyValue]) -> None:
    assert parse(["not", tree]).matches(properties) is not parse(tree).matches(properties)


@given(st.integers(-(10**18), 10**18), st.integers(-(10**18), 10**18), st.sampled_from(Operator))
def test_whole_numbers_compare_exactly_however_they_are_written(left: int, right: int, how: Operator) -> None:
    functions = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le}
    expected = functions.get(how, operator.ge)(left, right)
    assert holds(how, term_of(str(left)), term_of(right)) is expected
    facts = ResourceColumns()
    facts.write(0, host({"a": str(left)}))
    assert facts.compare("a", how, (term_of(right),)).tolist() == [expected]


@given(st.text(alphabet='[]{}",$andortin=0 \\', max_size=300))
@settings(max_examples=examples(1000))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        parse(text)
    except MalformedRequirements as error:
        assert error.fields["reason"]


@given(EXPRESSIONS, st.lists(PROPERTIES, min_size=1, max_size=4))
@settings(max_examples=examples(400), deadline=None)
def test_a_requirement_is_written_as_what_it_means(tree: Any, hosts: list[dict[str, PropertyValue]]) -> None:
    requirement = parse(texts_in(tree))
    again = parse(requirement.text)
    for properties in hosts:
        assert again.matches(properties) == requirement.matches(properties)
        assert requirement.matches(properties) == all(
            parse(part.text).matches(properties) for part in requirement.parts
        )


def texts_in(tree: Any) -> Any:
    """The tree with texts for numbers, as clients usually send them."""
    if isinstance(tree, list):
        return [texts_in(node) for node in tree]
    return tree if isinstance(tree, str) else str(tree)
