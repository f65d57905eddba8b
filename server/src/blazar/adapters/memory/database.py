"""Transactions in memory: one writer at a time, on a copy that replaces the state when it is committed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from blazar.adapters.memory.calls import MemoryCalls
from blazar.adapters.memory.duties import MemoryDuties
from blazar.adapters.memory.events import MemoryEvents
from blazar.adapters.memory.feeds import MemoryFeeds
from blazar.adapters.memory.imports import MemoryImports
from blazar.adapters.memory.leases import MemoryLeases
from blazar.adapters.memory.mails import MemoryMails
from blazar.adapters.memory.maintenances import MemoryMaintenances
from blazar.adapters.memory.offers import MemoryOffers
from blazar.adapters.memory.outbox import MemoryOutbox
from blazar.adapters.memory.presences import MemoryPresences
from blazar.adapters.memory.quotas import MemoryQuotas
from blazar.adapters.memory.reports import MemoryReports
from blazar.adapters.memory.resources import MemoryResources
from blazar.adapters.memory.series import MemorySeries
from blazar.adapters.memory.shares import MemoryShares
from blazar.adapters.memory.start_tasks import MemoryStartTasks
from blazar.adapters.memory.state import State
from blazar.adapters.memory.subscriptions import MemorySubscriptions
from blazar.adapters.memory.utilizations import MemoryUtilizations
from blazar.adapters.memory.waitlist import MemoryWaitlist
from blazar.service.ports import UnitOfWork

T = TypeVar("T")


class MemoryUnitOfWork:
    """All repositories on one state."""

    def __init__(self, state: State) -> None:
        self.leases = MemoryLeases(state)
        self.offers = MemoryOffers(state)
        self.maintenances = MemoryMaintenances(state)
        self.resources = MemoryResources(state)
        self.events = MemoryEvents(state)
        self.outbox = MemoryOutbox(state)
        self.calls = MemoryCalls(state)
        self.duties = MemoryDuties(state)
        self.reports = MemoryReports(state)
        self.imports = MemoryImports(state)
        self.presences = MemoryPresences(state)
        self.quotas = MemoryQuotas(state)
        self.subscriptions = MemorySubscriptions(state)
        self.series = MemorySeries(state)
        self.shares = MemoryShares(state)
        self.feeds = MemoryFeeds(state)
        self.waitlist = MemoryWaitlist(state)
        self.utilizations = MemoryUtilizations(state)
        self.mails = MemoryMails(state)
        self.start_tasks = MemoryStartTasks(state)


class MemoryDatabase:
    """The Database port without a database: for tests, and for what need not outlive the process."""

    def __init__(self) -> None:
        self._committed = State()
        self._turn = threading.Lock()
        self._writer: int | None = None

    @contextmanager
    def read(self) -> Iterator[UnitOfWork]:
        yield MemoryUnitOfWork(self._committed.copy())  # what is written by mistake is written to the copy

    def transact(self, work: Callable[[UnitOfWork], T]) -> T:
        if self._writer == threading.get_ident():
            raise RuntimeError("transactions do not nest")
        with self._turn:
            self._writer = threading.get_ident()
            try:
                draft = self._committed.copy()
                result = work(MemoryUnitOfWork(draft))
                self._committed = draft
            finally:
                self._writer = None
        return result

    def takes_changes(self) -> bool:
        return True

    def close(self) -> None:
        """Do nothing: there is nothing to give back."""
