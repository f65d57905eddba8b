"""The pages of lists of resources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from blazar.domain.resource import Pool, Registration
from blazar.service.ports import UnitOfWork


@dataclass(frozen=True, slots=True)
class ResourcePage:
    """A part of a list of resources: at most ``limit`` of them, in the order of their ids, after the id
    ``after``; the first ones where it is None."""

    limit: int
    after: str | None = None


def resource_page(uow: UnitOfWork, pool: Pool, page: ResourcePage) -> Sequence[Registration]:
    """Return the resources of a page. A resource that is there from the first page to the last one is on
    exactly one of them, for its id never changes."""
    return uow.resources.page(pool, page.limit, page.after)


def ids_after(uow: UnitOfWork, pool: Pool, after: str | None, at_once: int) -> Iterator[Sequence[str]]:
    """Return the ids of the pool's resources in their order, from the one that follows ``after`` on, so many
    at once. What is not asked for is not read."""
    while ids := uow.resources.ids(pool, at_once, after):
        yield ids
        after = ids[-1]
