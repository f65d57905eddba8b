"""What takes long to make, made by the first of pytest's workers that needs it and used by all of them."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Hold this lock file: the tests run in several processes."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Shared:
    """A folder that all workers of a run have in common."""

    def __init__(self, factory: pytest.TempPathFactory, config: pytest.Config) -> None:
        base = factory.getbasetemp()
        self._folder = base.parent if hasattr(config, "workerinput") else base

    def made(self, name: str, make: Callable[[Path], object]) -> Path:
        """Return the path of this name, which ``make`` has filled once; if it fails, the next one tries."""
        path, done = self._folder / name, self._folder / f"{name}.done"
        with alone(self._folder / f"{name}.lock"):
            if not done.exists():
                make(path)
                done.touch()
        return path
