"""How long many hosts take to start and to end, with a cloud that takes its time for each call: one lease of
many hosts, and many leases of one host in the same minute."""

from __future__ import annotations

import math
import sqlite3
import statistics
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

from service import RunningService, next_minute, now, wait_until

PORT, CLOUD_PORT = 15901, 15902
CALL_SECONDS = 0.01
OPTIONS = "[manager]\nevent_workers = 16\n"
"""What a manager has by default; blazar-standalone has one worker."""
LENGTH = timedelta(minutes=2)
Row = Sequence[object]


def table(scratch: Path, hosts: int = 500, leases: int = 1000) -> list[Row]:
    return [
        ("what", "event", "median s", "p99 s", "last s"),
        *_measured(scratch / "one", 1, hosts),
        *_measured(scratch / "many", leases, 1),
    ]


def _measured(var: Path, leases: int, hosts: int) -> list[Row]:
    """Measure so many leases of so many hosts each."""
    name = f"{leases} leases of {hosts} host" if leases > 1 else f"one lease of {hosts} hosts"
    with RunningService(var, PORT, CLOUD_PORT, leases * hosts + 2, OPTIONS) as service:
        user = service.user("demo")
        start = next_minute(slack=leases // 30)
        for number in range(leases):
            user.create(f"b{number}", start, start + LENGTH, min=hosts, max=hosts)
        if now() > start:
            raise RuntimeError("the leases were not created in time")
        service.delay_calls(CALL_SECONDS)
        return [
            (name, event, *_late(var / "blazar.db", event, begin))
            for event, begin in (("start_lease", start), ("end_lease", start + LENGTH))
        ]


def _late(database: Path, event_type: str, begin: datetime) -> Row:
    """Return the median, the 99th percentile and the greatest of the seconds until the event is settled."""
    wait_until(begin)
    while not (late := _settled(database, event_type)):
        if now() > begin + LENGTH:
            raise RuntimeError(f"{event_type} takes too long")
        time.sleep(0.5)
    found = (statistics.median(late), late[math.ceil(len(late) * 0.99) - 1], late[-1])
    return [round(seconds, 2) for seconds in found]


def _settled(database: Path, event_type: str) -> list[float]:
    """Return after how many seconds the events of a type were settled; none before all of them are. The
    database is asked, for the API tells whole seconds, and its answers take time from the service."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", timeout=60, uri=True)) as connection:
        question = "SELECT status, time, updated_at FROM events WHERE event_type = ?"
        rows = connection.execute(question, (event_type,)).fetchall()
    if not all(status == "DONE" for status, _, _ in rows):
        return []
    moments = (tuple(map(datetime.fromisoformat, times)) for _, *times in rows)
    return sorted((settled - due).total_seconds() for due, settled in moments)
