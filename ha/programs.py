"""Programs as operators run them: started, killed, suspended and stopped, each with its own log."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .logs import defects, told_about

BIN = Path(sys.executable).parent
HOST = "127.0.0.1"
LOGS = Path(os.environ.get("HA_LOGS", Path(__file__).parent.parent / "var" / "ha"))
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")


def new_folder(name: str) -> Path:
    """Make an empty folder for what a part of the suite writes; it stays until the next run."""
    folder = LOGS / WORKER / re.sub(r"[^a-z]+", "-", name).strip("-")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def as_user(name: str | None) -> dict[str, Any]:
    """Return the arguments of subprocess that run a program as this user; None is the current user."""
    return {} if name is None else {"user": name, "group": name, "extra_groups": []}


def eventually(what: str, condition: Callable[[], Any], patience: float = 60) -> Any:
    """Repeat ``condition`` until it returns a true value, and return that; exceptions count as false."""
    deadline = time.monotonic() + patience
    last: BaseException | None = None
    while time.monotonic() < deadline:
        try:
            if value := condition():
                return value
        except Exception as failure:  # noqa: BLE001 - a service that is down fails in many ways
            last = failure
        time.sleep(0.1)
    raise AssertionError(f"{what} did not happen within {patience} s; last: {last!r}")


def children_of(pid: int) -> list[int]:
    """Return the ids of the children of a process, whichever of its threads has begun them."""
    return [
        int(each)
        for thread in Path(f"/proc/{pid}/task").iterdir()
        for each in (thread / "children").read_text().split()
    ]


class Program:
    """A program in its own process group: killing it kills its children as well, as a power cut would."""

    def __init__(
        self,
        name: str,
        words: Sequence[object],
        folder: Path,
        env: dict[str, str] | None = None,
        user: str | None = None,
    ) -> None:
        self.name = name
        self._user = as_user(user)
        self._words = [str(word) for word in words]
        self._log = folder / f"{name}.log"
        self._env = {**os.environ, **(env or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Program:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._words, stdout=log, stderr=log, env=self._env, start_new_session=True, **self._user
            )
        return self

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def children(self) -> list[int]:
        assert self._process
        return children_of(self._process.pid)

    def processes(self) -> list[int]:
        """Return the ids of the program and of its children."""
        assert self._process
        return [self._process.pid, *self.children()]

    def cpu_seconds(self) -> float:
        """Return the seconds of processor time that the program and its process group have used."""
        ticks = sum(int(fields[11]) + int(fields[12]) for fields in self._group())
        return ticks / os.sysconf("SC_CLK_TCK")

    def _group(self) -> Iterator[list[str]]:
        """Yield the state and the numbers that /proc/PID/stat has of each process of the group, after its
        name."""
        assert self._process
        for place in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                fields = place.read_text().rpartition(")")[2].split()
                if int(fields[2]) == self._process.pid:
                    yield fields

    def send(self, number: int) -> None:
        """Send a signal to the program and its children."""
        assert self._process
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def kill(self) -> None:
        if self._process is None:
            return
        self.send(signal.SIGKILL)
        self._process.wait(10)
        # A child that dies a moment later still listens on the port.
        eventually(f"the end of {self.name}", lambda: all(fields[0] == "Z" for fields in self._group()))

    def tell(self, number: int) -> None:
        """Send a signal to the program only, as an operator or systemd does."""
        assert self._process
        self._process.send_signal(number)

    def wait(self, patience: float) -> int:
        assert self._process
        return self._process.wait(patience)

    def stop(self, patience: float = 30) -> int:
        """Send SIGTERM, and return the exit code."""
        self.tell(signal.SIGTERM)
        try:
            return self.wait(patience)
        finally:
            self.kill()

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def told_about(self, answers: Sequence[str]) -> str:
        """Return what the log tells of the requests that failed with these answers."""
        return told_about(self.log, answers)

    @property
    def defects(self) -> list[str]:
        """Return the lines of the log about unexpected failures."""
        return defects(self.log)
