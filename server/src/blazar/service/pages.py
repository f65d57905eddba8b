"""The pages of lists of resources."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from blazar.domain.resource import Pool, Registration, database_order
from blazar.service.ports import UnitOfWork


@dataclass(frozen=True, slots=True)
class ResourcePage:
    """A part of a list of resources: at most ``limit`` of them, in the order of their ids, after the id
    ``after``; the first ones where it is None."""

    limit: int
    after: str | None = None


def ids_after(uow: UnitOfWork, pool: Pool, after: str | None) -> Sequence[str]:
    """Return the ids of the pool's resources in their order, from the one that follows ``after`` on.

    The cost is one look at the ids of the whole pool, which are small: numbers have no order in a database
    that keeps them as text."""
    ids = sorted(uow.resources.generations(pool), key=database_order)
    return ids if after is None else ids[bisect_right(ids, database_order(after), key=database_order) :]


def resource_page(uow: UnitOfWork, pool: Pool, page: ResourcePage) -> Sequence[Registration]:
    """Return the resources of a page. A resource that is there from the first page to the last one is on
    exactly one of them, for its id never changes."""
    return uow.resources.list(pool, ids_after(uow, pool, page.after)[: page.limit])
