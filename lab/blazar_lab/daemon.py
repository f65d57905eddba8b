"""Is a process that the lab started still running, and how is it started and stopped?"""

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

from blazar_lab.console import LabError
from blazar_lab.settings import HOST

TERMINATION_SECONDS = 15.0
# a proxy that serves the rest of the world must not be asked for this machine
NO_PROXY = {"no_proxy": "127.0.0.1,localhost", "NO_PROXY": "127.0.0.1,localhost"}


@dataclass(frozen=True)
class Daemon:
    """One long-running program: its command line and the port that it answers on, if any."""

    name: str
    command: tuple[str, ...]
    port: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Process:
    """What /proc says of a running process; the start time tells it from a later one with the same id."""

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
    """When the process was started, in seconds since the epoch."""
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    return time.time() - uptime + found.started / os.sysconf("SC_CLK_TCK")


class Supervisor:
    """Starts and stops daemons; one file per daemon in `run` says which process is ours."""

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
        """Start it unless it runs; say whether it was started."""
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
        # Nobody waits for it: without this Popen complains, when it is forgotten, that its process runs still.
        child.returncode = 0
        found = process(child.pid)
        if found is None:
            raise LabError(f"{daemon.name} ended at once: {self.last_words(daemon.name)}")
        self._record(daemon.name).write_text(json.dumps({"pid": child.pid, "started": found.started}))
        return True

    def stop(self, names: Iterable[str]) -> list[str]:
        """End the named daemons, all at once, politely first; return those that were running."""
        victims = {name: found for name in names if (found := self.running(name))}
        for found in victims.values():
            _signal_group(found.pid, signal.SIGTERM)
            _signal_group(found.pid, signal.SIGCONT)
        deadline = time.monotonic() + TERMINATION_SECONDS
        while time.monotonic() < deadline and any(self.running(name) for name in victims):
            time.sleep(0.1)
        for found in victims.values():
            # also reaches workers that outlived their parent: every daemon leads a group of its own
            _signal_group(found.pid, signal.SIGKILL)
        for name in names:
            self._record(name).unlink(missing_ok=True)
        return list(victims)

    def wait(self, names: Iterable[str], ready: Callable[[str], bool], seconds: float) -> None:
        """Wait until all are ready; fail early when one of them has ended."""
        missing = set(names)
        deadline = time.monotonic() + seconds
        while missing:
            missing = {name for name in missing if not ready(name)}
            for name in missing:
                if not self.running(name):
                    raise LabError(f"{name} ended at its start: {self.last_words(name)}")
            if missing and time.monotonic() > deadline:
                name = sorted(missing)[0]
                raise LabError(f"{name} was not ready after {seconds:.0f} s: {self.last_words(name)}")
            if missing:
                time.sleep(0.2)

    def log_path(self, name: str) -> Path:
        return self.log / f"{name}.log"

    def last_words(self, name: str) -> str:
        path = self.log_path(name)
        lines = path.read_text(errors="replace").strip().splitlines() if path.exists() else []
        return f"{lines[-1] if lines else 'it said nothing'} (see {path})"

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
