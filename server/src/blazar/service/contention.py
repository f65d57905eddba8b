"""The resources that requests are about to take: other requests choose others, where these will do.

A plan is made true by a commit, which fails where another request was faster on one of its resources. All
requests prefer the same resources, so they would be in each other's way, the more often the faster they come.
Instead:

1. A request plans, and states its *intent*: the resources of its plan. Until its commit is over, the plans of
   this manager's other requests leave them aside.
2. The intents of other managers are not known. But where a commit fails, another manager takes from these
   resources just now, and for some time this manager leaves them to it.

It is about speed only. What was planned on is compared in the commit, and where nothing else will do, a plan
takes what is contended."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from blazar.domain.errors import Stale
from blazar.service.ports import Clock

LEFT_ALONE = timedelta(seconds=10)
"""How long resources are left aside after a commit on them has failed."""
MOST = 256
"""The resources of a larger plan are not left aside: it is not known on which of them it failed."""


class Intent:
    """The resources that one request is about to take."""

    def __init__(self, contention: Contention) -> None:
        self._contention = contention
        self.resource_ids: Collection[str] = ()

    def state(self, resource_ids: Collection[str], known: Collection[str]) -> bool:
        """State the resources of the plan. Return whether all those that others are about to take as well
        are ``known`` to the plan."""
        return self._contention.replace(self, resource_ids if len(resource_ids) <= MOST else (), known)


class Contention:
    """The intents of all requests of this manager. Threads may share it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._intended: Counter[str] = Counter()
        self._lost: dict[str, datetime] = {}
        """Until when the resources are left aside on which a commit has failed."""

    def contended(self) -> frozenset[str]:
        """Return the ids of the resources that a plan had better leave aside."""
        with self._lock:
            if self._lost:
                now = self._clock.now()
                self._lost = {id_: until for id_, until in self._lost.items() if until > now}
            return frozenset(self._intended) | self._lost.keys()

    @contextmanager
    def intent(self) -> Iterator[Intent]:
        """Plan and commit inside the block."""
        intent = Intent(self)
        try:
            yield intent
        except Stale:
            until = self._clock.now() + LEFT_ALONE
            with self._lock:
                self._lost |= dict.fromkeys(intent.resource_ids, until)
            raise
        finally:
            self.replace(intent, (), ())

    def replace(self, intent: Intent, resource_ids: Collection[str], known: Collection[str]) -> bool:
        """Make these the resources of the intent. Return whether those of them that others intend to take are
        all ``known``."""
        with self._lock:
            self._intended.subtract(intent.resource_ids)
            self._intended = +self._intended
            unknown = any(id_ in self._intended and id_ not in known for id_ in resource_ids)
            self._intended.update(resource_ids)
            intent.resource_ids = resource_ids
        return not unknown
