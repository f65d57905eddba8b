"""Lists that are asked of a manager in pages, so that no message of the broker grows with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, TypeVar

T = TypeVar("T")


def in_pages(
    ask: Callable[[T | None], Sequence[T]], key: Callable[[T], Any], limit: int, last: T | None = None
) -> Iterator[Sequence[T]]:
    """Return a list page by page. ``ask`` returns at most ``limit`` items, by ``key``, which come after the
    given one; the first ones with None. The list begins after ``last``.

    A manager of the version before knows no pages: it answers with all items, in any order, of which those
    that were on the pages before are left out."""
    last_key = None if last is None else key(last)
    while True:
        answer = ask(last)
        keys = [key(item) for item in answer]
        if last_key is None or (keys and min(keys) > last_key):
            found = answer
        else:
            found = [item for item, its in zip(answer, keys, strict=True) if its > last_key]
        if len(answer) != limit or not found:
            yield found
            return
        last_key, last = max(zip(keys, answer, strict=True), key=itemgetter(0))
        yield found
