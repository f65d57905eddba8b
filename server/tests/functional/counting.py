"""What an operation does, counted: statements and rows at the driver of SQLite, requests to the cloud at the
HTTP adapter, messages between blazar-api and blazar-manager as JSON."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import requests
from requests.adapters import HTTPAdapter
from sqlalchemy import Engine, event

from blazar.rpc.dispatcher import Dispatcher
from blazar.service.interface import CallOptions
from blazar.service.ports import Clock

TABLE = re.compile(r"\b(?:FROM|INTO|UPDATE)\s+(\w+)")
ID = re.compile(r"[0-9a-f]{8}([-_]?[0-9a-f]{4}){3}[-_]?[0-9a-f]{12}|(?<=/)\d+\b", re.IGNORECASE)
WRITING = ("INSERT", "UPDATE", "DELETE")
STEPS = 20
"""After so many instructions of its machine, SQLite tells that it works."""
ANSWER = timedelta(seconds=54)


class Tally:
    """What is counted. ``parts`` tells which statements and requests they were, and how often each was
    sent."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.parts: Counter[str] = Counter()


class Counters:
    """Counts what happens inside of ``during``, in all threads; the rest is forgotten."""

    def __init__(self) -> None:
        self._tally = Tally()

    @contextmanager
    def during(self) -> Iterator[Tally]:
        tally = self._tally = Tally()
        yield tally
        self._tally = Tally()

    def add(self, **numbers: int) -> None:
        self._tally.counts.update(numbers)

    def name(self, part: str) -> None:
        self._tally.parts[part] += 1


def count_statements(engine: Engine, counters: Counters) -> None:
    """Count the statements of an engine that has no connection yet, the rows that they read and write, and
    the steps that SQLite takes for them."""

    class Cursor(sqlite3.Cursor):
        def fetchone(self) -> Any:
            row = super().fetchone()
            counters.add(rows_read=row is not None)
            return row

        def fetchmany(self, size: int | None = None) -> list[Any]:
            rows = super().fetchmany(self.arraysize if size is None else size)
            counters.add(rows_read=len(rows))
            return rows

        def fetchall(self) -> list[Any]:
            rows = super().fetchall()
            counters.add(rows_read=len(rows))
            return rows

    class Connection(sqlite3.Connection):
        def cursor(self, factory: Any = Cursor) -> Any:
            return super().cursor(factory)

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: Any, _record: Any, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
        connection = sqlite3.connect(*args, factory=Connection, **named)
        connection.set_progress_handler(lambda: counters.add(steps=STEPS), STEPS)
        return connection

    @event.listens_for(engine, "after_cursor_execute")
    def executed(_connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        verb = statement.split()[0]
        if verb == "BEGIN":
            return
        counters.add(statements=1, rows_written=max(cursor.rowcount, 0) if verb in WRITING else 0)
        counters.name(" ".join([verb, *TABLE.findall(statement)[:1]]))


class CountingAdapter(HTTPAdapter):
    """Carries requests to the cloud, and counts them with the bytes of both bodies."""

    def __init__(self, counters: Counters) -> None:
        super().__init__()
        self._counters = counters

    def send(self, request: requests.PreparedRequest, *args: Any, **named: Any) -> requests.Response:
        answer = super().send(request, *args, **named)
        self._counters.add(cloud_calls=1, cloud_bytes=len(request.body or b"") + len(answer.content))
        self._counters.name(f"{request.method} {ID.sub('ID', urlsplit(request.url or '').path)}")
        return answer


class CountingTransport:
    """Carries calls within the process, as JSON, as the broker does between two of them. An answer is a
    message, too."""

    def __init__(self, dispatcher: Dispatcher, clock: Clock, counters: Counters) -> None:
        self._dispatcher = dispatcher
        self._clock = clock
        self._counters = counters

    def call(
        self, noun: str, use_case: str, arguments: Mapping[str, Any], calling: CallOptions
    ) -> tuple[Mapping[str, Any], bool]:
        sent = self._clock.now()
        context = {
            "call": str(uuid4()),
            "sent": sent.isoformat(),
            "deadline": (sent + ANSWER).isoformat(),
        }
        self._counters.name(f"call {noun}.{use_case}")
        carried = self._carried([context, noun, use_case, dict(arguments)])
        return self._carried(self._dispatcher.call(*carried)), False

    def _carried(self, words: Any) -> Any:
        text = json.dumps(words)
        self._counters.add(messages=1, message_bytes=len(text))
        return json.loads(text)
