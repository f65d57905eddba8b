"""Lists that are asked of a manager in pages, so that no message of the broker grows with them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from itertools import count
from operator import itemgetter
from typing import Any, TypeVar

T = TypeVar("T")
AT_ONCE = 2
"""The pages that are read before an answer begins."""


def in_pages(
    ask: Callable[[T | None], Sequence[T]], key: Callable[[T], Any], limit: int, last: T | None = None
) -> Iterator[Sequence[T]]:
    """Return a list page by page. ``ask`` returns at most ``limit`` items, by ``key``, which come after the
    given one; the first ones with None. The list begins after ``last``.

    From the third page on, the next one is asked for while a page is used, by another thread: manager and API
    work at the same time. So two pages are in memory, whatever the list's length, and one is asked for in
    vain where the rest is not wanted. Who wants the first two only, as HEAD does, has no more asked for.

    A manager of the version before knows no pages: it answers with all items, in any order, of which those
    that were on the pages before are left out."""
    answer = ask(last)
    last_key = None if last is None else key(last)
    for number in count(1):
        keys = [key(item) for item in answer]
        if last_key is None or (keys and min(keys) > last_key):
            found = answer
        else:
            found = [item for item, its in zip(answer, keys, strict=True) if its > last_key]
        if len(answer) != limit or not found:
            yield found
            return
        last_key, last = max(zip(keys, answer, strict=True), key=itemgetter(0))
        following = _begun(ask, last) if number > AT_ONCE else None
        yield found
        answer = ask(last) if following is None else following.result()


def _begun(ask: Callable[[T | None], Sequence[T]], last: T | None) -> Future[Sequence[T]]:
    """Return the next page, which a thread asks for in the context of this one."""
    future: Future[Sequence[T]] = Future()
    context = copy_context()

    def carry() -> None:
        try:
            future.set_result(context.run(ask, last))
        except Exception as failure:  # noqa: BLE001 - whatever it is, the future carries it to the reader's thread
            future.set_exception(failure)

    threading.Thread(target=carry, name="next-page", daemon=True).start()
    return future
