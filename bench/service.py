"""A blazar-standalone in its own process, and its users over HTTP."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

import requests
import yaml

DATES = "%Y-%m-%d %H:%M"
READY_WITHIN = 300


class Refused(RuntimeError):
    """The service answered with an error."""


class RunningService:
    """A running blazar-standalone, as a context manager."""

    def __init__(self, var: Path, port: int, cloud_port: int, hosts: int, options: str = "") -> None:
        """``options`` is the text of a further configuration file."""
        self.url = f"http://127.0.0.1:{port}/v1"
        self._var = var
        command = [
            Path(sys.executable).parent / "blazar-standalone",
            "--port",
            port,
            "--cloud-port",
            cloud_port,
        ]
        command += ["--hosts", hosts, "--var", var]
        if options:
            file = var.with_suffix(".conf")
            file.write_text(options)
            command += ["--config-file", file]
        self._command = [str(word) for word in command]
        self._sandbox = f"http://127.0.0.1:{cloud_port}/sandbox"

    def __enter__(self) -> RunningService:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        begun = time.monotonic()
        for line in self._process.stdout:
            if line.startswith("Blazar is ready"):
                self.ready_after = time.monotonic() - begun
                return self
        raise RuntimeError("blazar-standalone did not start")

    def __exit__(
        self, _type: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(30)

    def delay_calls(self, seconds: float) -> None:
        """Let the cloud answer each call so much later."""
        fault = {"effect": "delay", "seconds": seconds}
        requests.post(f"{self._sandbox}/faults", json=fault, timeout=10).raise_for_status()

    def resident_mb(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def cpu_seconds(self) -> float:
        """Return the processor time that the service has used, the sandbox cloud included."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def user(self, name: str) -> User:
        clouds = yaml.safe_load((self._var / "clouds.yaml").read_text())["clouds"]
        return User(self.url, clouds[f"sandbox-{name}"]["auth"])


class User:
    """A user who reuses one token and one connection."""

    def __init__(self, url: str, auth: dict[str, str]) -> None:
        self._url = url
        self._http = requests.Session()
        answer = self._http.post(f"{auth['auth_url']}/auth/tokens", json=_login(auth))
        answer.raise_for_status()
        self._http.headers["X-Auth-Token"] = answer.headers["X-Subject-Token"]
        token = answer.json()["token"]
        self.ids: tuple[str, str] = (token["user"]["id"], token["project"]["id"])
        """Of the user and of the project."""

    def register(self, host: str) -> None:
        self._checked(self._http.post(f"{self._url}/os-hosts", json={"name": host}))

    def hosts(self) -> list[dict[str, Any]]:
        return self._checked(self._http.get(f"{self._url}/os-hosts"))["hosts"]

    def create(self, name: str, start: datetime | str, end: datetime, **parameters: Any) -> dict[str, Any]:
        wanted = {
            "resource_type": "physical:host",
            "min": 1,
            "max": 1,
            "hypervisor_properties": "",
            "resource_properties": "",
        }
        body = {
            "name": name,
            "start_date": start if isinstance(start, str) else start.strftime(DATES),
            "end_date": end.strftime(DATES),
            "reservations": [wanted | parameters],
            "events": [],
        }
        return self._checked(self._http.post(f"{self._url}/leases", json=body))["lease"]

    def availability(self, question: dict[str, Any]) -> dict[str, Any]:
        """Ask when a lease could be had."""
        version = {"OpenStack-API-Version": "reservation 1.3"}
        answer = self._http.post(f"{self._url}/availability", json=question, headers=version)
        return self._checked(answer)["availability"]

    def timeline(self, query: dict[str, Any]) -> dict[str, Any]:
        """Ask for rows of the timeline."""
        version = {"OpenStack-API-Version": "reservation 1.10"}
        answer = self._http.get(f"{self._url}/timeline", params=query, headers=version)
        return self._checked(answer)["timeline"]

    def lease(self, lease_id: str) -> dict[str, Any]:
        return self._checked(self._http.get(f"{self._url}/leases/{lease_id}"))["lease"]

    def leases(self) -> list[dict[str, Any]]:
        return self._checked(self._http.get(f"{self._url}/leases"))["leases"]

    def read(self, path: str, version: str = "1.0") -> int:
        """Read a long answer piece by piece, and return its length in bytes."""
        asked = {"OpenStack-API-Version": f"reservation {version}"}
        with self._http.get(f"{self._url}/{path}", headers=asked, stream=True) as answer:
            if not answer.ok:
                raise Refused(f"GET {path}: {answer.status_code} {answer.text[:500]}")
            return sum(map(len, answer.iter_content(1 << 16)))

    def delete(self, lease_id: str) -> None:
        self._http.delete(f"{self._url}/leases/{lease_id}").raise_for_status()

    def _checked(self, answer: requests.Response) -> Any:
        if not answer.ok:
            raise Refused(f"{answer.request.method} {answer.url}: {answer.status_code} {answer.text[:500]}")
        return answer.json()


def _login(auth: dict[str, str]) -> dict[str, Any]:
    user = {"name": auth["username"], "domain": {"id": "default"}, "password": auth["password"]}
    project = {"name": auth["project_name"], "domain": {"id": "default"}}
    identity = {"methods": ["password"], "password": {"user": user}}
    return {"auth": {"identity": identity, "scope": {"project": project}}}


def now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - a measurement reads the machine's clock


def next_minute(slack: int) -> datetime:
    """Return the first full minute that is at least ``slack`` seconds ahead."""
    return (now() + timedelta(seconds=slack + 60)).replace(second=0, microsecond=0)


def wait_until(then: datetime) -> None:
    time.sleep(max((then - now()).total_seconds(), 0))


def moment(text: str) -> datetime:
    """Parse a date of the API's answers."""
    return datetime.fromisoformat(text.replace(" ", "T")).replace(tzinfo=UTC)
