"""Persistence of a cloud's state in an SQLite file.

The initial content is the same in every cloud, so only differences from it are saved: one SQLite row for each
changed object, with a NULL body for a deleted one. A thread saves changes some tenths of a second later, so
that no call waits for the disk. A kill loses the changes since the last save.
"""

import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Event, Lock, Thread

from blazar_sandbox import codec
from blazar_sandbox.cloud import Cloud

LOG = logging.getLogger(__name__)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (kind TEXT, key TEXT, body TEXT, PRIMARY KEY (kind, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
"""
_HOSTS, _TRAITS = "hosts", "traits"


class Persistence:
    """The file of one cloud.

    ``open`` loads it into the cloud and starts a thread that saves changes; ``close`` saves the rest.
    """

    def __init__(self, cloud: Cloud, path: Path, *, interval: float = 0.25) -> None:
        self._cloud = cloud
        self._path = path
        self._interval = interval
        self._tables = {table.name: table for table in cloud.tables}
        # A dictionary as an ordered set: objects are saved in the order of their first change.
        self._dirty: dict[tuple[str, str], None] = {}
        self._writing = Lock()
        self._stopped = Event()
        self._thread: Thread | None = None

    def open(self) -> "Persistence":
        """Load the file into the cloud, and save every change from now on."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with closing(self._connect()) as db, db:
            db.executescript(_SCHEMA)
            with self._cloud.lock:
                self._load_hosts(db)
                self._load_objects(db)
                self._cloud.resume()
        for table in self._tables.values():
            table.on_change = self._changed
        self._stopped.clear()
        self._thread = Thread(target=self._keep_writing, name="blazar-sandbox-persistence", daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop the thread, and save what it has not saved."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.write()

    def write(self) -> None:
        """Save all changes so far in one transaction."""
        with self._writing:
            with self._cloud.lock:
                dirty, self._dirty = self._dirty, {}
                changed = [(kind, key, self._tables[kind].get(key)) for kind, key in dirty]
            if not changed:
                return
            # Rows are frozen, so they are saved without the lock.
            rows = [(kind, key, None if row is None else codec.encode(row)) for kind, key, row in changed]
            try:
                with closing(self._connect()) as db, db:
                    db.executemany("INSERT OR REPLACE INTO objects VALUES (?, ?, ?)", rows)
            except sqlite3.Error:
                with self._cloud.lock:
                    self._dirty = {**dirty, **self._dirty}
                raise

    def _changed(self, kind: str, key: str) -> None:
        self._dirty[kind, key] = None

    def _keep_writing(self) -> None:
        while not self._stopped.wait(self._interval):
            try:
                self.write()
            except sqlite3.Error:
                LOG.exception("The sandbox could not write %s; it will try again", self._path)

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, timeout=5)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        return db

    def _load_hosts(self, db: sqlite3.Connection) -> None:
        """Add the hosts of the saved cloud and save their number, which never decreases."""
        facts = dict(db.execute("SELECT name, value FROM facts"))
        self._cloud.add_hosts(int(facts.get(_HOSTS, 0)))
        now = {_HOSTS: self._cloud.host_count, _TRAITS: self._cloud.trait_count}
        db.executemany(
            "INSERT OR REPLACE INTO facts VALUES (?, ?)", [(name, str(value)) for name, value in now.items()]
        )

    def _load_objects(self, db: sqlite3.Connection) -> None:
        for kind, key, body in db.execute("SELECT kind, key, body FROM objects"):
            table = self._tables.get(kind)
            if table is None:
                LOG.warning("The sandbox's file has %s of an unknown kind %s; left alone", key, kind)
            elif body is None:
                table.drop(key)
            else:
                table.put(key, codec.decode(table.row_type, body))
