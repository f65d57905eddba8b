"""blazar-db-manage archive: move leases that were over long ago into a file."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from io import FileIO
from pathlib import Path

from blazar.domain.lease.lease import Lease
from blazar.service.documents import DateFormats, lease_document
from blazar.service.ports.kind import Kinds
from blazar.service.retention import Keep

HELP = "move leases that were over long ago into a file, one a line, as JSON"
READABLE_BY_OWNER = 0o600


class NotArchived(Exception):
    """The file cannot be written; the message says why. What was not written is still in the database."""


@contextmanager
def archive_file(path: Path, kinds: Kinds) -> Iterator[Keep]:
    """Open the file, to append to it. Return a function that has leases on the disk when it returns.

    Raises NotArchived, also from that function."""
    with _told(path), FileIO(_open(path), "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _end_last_line(path, file)
        _sync(path.parent)

        def keep(leases: Sequence[Lease]) -> None:
            text = "".join(f"{_line(lease, kinds)}\n" for lease in leases)
            _write(file, text.encode("ascii"))

        yield keep


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except BlockingIOError as error:
        raise NotArchived(f"{path}: another archive is being written there.") from error
    except OSError as error:
        raise NotArchived(f"{path}: {error.strerror}") from error


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, READABLE_BY_OWNER)


def _end_last_line(path: Path, file: FileIO) -> None:
    """End a line whose writing was cut off: what it would have said is said again."""
    size = path.stat().st_size
    if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
        _write(file, b"\n")


def _write(file: FileIO, content: bytes) -> None:
    while content:
        content = content[file.write(content) :]
    os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Have a new file's name on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _line(lease: Lease, kinds: Kinds) -> str:
    return json.dumps(lease_document(lease, kinds, DateFormats(datetime.isoformat, _stamp)))


def _stamp(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
