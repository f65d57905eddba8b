"""Do values survive, whatever they hold?"""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazarclient.reading.errors import NotUnderstood
from blazarclient.reading.pairs import parse_pairs


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
        ('p=["==", "$a", "say \\"hi\\", min=2"],min=1', {"p": '["==", "$a", "say \\"hi\\", min=2"]', "min": "1"}),
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
    with pytest.raises(NotUnderstood, match=reason):
        parse_pairs(typed)


keys = st.text(string.ascii_lowercase + "_", min_size=1, max_size=8)
leaves = st.text(max_size=12) | st.integers() | st.booleans() | st.none()
requirements = st.recursive(leaves, lambda inner: st.lists(inner, max_size=4), max_leaves=8).filter(
    lambda value: isinstance(value, list)
)


@given(st.dictionaries(keys, requirements, min_size=1, max_size=4))
def test_any_json_lists_survive_beside_each_other(lists: dict[str, list[Any]]) -> None:
    typed = ",".join(f"{key}={json.dumps(value)}" for key, value in lists.items())
    assert {key: json.loads(value) for key, value in parse_pairs(typed).items()} == lists


@given(st.dictionaries(keys, st.text(max_size=20), min_size=1, max_size=4))
def test_any_text_survives_in_double_quotes(texts: dict[str, str]) -> None:
    quoted = {key: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for key, text in texts.items()}
    assert parse_pairs(",".join(f"{key}={value}" for key, value in quoted.items())) == texts


@given(st.dictionaries(keys, leaves | requirements, min_size=1, max_size=4))
def test_a_json_object_is_taken_as_it_is(values: dict[str, Any]) -> None:
    assert parse_pairs(json.dumps(values)) == values


@given(st.text(max_size=40))
def test_whatever_is_typed_gives_pairs_or_a_sentence(typed: str) -> None:
    try:
        parse_pairs(typed)
    except NotUnderstood as refusal:
        assert str(refusal)
