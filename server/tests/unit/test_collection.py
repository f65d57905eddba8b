"""The garbage collection of programs that have a calendar."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from blazar.cmd.process import loading, spare_from_collection


class Node:
    """Refers to itself, so that only a collection frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def collection_restored() -> Iterator[None]:
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("collection_restored")
def test_what_is_loaded_is_looked_at_no_more() -> None:
    garbage, loaded = [Node()], [Node()]
    garbage.clear()
    spare_from_collection()
    looked_at = gc.get_objects()
    assert not any(each is loaded[0] for each in looked_at)
    assert gc.get_freeze_count() > len(looked_at)
    assert not any(isinstance(each, Node) and each is not loaded[0] for each in looked_at)


@pytest.mark.usefixtures("collection_restored")
def test_nothing_is_looked_through_while_it_is_loaded() -> None:
    with loading():
        assert not gc.isenabled()
        loaded = [Node()]
    assert gc.isenabled()
    assert not any(each is loaded[0] for each in gc.get_objects())


@pytest.mark.usefixtures("collection_restored")
def test_garbage_is_collected_again_where_loading_fails() -> None:
    with pytest.raises(LookupError), loading():
        raise LookupError
    assert gc.isenabled()
