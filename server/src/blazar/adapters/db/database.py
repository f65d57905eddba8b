"""Transactions on an SQL database: reading at one moment, writing again where others were in the way."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, RootTransaction
from sqlalchemy.exc import SQLAlchemyError

from blazar.adapters.db.engine import SQLITE_WAIT, for_reading, for_writing, make_engine
from blazar.adapters.db.failures import REASONS, REPEATED, UNKNOWN_AT_COMMIT, Failure, classify, translate
from blazar.adapters.db.unit_of_work import SqlUnitOfWork
from blazar.domain.errors import Busy, CloudUnavailable, OutcomeUnknown
from blazar.service.ports import UnitOfWork
from blazar.service.tracing import NO_TRACING, NOTHING, Tracing

T = TypeVar("T")

FIRST_PAUSE = 0.01
LONGEST_PAUSE = 0.5
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class SqlDatabase:
    """The Database port on SQLite, PostgreSQL, MariaDB or MySQL.

    ``attempts`` is how often a transaction is tried that ends in deadlocks, serialization failures or
    lock timeouts; ``repeated`` is called each time.
    """

    def __init__(
        self,
        url: str | URL,
        *,
        pool_size: int = 10,
        max_overflow: int = 30,
        pool_timeout: float = 30.0,
        attempts: int = 8,
        pause: Callable[[float], None] = time.sleep,
        repeated: Callable[[], None] = lambda: None,
        tracing: Tracing = NO_TRACING,
    ) -> None:
        self.engine = make_engine(
            url, pool_size=pool_size, max_overflow=max_overflow, pool_timeout=pool_timeout, is_impatient=True
        )
        self._readers = for_reading(self.engine)
        self._writers = for_writing(self.engine)
        self._attempts = attempts
        self._pause = pause
        self._repeated = repeated
        self._tracing = tracing
        self._is_full = False
        # SQLite has one writer at a time and lets the others poll; within this process they queue up instead.
        self._turn = _Turn() if self.engine.dialect.name == "sqlite" else None

    @contextmanager
    def read(self) -> Iterator[UnitOfWork]:
        try:
            with self._tracing.step("database read", NOTHING), self._readers.connect() as connection:
                try:
                    yield SqlUnitOfWork(connection)
                finally:
                    _roll_back(connection)  # also what was written by mistake
        except SQLAlchemyError as error:
            raise translate(error) or error from error

    def transact(self, work: Callable[[UnitOfWork], T]) -> T:
        attempt = 1
        while True:
            try:
                return self._once(work)
            except SQLAlchemyError as error:
                if classify(error) is Failure.FULL:
                    self._is_full = True
                if classify(error) not in REPEATED or attempt == self._attempts:
                    raise translate(error) or error from error
            self._repeated()
            self._pause(_pause_after(attempt))
            attempt += 1

    def takes_changes(self) -> bool:
        if self._is_full:  # when it was tried last, which may be long ago
            with suppress(CloudUnavailable, Busy):
                self.transact(lambda uow: uow.outbox.remove([uow.outbox.put("blazar.trial", {}, LONG_AGO)]))
                self._is_full = False
        return not self._is_full

    def close(self) -> None:
        """Give all connections back; the next transaction opens new ones."""
        self.engine.dispose()

    def _once(self, work: Callable[[UnitOfWork], T]) -> T:
        with (
            self._tracing.step("database transaction", NOTHING),
            self._turn or nullcontext(),
            self._writers.connect() as connection,
        ):
            transaction = connection.begin()
            try:
                result = work(SqlUnitOfWork(connection))
            except BaseException:
                _roll_back(connection)
                raise
            with _closed_where_this_fails(connection):
                _commit(transaction)
            return result


def _commit(transaction: RootTransaction) -> None:
    try:
        transaction.commit()
    except SQLAlchemyError as error:
        failure = classify(error)
        if failure in UNKNOWN_AT_COMMIT:
            reason = REASONS.get(failure, "the commit was interrupted")
            raise OutcomeUnknown(service="database", reason=reason) from error
        raise


def _roll_back(connection: Connection) -> None:
    """End the transaction: where that fails, by the end of the connection."""
    with suppress(SQLAlchemyError), _closed_where_this_fails(connection):
        connection.rollback()


@contextmanager
def _closed_where_this_fails(connection: Connection) -> Iterator[None]:
    """Close the connection where the end of its transaction fails. The transaction may still be open then,
    with its locks and with changes that the next user of the connection would see, and the pool does not
    look."""
    try:
        yield
    except BaseException:
        connection.invalidate()
        raise


class _Turn:
    """One writing transaction at a time; Busy where it does not get its turn in time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=SQLITE_WAIT):
            raise Busy()

    def __exit__(self, *_: Any) -> None:
        self._lock.release()


def _pause_after(attempt: int) -> float:
    # Jitter, so that those who collided do not collide again. No secret, so plain random numbers will do.
    return random.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempt - 1)))  # noqa: S311
