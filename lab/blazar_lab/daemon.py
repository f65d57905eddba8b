"""Starting, finding and stopping the long-running processes of the lab."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from blazar_lab.console import LabError, say
from blazar_lab.settings import HOST

TERMINATION_SECONDS = 15.0
# requests to this machine must not go through a proxy
NO_PROXY = {"no_proxy": "127.0.0.1,localhost", "NO_PROXY": "127.0.0.1,localhost"}


@dataclass(frozen=True)
class Daemon:
    """A long-running program: its command line, and the port that it listens on, if any."""

    name: str
    command: tuple[str, ...]
    port: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Process:
    """A running process as /proc describes it.

    The start time distinguishes it from a later process with the same id."""

    pid: int
    started: int
    state: str

    @property
    def frozen(self) -> bool:
        return self.state == "T"


def process(pid: int) -> Process | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else Process(pid, started=int(fields[19]), state=fields[0])


def started_at(found: Process) -> float:
    """Return when the process was started, in seconds since the epoch."""
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    return time.time() - uptime + found.started / os.sysconf("SC_CLK_TCK")


class Supervisor:
    """Starts and stops daemons; a file for each daemon in ``run`` records its process."""

    def __init__(self, run: Path, log: Path) -> None:
        self.run = run
        self.log = log

    def running(self, name: str) -> Process | None:
        path = self._record(name)
        if not path.exists():
            return None
        record = json.loads(path.read_text())
        found = process(record["pid"])
        return found if found and found.started == record["started"] else None

    def names(self) -> list[str]:
        return sorted(path.stem for path in self.run.glob("*.json"))

    def start(self, daemon: Daemon) -> bool:
        """Start a daemon unless it runs; tell whether it was started."""
        if self.running(daemon.name):
            return False
        if daemon.port and is_listening(daemon.port):
            raise LabError(
                f"{daemon.name} needs port {daemon.port} on {HOST}, where another program listens; "
                "stop that one or choose other ports with LAB_PORT_BASE."
            )
        with self.log_path(daemon.name).open("ab") as output:
            child = subprocess.Popen(
                daemon.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **NO_PROXY, **daemon.environment},
                start_new_session=True,
                cwd=self.run,
            )
        # The process outlives this object: without a return code, Popen would warn that it is still running.
        child.returncode = 0
        found = process(child.pid)
        if found is None:
            raise LabError(f"{daemon.name} ended at its start: {self.last_log_line(daemon.name)}")
        self._record(daemon.name).write_text(json.dumps({"pid": child.pid, "started": found.started}))
        return True

    def stop(self, names: Iterable[str]) -> list[str]:
        """Stop the daemons together, with SIGTERM and later SIGKILL; return those that were running."""
        stopping = {name: found for name in names if (found := self.running(name))}
        for found in stopping.values():
            _signal_group(found.pid, signal.SIGTERM)
            _signal_group(found.pid, signal.SIGCONT)
        deadline = time.monotonic() + TERMINATION_SECONDS
        while time.monotonic() < deadline and any(self.running(name) for name in stopping):
            time.sleep(0.1)
        for found in stopping.values():
            # also reaches children that outlived their parent: every daemon has its own process group
            _signal_group(found.pid, signal.SIGKILL)
        for name in names:
            self._record(name).unlink(missing_ok=True)
        return list(stopping)

    def wait(
        self,
        names: Iterable[str],
        ready: Callable[[str], bool],
        seconds: float,
        daemon: Callable[[str], Daemon] | None = None,
    ) -> None:
        """Wait until all are ready. One that has ended is started again once, if ``daemon`` tells how."""
        missing = set(names)
        again: set[str] = set()
        deadline = time.monotonic() + seconds
        while missing:
            missing = {name for name in missing if not ready(name)}
            for name in missing:
                if not self.running(name):
                    if daemon is None or name in again:
                        raise LabError(f"{name} ended at its start: {self.last_log_line(name)}")
                    again.add(name)
                    say(f"{name} ended at its start, and is started again: {self.last_log_line(name)}")
                    self.start(daemon(name))
            if missing and time.monotonic() > deadline:
                name = sorted(missing)[0]
                raise LabError(f"{name} was not ready after {seconds:.0f} s: {self.last_log_line(name)}")
            if missing:
                time.sleep(0.2)

    def log_path(self, name: str) -> Path:
        return self.log / f"{name}.log"

    def last_log_line(self, name: str) -> str:
        path = self.log_path(name)
        lines = path.read_text(errors="replace").strip().splitlines() if path.exists() else []
        return f"{lines[-1] if lines else 'its log is empty'} (see {path})"

    def _record(self, name: str) -> Path:
        return self.run / f"{name}.json"


def _signal_group(pid: int, number: signal.Signals) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0
