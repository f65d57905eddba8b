"""Tests of the parser of key-value pairs."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blazarclient.parsing.errors import InvalidInput
from blazarclient.parsing.pairs import parse_pairs


@pytest.mark.parametrize(
    ("typed", "pairs"),
    [
        ("min=1,max=2", {"min": "1", "max": "2"}),
        ("min=1, max=2", {"min": "1", "max": "2"}),
        ("a=", {"a": ""}),
        ("a=,b=", {"a": "", "b": ""}),
        ("a=b=c", {"a": "b=c"}),
        ("a=x,y,b=1", {"a": "x,y", "b": "1"}),
        ("resource_type=physical:host,min=1", {"resource_type": "physical:host", "min": "1"}),
        ('p=["==", "$gpu", "True"],min=1', {"p": '["==", "$gpu", "True"]', "min": "1"}),
        ('p=["==", "$a", "x,min=3"],min=1', {"p": '["==", "$a", "x,min=3"]', "min": "1"}),
        ('p=["==", "$a", "]"],min=1', {"p": '["==", "$a", "]"]', "min": "1"}),
        (
            'p=["==", "$a", "say \\"hi\\", min=2"],min=1',
            {"p": '["==", "$a", "say \\"hi\\", min=2"]', "min": "1"},
        ),
        ('p=["==", "$a", "it\'s"],min=1', {"p": '["==", "$a", "it\'s"]', "min": "1"}),
        ('p=\'["==", "$a", "b"]\',min=1', {"p": '["==", "$a", "b"]', "min": "1"}),
        ('p="[\\"==\\", \\"$a\\", \\"b\\"]",min=1', {"p": '["==", "$a", "b"]', "min": "1"}),
        ('name="a,min=5",min=1', {"name": "a,min=5", "min": "1"}),
        ("name=it's,min=1", {"name": "it's", "min": "1"}),
        ("p={'a': 1, 'b': 2},min=1", {"p": "{'a': 1, 'b': 2}", "min": "1"}),
        ('{"min": 1, "p": ["==", "$a", "b"]}', {"min": 1, "p": ["==", "$a", "b"]}),
    ],
)
def test_pairs(typed: str, pairs: dict[str, Any]) -> None:
    assert parse_pairs(typed) == pairs


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("", "key=value"),
        ("physical:host", "key=value"),
        ("=1", "key=value"),
        ("a=1,a=2", "twice"),
        ('a=["b"', r"closing \]"),
        ('a="b', 'closing "'),
        ("{1}", "JSON object"),
    ],
)
def test_what_is_no_pair_is_refused_with_help(typed: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        parse_pairs(typed)


unhurried = settings(deadline=None)  # a busy machine is no failure
keys = st.text(string.ascii_lowercase + "_", min_size=1, max_size=8)
signs = st.sampled_from(",a=\"\\'[]{} ") | st.characters(codec="utf-8")
leaves = st.text(signs, max_size=12) | st.integers() | st.booleans() | st.none()


def lists_of(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(leaves | inner, max_size=3)


requirements = lists_of(lists_of(lists_of(lists_of(st.nothing()))))
"""Lists of four levels, as ``["and", ["or", [...], [...]], [...]]``; no drawn value is thrown away."""


@unhurried
@given(st.dictionaries(keys, requirements, min_size=1, max_size=4))
def test_any_json_lists_survive_beside_each_other(lists: dict[str, list[Any]]) -> None:
    typed = ",".join(f"{key}={json.dumps(value)}" for key, value in lists.items())
    assert {key: json.loads(value) for key, value in parse_pairs(typed).items()} == lists


@unhurried
@given(st.dictionaries(keys, st.text(max_size=20), min_size=1, max_size=4))
def test_any_text_survives_in_double_quotes(texts: dict[str, str]) -> None:
    quoted = {key: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for key, text in texts.items()}
    assert parse_pairs(",".join(f"{key}={value}" for key, value in quoted.items())) == texts


@unhurried
@given(st.dictionaries(keys, leaves | requirements, min_size=1, max_size=4))
def test_a_json_object_is_taken_as_it_is(values: dict[str, Any]) -> None:
    assert parse_pairs(json.dumps(values)) == values


@unhurried
@given(st.text(max_size=40))
def test_whatever_is_typed_gives_pairs_or_a_sentence(typed: str) -> None:
    try:
        parse_pairs(typed)
    except InvalidInput as refusal:
        assert str(refusal)
