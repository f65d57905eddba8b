"""What kinds tell of the difference between the database and the cloud, and what they look with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from blazar.domain.resource import Pool, Registration, pool_in
from blazar.service.ports.cloud import Cloud
from blazar.service.ports.database import Database

T = TypeVar("T")
Repair = Callable[[Cloud], str | None]
"""Repairs a difference in the cloud; returns why it stays, where it does. It may be repeated. Raises
CloudUnavailable and CloudRefused."""


@dataclass(frozen=True, slots=True, order=True)
class Difference:
    """A difference between what the database says and what is in the cloud.

    ``sort`` is a word for metrics, such as ``aggregate``. ``subject`` names the object, by which the
    difference is found again."""

    sort: str
    subject: str
    expected: str
    found: str
    lease_id: str = ""
    reservation_id: str = ""
    advice: str = ""
    """What people have to do, where the service cannot repair it."""


@dataclass(frozen=True, slots=True)
class MarkedObject:
    """An object in the cloud that carries the mark of a reservation, as the kind writes it.

    ``remove`` removes nothing that users have put there: it returns the reason where they have."""

    reservation_id: str
    sort: str
    subject: str
    remove: Repair = field(compare=False)
    region: str | None = None
    """The region that it is in."""


class Look:
    """One look at a region of the cloud: what was asked for once is not asked for again."""

    def __init__(self, cloud: Cloud, database: Database, region: str | None = None) -> None:
        """Look at a region of the cloud; None is the first one."""
        self.cloud = cloud.in_region(region)
        self.region = region
        self._database = database
        self._answers: dict[str, Any] = {}

    def once(self, what: str, ask: Callable[[], T]) -> T:
        """Return the answer to ``ask``, which is called the first time that this look asks for ``what``."""
        if what not in self._answers:
            self._answers[what] = ask()
        answer: T = self._answers[what]
        return answer

    def registered(self, pool: Pool) -> Sequence[Registration]:
        """Return the registrations of a pool in the region as they are now."""
        with self._database.read() as uow:
            return uow.resources.list(pool_in(pool, self.region))


def is_reservation_id(text: str) -> bool:
    """Return whether a name can be the id of a reservation, which is a UUID in its usual form."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
