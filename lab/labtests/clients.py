"""Users at the command line, with the official clients or with ours."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from blazar_lab.settings import Settings

from labtests import workers
from labtests.reservations import FINAL, Json
from labtests.waiting import text, until

BOOT_SECONDS = 90
LEASE = ("reservation", "lease")
SERVER = ("server", "create", "--image", "dummy", "--nic", "none")


class CommandFailed(Exception):
    """A command ended with an error; the message contains its output."""


class Program:
    """The ``openstack`` command of a virtual environment.

    One process imports everything once and runs each command in a fork. Threads may share a ``Program``;
    their commands wait for one another."""

    def __init__(self, venv: Path, settings: Settings) -> None:
        commands = settings.repository / "client" / "compat" / "programs" / "commands.py"
        self._environment = {**os.environ, "OS_CLIENT_CONFIG_FILE": str(settings.clouds_yaml)}
        self._process = subprocess.Popen(
            [venv / "bin" / "python", commands], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._lock = threading.Lock()

    def __call__(self, *words: str) -> str:
        """Run ``openstack WORDS...`` and return its standard output."""
        assert self._process.stdin and self._process.stdout
        with self._lock:
            self._process.stdin.write(json.dumps([["openstack", *words], self._environment]) + "\n")
            self._process.stdin.flush()
            code, output, complaints = json.loads(self._process.stdout.readline())
        if code:
            raise CommandFailed(f"{' '.join(words)}: {complaints}{output}")
        return str(output)

    def close(self) -> None:
        self._process.communicate()


class User:
    """A user of clouds.yaml at the command line."""

    def __init__(self, program: Program, cloud: str) -> None:
        self._program = program
        self._cloud = cloud

    def run(self, *words: str) -> str:
        """Run a command of ``openstack`` and return what it prints."""
        return self._program("--os-cloud", self._cloud, *words)

    def json(self, *words: str) -> Any:
        """Run a command with ``-f json`` and return the parsed data."""
        printed = self.run(*words, "-f", "json")
        # some commands print a sentence before the data
        begin = min((i for i in (printed.find("{"), printed.find("[")) if i >= 0), default=0)
        return json.loads(printed[begin:])

    def create(self, name: str, *reservations: Json, end: int, start: int | None = None) -> Json:
        """Create a lease with these reservations, which starts now unless ``start`` is given."""
        dates = ("--end-date", text(end), *(() if start is None else ("--start-date", text(start))))
        asked = (word for reservation in reservations for word in ("--reservation", in_words(reservation)))
        return _parsed(self.json(*LEASE, "create", name, *dates, *asked))

    def lease(self, name: str) -> Json:
        return _parsed(self.json(*LEASE, "show", name))

    def await_status(self, name: str, wanted: str, seconds: float) -> Json:
        """Wait for a status, and return the lease; fail at once when it reaches another final status."""

        def reached() -> Json | None:
            lease = self.lease(name)
            assert lease["status"] == wanted or lease["status"] not in FINAL, lease
            return lease if lease["status"] == wanted else None

        return until(f"lease {name} {wanted}", seconds, reached)

    def change(self, name: str, *words: str) -> None:
        self.run(*LEASE, "set", name, *words)

    def change_reservation(self, name: str, reservation: Json, **parameters: Any) -> None:
        """Change parameters of one reservation."""
        self.change(name, "--reservation", in_words({"id": reservation["id"], **parameters}))

    def delete(self, name: str) -> None:
        self.run(*LEASE, "delete", name)

    def await_gone(self, name: str, seconds: float) -> None:
        """Wait until the lease does not exist; a delete may go on in the background."""
        until(f"lease {name} gone", seconds, lambda: name not in self.run(*LEASE, "list"))

    def hosts_of(self, reservation_id: str) -> list[str]:
        """Return the ids of the hosts that serve a reservation; for administrators."""
        listed = self.json("reservation", "allocation", "list", "host", "--reservation-id", reservation_id)
        return [each["resource_id"] for each in listed if reservation_id in str(each["reservations"])]

    def boot(self, *words: str) -> Json:
        """Create a server with a unique name; return it when it is ACTIVE or in ERROR."""
        made = self.json(*SERVER, *words, f"{workers.PREFIX}{uuid.uuid4().hex[:8]}")

        def settled() -> Json | None:
            server: Json = self.json("server", "show", made["id"])
            return server if server["status"] in ("ACTIVE", "ERROR") else None

        return until("the server ACTIVE or in ERROR", BOOT_SECONDS, settled)


def in_words(reservation: Json) -> str:
    """Format a reservation as an argument of the command line."""
    return ",".join(f"{name}={_written(value)}" for name, value in reservation.items() if value != "")


def _written(value: Any) -> str:
    return json.dumps(value) if isinstance(value, list) else str(value)


def _parsed(lease: Json) -> Json:
    """Parse the reservations of a lease, which the client prints as JSON values in one text."""
    return {**lease, "reservations": list(_values(lease["reservations"]))}


def _values(printed: str) -> Iterator[Json]:
    decoder = json.JSONDecoder()
    while printed := printed.strip():
        value, end = decoder.raw_decode(printed)
        yield value
        printed = printed[end:]
