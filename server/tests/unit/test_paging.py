"""Lists that are asked for page by page, the next one ahead."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextvars import ContextVar

import pytest

from blazar.api.paging import in_pages
from blazar.domain.errors import CloudUnavailable

WAIT = 30.0
REQUEST: ContextVar[str] = ContextVar("request", default="none")


def ask(last: int | None, total: int = 40, limit: int = 5) -> Sequence[int]:
    first = 0 if last is None else last + 1
    return list(range(first, min(first + limit, total)))


def key(item: int) -> int:
    return item


@pytest.mark.parametrize("total", [0, 1, 4, 5, 6, 9, 10, 11, 15, 16, 40, 41])
def test_all_come_once_and_in_order(total: int) -> None:
    pages = list(in_pages(lambda last: ask(last, total), key, 5))
    assert [item for page in pages for item in page] == list(range(total))


@pytest.mark.parametrize("total", [3, 5, 13])
def test_a_manager_that_knows_no_pages_is_asked_for_what_follows(total: int) -> None:
    everything = [(7 * n) % total for n in range(total)]
    pages = list(in_pages(lambda _last: everything, key, 5, 1))
    assert sorted(item for page in pages for item in page) == list(range(2, total))


@pytest.mark.parametrize("turn", [2, 3, 4])
def test_a_rolling_upgrade_in_the_middle(turn: int) -> None:
    asked = []

    def either(last: int | None) -> Sequence[int]:
        asked.append(last)
        return ask(last, 40) if len(asked) < turn else list(reversed(range(40)))

    pages = list(in_pages(either, key, 5))
    assert sorted(item for page in pages for item in page) == list(range(40))


def test_the_next_page_is_asked_for_while_one_is_used() -> None:
    is_asked = threading.Event()

    def watched(last: int | None) -> Sequence[int]:
        if last == 14:
            is_asked.set()
        return ask(last)

    pages = in_pages(watched, key, 5)
    for _ in range(3):
        page = next(pages)
    assert list(page) == [10, 11, 12, 13, 14]
    assert is_asked.wait(WAIT), "the fourth page, before it is read"


def test_who_wants_two_pages_has_no_third_one_asked_for() -> None:
    asked = []

    def counted(last: int | None) -> Sequence[int]:
        asked.append(last)
        return ask(last)

    pages = in_pages(counted, key, 5)
    next(pages), next(pages)
    assert asked == [None, 4]


def test_a_failure_comes_where_its_page_is_read() -> None:
    def fails(last: int | None) -> Sequence[int]:
        if last == 19:
            raise CloudUnavailable(service="blazar-manager", reason="it is away")
        return ask(last)

    pages, read = in_pages(fails, key, 5), 0
    with pytest.raises(CloudUnavailable):
        for page in pages:
            read += len(page)
    assert read == 20


def test_pages_are_asked_for_in_the_context_of_the_request() -> None:
    seen = set()

    def told(last: int | None) -> Sequence[int]:
        seen.add(REQUEST.get())
        return ask(last)

    token = REQUEST.set("req-1")
    assert len(list(in_pages(told, key, 5))) == 9
    REQUEST.reset(token)
    assert seen == {"req-1"}
