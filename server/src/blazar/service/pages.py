"""The pages of lists of resources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice

from blazar.domain.resource import Pool, Registration, database_order
from blazar.service.ports import UnitOfWork


@dataclass(frozen=True, slots=True)
class ResourcePage:
    """A part of a list of resources: at most ``limit`` of them, in the order of their ids, after the id
    ``after``; the first ones where it is None."""

    limit: int
    after: str | None = None


def resource_page(uow: UnitOfWork, pools: Sequence[Pool], page: ResourcePage) -> Sequence[Registration]:
    """Return the resources of a page of these pools together. A resource that is there from the first page to
    the last one is on exactly one of them, for its id never changes."""
    found = (uow.resources.page(pool, page.limit, page.after) for pool in pools)
    return list(islice(merge(*found, key=lambda each: database_order(each.id)), page.limit))


def ids_after(
    uow: UnitOfWork, pools: Sequence[Pool], after: str | None, at_once: int
) -> Iterator[Sequence[str]]:
    """Return the ids of the resources of these pools in their order, from the one that follows ``after`` on,
    so many at once. What is not asked for is not read."""
    while True:
        found = (uow.resources.ids(pool, at_once, after) for pool in pools)
        ids = list(islice(merge(*found, key=database_order), at_once))
        if not ids:
            return
        yield ids
        after = ids[-1]
