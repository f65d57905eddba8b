"""Lists in pages, from API 1.1 on: how far a page goes, and the link to the next one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Generic, TypeVar
from urllib.parse import urlencode
from wsgiref.util import application_uri

from pydantic import Field
from typing_extensions import TypedDict

from blazar.api.routing import PagedList, Request
from blazar.domain.resource import database_order

T = TypeVar("T")


class PageLink(TypedDict):
    href: Annotated[str, Field(description="The address of the page.")]
    rel: Annotated[str, Field(description="`next`.")]


class Listing(Generic[T]):
    """A page of a list, which is asked of a manager in parts. ``goes_on`` is the marker of the next page,
    known when the items have been read; None at the end of the list."""

    def __init__(self, items: Callable[[Listing[T]], Iterator[Sequence[T]]]) -> None:
        self.goes_on: str | None = None
        self._items = items

    def parts(self) -> Iterator[Sequence[T]]:
        return self._items(self)

    def only(self, keeps: Callable[[T], bool]) -> Listing[T]:
        """Leave out items, so that a page may have fewer than were asked for."""
        items = self._items
        self._items = lambda listing: ([each for each in part if keeps(each)] for part in items(listing))
        return self

    def answer(self, request: Request, name: str, view: Callable[[T], Any]) -> PagedList:
        """Return the body: the items under ``name``, and the link to the next page where there is one."""
        parts = ([view(each) for each in part] for part in self.parts())
        return PagedList(
            name, parts, lambda: {f"{name}_links": links} if (links := self._links(request)) else {}
        )

    def _links(self, request: Request) -> Sequence[PageLink]:
        if self.goes_on is None:
            return []
        query = {**request.parameters, "marker": self.goes_on}
        base = application_uri(dict(request.environ)).rstrip("/")
        return [{"href": f"{base}{request.environ['PATH_INFO']}?{urlencode(query)}", "rel": "next"}]


def listing_by_id(
    ask: Callable[[int, str | None], Sequence[T]],
    id_of: Callable[[T], str],
    limit: int,
    marker: str | None,
    at_once: int,
) -> Listing[T]:
    """Return at most ``limit`` items after the id ``marker``, in the order of ids. ``ask`` returns so many
    items at most, which follow an id; a manager of the version before returns all, in any order."""

    def items(listing: Listing[T]) -> Iterator[Sequence[T]]:
        left, after = limit, marker
        while True:
            wanted = min(at_once, left + 1)  # one more tells whether the list goes on
            found = _following(ask(wanted, after), id_of, after)[:wanted]
            yield found[:left]
            if len(found) > left:
                listing.goes_on = id_of(found[left - 1]) if left else after
                return
            if len(found) < wanted:
                return
            left, after = left - len(found), id_of(found[-1])

    return Listing(items)


def _following(found: Sequence[T], id_of: Callable[[T], str], after: str | None) -> Sequence[T]:
    in_order = sorted(found, key=lambda each: database_order(id_of(each)))
    if after is None:
        return in_order
    return [each for each in in_order if database_order(id_of(each)) > database_order(after)]
