"""A database server in memory, with the isolation of PostgreSQL and MariaDB as the service uses them.

A reading transaction sees the moment of its first statement. A writing one sees what is committed at each
statement, and its own writes. What it writes is locked until its end: another writer waits for the lock and
then looks again, so that a compare-and-set on a row that was changed meanwhile finds nothing to change.
Repositories and their rules are those of the shipped MemoryDatabase; only the transactions around them are
made here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from types import GeneratorType
from typing import Any, TypeVar

from blazar.adapters.memory.database import MemoryUnitOfWork
from blazar.adapters.memory.state import State
from blazar.domain.errors import Busy, CloudUnavailable, OutcomeUnknown

from .scheduler import SECOND, Process, Task
from .world import World, unforeseen

T = TypeVar("T")
COUNTERS = tuple(field.name for field in fields(State) if field.name.startswith("last_"))
TABLES = tuple(field.name for field in fields(State) if field.name not in COUNTERS)
ROW_OF = {
    "claims": "leases",
    "reconciled": "leases",
    "offers": "leases",
    "maintenances": "leases",
    "touched": "registrations",
    "notices_held": "notifications",
}
"""Where two tables of the State are columns of one row in the real database."""
LOCK_WAIT = 5.0
IDLE = 10
"""Seconds after which the server ends a transaction whose owner does nothing."""
ATTEMPTS = 8
LATENCY = 0.002
GONE = object()
MISSING = object()
REPOSITORIES = (
    "leases",
    "resources",
    "events",
    "outbox",
    "calls",
    "duties",
    "reports",
    "presences",
    "quotas",
    "offers",
    "waitlist",
    "utilizations",
    "maintenances",
    "subscriptions",
    "feeds",
    "series",
    "shares",
)
Key = tuple[str, Any]


class Contended(Exception):
    """A deadlock, or a lock that did not come: the transaction is repeated."""


@dataclass(frozen=True)
class Written:
    """A row before and after a commit; None where there is none."""

    before: Any
    after: Any


Watcher = Callable[[Mapping[Key, Written]], None]


class Server:
    """What is committed, and who has locked what. ``watcher`` is told of every commit."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.committed = State()
        self.locks: dict[Key, Transaction] = {}
        self.watcher: Watcher = lambda written: None

    def view(self, written: Mapping[Key, Any]) -> State:
        """Return what is committed, with these rows as they are written."""
        view = self.committed.copy()
        for (table, key), value in written.items():
            rows = getattr(view, table)
            if value is GONE:
                rows.pop(key, None)
            else:
                rows[key] = value
        return view

    def commit(self, written: Mapping[Key, Any]) -> None:
        changes = {}
        for (table, key), value in written.items():
            rows = getattr(self.committed, table)
            before = rows.get(key)
            if value is GONE:
                rows.pop(key, None)
            else:
                rows[key] = value
            changes[table, key] = Written(before, None if value is GONE else value)
        self.watcher(changes)


class SimulatedDatabase:
    """The Database port of one process."""

    def __init__(self, server: Server, process: Process) -> None:
        self._server = server
        self._process = process
        self._world = server.world

    @contextmanager
    def read(self) -> Iterator[Any]:
        yield Session(Reading(self._server, self._process))

    def transact(self, work: Callable[[Any], T]) -> T:
        for attempt in range(ATTEMPTS):
            transaction = Transaction(self._server, self._process)
            try:
                result = work(Session(transaction))
                transaction.commit()
            except Contended:
                transaction.end()
                self._world.scheduler.sleep(self._world.dice.uniform(0, min(0.5, 0.01 * 2**attempt)))
                continue
            except BaseException:
                transaction.end()
                raise
            self._world.step(self._process, LATENCY)  # the answer is on its way
            return result
        raise Busy()

    def takes_changes(self) -> bool:
        return True

    def close(self) -> None:
        """Nothing to give back."""


class Reading:
    """A reading transaction."""

    def __init__(self, server: Server, process: Process) -> None:
        self._server = server
        self._process = process
        self._snapshot: State | None = None

    def call(self, repository: str, method: str, args: Any, kwargs: Any) -> Any:
        try:
            before_statement(self._server.world, self._process)
        except Contended:
            raise Busy() from None
        if self._snapshot is None:
            self._snapshot = self._server.committed.copy()
        return called(self._snapshot, repository, method, args, kwargs)


