"""The programs as operators run them: started, killed, suspended, stopped; each with a log of its own."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
HOST = "127.0.0.1"
LOGS = Path(os.environ.get("HA_LOGS", Path(__file__).parent.parent / "var" / "ha"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def new_folder(name: str) -> Path:
    """A folder for what a part of the suite writes; it stays until the next run."""
    folder = LOGS / re.sub(r"[^a-z]+", "-", name).strip("-")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def as_user(name: str | None) -> dict[str, Any]:
    """What subprocess is to be told so that a program runs as this user; None is ourselves."""
    return {} if name is None else {"user": name, "group": name, "extra_groups": []}


def eventually(what: str, condition: Callable[[], Any], patience: float = 30) -> Any:
    """The first true value of ``condition``; whatever it raises meanwhile counts as false."""
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


class Program:
    """One program in a process group of its own: killing it kills its children as well, as a machine that dies would."""

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
        return list(map(int, Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()))

    def send(self, number: int) -> None:
        """A signal to the program and its children."""
        assert self._process
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def kill(self) -> None:
        if self._process is None:
            return
        self.send(signal.SIGKILL)
        self._process.wait(10)

    def tell(self, number: int) -> None:
        """A signal to the program itself, as an operator or systemd sends it."""
        assert self._process
        self._process.send_signal(number)

    def wait(self, patience: float) -> int:
        assert self._process
        return self._process.wait(patience)

    def stop(self, patience: float = 30) -> int:
        """SIGTERM; gives the exit code."""
        self.tell(signal.SIGTERM)
        try:
            return self.wait(patience)
        finally:
            self.kill()

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    @property
    def defects(self) -> list[str]:
        """Lines of the log about what nobody foresaw."""
        return [line for line in self.log.splitlines() if "failed unexpectedly" in line or "Traceback" in line]
