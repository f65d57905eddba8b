"""Processes on free ports, with folders of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from free_ports import free_port

PROGRAM = Path(sys.executable).parent / "blazar-standalone"
PATIENCE = 180


class Standalone:
    """One blazar-standalone; ``start`` again after ``stop`` or ``kill`` is the next day with the same
    folder."""

    def __init__(
        self, var: Path, hosts: int = 8, more: Sequence[object] = (), env: Mapping[str, str] | None = None
    ) -> None:
        self.more = more
        self.env = env
        self.var = var
        self.hosts = hosts
        self.port, self.cloud_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[str] | None = None
        self.output: list[str] = []
        self._sessions: list[Session] = []

    def start(self) -> Standalone:
        words = [
            PROGRAM,
            "--port",
            self.port,
            "--cloud-port",
            self.cloud_port,
            "--hosts",
            self.hosts,
            "--var",
            self.var,
            *self.more,
        ]
        self.process = subprocess.Popen(
            [str(word) for word in words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.env and {**os.environ, **self.env},
        )
        ready = threading.Event()
        self._reader = threading.Thread(target=self._read, args=(ready,), daemon=True)
        self._reader.start()
        if not ready.wait(PATIENCE):
            raise AssertionError("".join(self.output))
        return self

    def _read(self, ready: threading.Event) -> None:
        assert self.process and self.process.stdout
        with self.process.stdout as lines:
            for line in lines:
                self.output.append(line)
                if line.startswith("Blazar is ready"):
                    ready.set()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send the signal and give the exit code."""
        assert self.process
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    def close(self) -> None:
        if self.process and self.process.poll() is None:
            self.kill()
        for session in self._sessions:
            session.close()

    def user(self, name: str) -> Session:
        clouds = yaml.safe_load((self.var / "clouds.yaml").read_text())["clouds"]
        self._sessions.append(Session(self, clouds[f"sandbox-{name}"]["auth"]))
        return self._sessions[-1]


class Session(requests.Session):
    """A user with a token, on the reservation API and on the compute API."""

    def __init__(self, service: Standalone, auth: dict[str, str]) -> None:
        super().__init__()
        self._service = service
        answer = self.post(f"{auth['auth_url']}/auth/tokens", json=_login(auth))
        answer.raise_for_status()
        self.headers["X-Auth-Token"] = answer.headers["X-Subject-Token"]

    def call(self, method: str, path: str, **kwargs: Any) -> requests.Response:
        return self.request(method, f"{self._service.url}/v1{path}", timeout=PATIENCE, **kwargs)

    def compute(self, method: str, path: str, **kwargs: Any) -> requests.Response:
        url = f"http://127.0.0.1:{self._service.cloud_port}/compute/v2.1{path}"
        return self.request(method, url, timeout=PATIENCE, **kwargs)

    def lease(self, lease_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.call("GET", f"/leases/{lease_id}").json()["lease"]
        return found


def _login(auth: dict[str, str]) -> dict[str, Any]:
    user = {"name": auth["username"], "domain": {"id": "default"}, "password": auth["password"]}
    project = {"name": auth["project_name"], "domain": {"id": "default"}}
    identity = {"methods": ["password"], "password": {"user": user}}
    return {"auth": {"identity": identity, "scope": {"project": project}}}


def eventually(condition: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """The first true value of ``condition``, asked again and again for ``patience`` seconds."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[Standalone]:
    service = Standalone(tmp_path / "var")
    yield service
    service.close()