class Transaction:
    """A writing transaction."""

    def __init__(self, server: Server, process: Process) -> None:
        self._server = server
        self._world = server.world
        self._process = process
        self._written: dict[Key, Any] = {}
        self._locked: list[Key] = []
        self._waiters: list[Task] = []
        self._waits_for: Transaction | None = None
        self._is_over = False
        self._last_call = self._world.scheduler.now
        self._statements: list[str] = []

    def call(self, repository: str, method: str, args: Any, kwargs: Any) -> Any:
        before_statement(self._world, self._process)
        self._require_connection()
        if (repository, method) == ("leases", "get"):
            return self._lease(*args)
        while True:
            draft = self._server.view(self._written)
            known = draft.copy()
            result = called(draft, repository, method, args, kwargs)
            for name in COUNTERS:
                counted = max(getattr(self._server.committed, name), getattr(draft, name))
                setattr(self._server.committed, name, counted)
            changes = differences(known, draft)
            holder = next(filter(None, (self._holder(key) for key in changes)), None)
            if holder is None:
                break
            self._wait_for(holder)
        for key, value in changes.items():
            if row_of(key) not in self._server.locks:
                self._server.locks[row_of(key)] = self
                self._locked.append(row_of(key))
            self._written[key] = value
        if changes:
            self._statements.append(f"{repository}.{method}")
        return result

    def commit(self) -> None:
        before_statement(self._world, self._process)
        self._require_connection()
        trouble = self._world.weather.strike("commit", self._process)
        is_lost = trouble is not None and self._world.weather.random_of(trouble).random() < 0.5
        if not is_lost:
            self._server.commit(self._written)
        self.end()
        if self._written or trouble:
            outcome = "ok" if trouble is None else f"unknown, and {'lost' if is_lost else 'stored'}"
            self._world.tell(f"commit {' '.join(self._statements)} {self._named()}", outcome)
        if trouble is not None:
            raise OutcomeUnknown(service="database", reason="the connection was lost")

    def end(self) -> None:
        """Give up all locks, whether what was written is committed or not."""
        self._is_over = True
        for row in self._locked:
            self._server.locks.pop(row, None)
        self._locked.clear()
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            self._world.scheduler.wake(waiter)

    # parts

    def _lease(self, lease_id: str) -> Any:
        """The selects of one lease see what is committed at each of them; the first one reads the
        revision."""
        first = self._stored(lease_id)
        if first is None or self._world.dice.random() < 0.7:
            return first
        self._world.scheduler.switch()
        second = self._stored(lease_id)
        if second == first:
            return first
        self._world.tell(f"leases.get {lease_id[:4]}", "is changed while it is read")
        if second is None:
            return replace(first, reservations=(), events=())
        return replace(first, reservations=second.reservations, events=second.events)

    def _stored(self, lease_id: str) -> Any:
        return called(self._server.view(self._written), "leases", "get", (lease_id,), {})

    def _require_connection(self) -> None:
        now = self._world.scheduler.now
        if self._is_over or (self._written and now - self._last_call > IDLE * SECOND):
            raise CloudUnavailable(service="database", reason="the server has ended the idle transaction")
        self._last_call = now

    def _holder(self, key: Key) -> Transaction | None:
        holder = self._server.locks.get(row_of(key))
        return None if holder is self else holder

    def _wait_for(self, holder: Transaction) -> None:
        if self._world.scheduler.now - holder._last_call > IDLE * SECOND:
            holder.end()
            return
        self._waits_for = other = holder
        while other._waits_for is not None:
            other = other._waits_for
            if other is self:
                self._waits_for = None
                self._world.weather.strikes["real deadlock"] += 1
                raise Contended
        assert self._world.scheduler.current is not None
        holder._waiters.append(self._world.scheduler.current)
        woken = self._world.scheduler.park(LOCK_WAIT)
        self._waits_for = None
        self._last_call = self._world.scheduler.now
        if not woken:
            raise Contended

    def _named(self) -> str:
        """The rows in short; a lease with its status."""
        found = []
        for (table, key), value in self._written.items():
            if table == "leases":
                found.append(f"lease {key[:4]} {'removed' if value is GONE else summary(value)}")
            elif table == "offers":
                found.append(f"offer {key[:4]} {'removed' if value is GONE else summary(value.lease)}")
            elif table == "maintenances":
                found.append(f"maintenance {key[:4]}{' removed' if value is GONE else ''}")
            elif table == "registrations":
                found.append(f"{key[:4]}@{'removed' if value is GONE else value.generation}")
        return "; ".join(found)


class Session:
    """The repositories of one transaction; every method of them is a statement."""

    def __init__(self, transaction: Reading | Transaction) -> None:
        for name in REPOSITORIES:
            setattr(self, name, Repository(transaction, name))


class Repository:
    def __init__(self, transaction: Reading | Transaction, name: str) -> None:
        self._transaction = transaction
        self._name = name

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return lambda *args, **kwargs: self._transaction.call(self._name, method, args, kwargs)


def before_statement(world: World, process: Process) -> None:
    """Let others run before a statement, and let it fail."""
    world.step(process, LATENCY)
    trouble = world.weather.strike("database", process)
    if trouble is None:
        return
    world.tell("statement", trouble.kind)
    match trouble.kind:
        case "deadlock":
            raise Contended
        case "database away":
            raise CloudUnavailable(service="database", reason="the connection failed or was lost")
        case "slow database":
            world.scheduler.sleep(world.weather.random_of(trouble).uniform(0, 2))
        case _:
            random = world.weather.random_of(trouble)
            raise unforeseen(random, "57014: canceling statement due to user request")


def called(state: State, repository: str, method: str, args: Any, kwargs: Any) -> Any:
    found = getattr(getattr(MemoryUnitOfWork(state), repository), method)(*args, **kwargs)
    return list(found) if isinstance(found, GeneratorType) else found


def differences(before: State, after: State) -> dict[Key, Any]:
    """Return the rows that were written between two states."""
    found: dict[Key, Any] = {}
    for table in TABLES:
        old, new = getattr(before, table), getattr(after, table)
        for key, value in new.items():
            if old.get(key, MISSING) is not value:
                found[table, key] = value
        if len(old) != len(new) or any(key not in new for key in old):
            found.update({(table, key): GONE for key in old if key not in new})
    return found


def row_of(key: Key) -> Key:
    return ROW_OF.get(key[0], key[0]), key[1]


def summary(lease: Any) -> str:
    """A lease in a few words: its status, revision, resources, and events that are not over."""
    allocations = " ".join(f"{a.resource_id[:4]}{'' if a.bound else '?'}" for a in lease.allocations)
    events = " ".join(f"{e.event_type.value.removesuffix('_lease')}" for e in lease.events if e.is_open)
    return f"{lease.status.value} r{lease.revision} on [{allocations}] open [{events}]"
