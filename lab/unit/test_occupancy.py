"""The message about a lab that is in use, with which lab/suite.py stops before any test runs."""

from __future__ import annotations

import pytest
from labtests import occupancy

NOTHING: dict[str, list[str]] = {"registered host": [], "lease": [], "server": []}


def test_an_unused_lab_is_not_refused() -> None:
    assert occupancy.refusal(NOTHING) == ""


def test_the_message_names_what_is_there_and_how_to_reset() -> None:
    message = occupancy.refusal(NOTHING | {"registered host": ["host2", "host1"], "lease": ["mine"]})
    assert "2 registered hosts (host1, host2), 1 lease (mine)." in message
    assert "server (" not in message
    assert "'python3 lab/lab.py reset'" in message


@pytest.mark.parametrize(("number", "shown"), [(3, "(s0, s1, s2)"), (4, "(s0, s1, s2, ...)")])
def test_long_lists_are_cut(number: int, shown: str) -> None:
    assert shown in occupancy.refusal({"server": [f"s{n}" for n in range(number)]})
