"""What do the official command line clients print, and how do they fail?"""

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

from labtests import lanes
from labtests.reservations import FINAL, Json
from labtests.waiting import text, until

BOOT_SECONDS = 90
LEASE = ("reservation", "lease")
SERVER = ("server", "create", "--image", "dummy", "--nic", "none")


class CommandFailed(Exception):
    """A command ended with an error; the text is what it said."""


class Program:
    """`openstack` of a virtual environment: each command in a fork of one process, which has imported everything.

    Threads may share it; their commands wait for one another."""

    def __init__(self, venv: Path, settings: Settings) -> None:
        commands = settings.repository / "client" / "compat" / "programs" / "commands.py"
        self._environment = {**os.environ, "OS_CLIENT_CONFIG_FILE": str(settings.clouds_yaml)}
        self._process = subprocess.Popen(
            [venv / "bin" / "python", commands], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._lock = threading.Lock()

    def __call__(self, *words: str) -> str:
        """Run `openstack WORDS...`; its standard output."""
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
    """One of the users in clouds.yaml at the command line."""

    def __init__(self, program: Program, cloud: str) -> None:
        self._program = program
        self._cloud = cloud

    def run(self, *words: str) -> str:
        """What a command of `openstack` prints."""
        return self._program("--os-cloud", self._cloud, *words)

    def json(self, *words: str) -> Any:
        """The same, as the data that `-f json` gives."""
        printed = self.run(*words, "-f", "json")
        # some commands print a sentence before the data
        begin = min((i for i in (printed.find("{"), printed.find("[")) if i >= 0), default=0)
        return json.loads(printed[begin:])

    def create(self, name: str, *reservations: Json, end: int, start: int | None = None) -> Json:
        """Ask for a lease of all of these, from now on if no start is given."""
        dates = ("--end-date", text(end), *(() if start is None else ("--start-date", text(start))))
        asked = (word for reservation in reservations for word in ("--reservation", in_words(reservation)))
        return _parsed(self.json(*LEASE, "create", name, *dates, *asked))

    def lease(self, name: str) -> Json:
        return _parsed(self.json(*LEASE, "show", name))

    def await_status(self, name: str, wanted: str, seconds: float) -> Json:
        """Wait for a status; a lease that ends up in another final one fails at once, with its content."""

        def reached() -> Json | None:
            lease = self.lease(name)
            assert lease["status"] == wanted or lease["status"] not in FINAL, lease
            return lease if lease["status"] == wanted else None

        return until(f"lease {name} {wanted}", seconds, reached)

    def change(self, name: str, *words: str) -> None:
        self.run(*LEASE, "set", name, *words)

    def change_reservation(self, name: str, reservation: Json, **parameters: Any) -> None:
        """Ask for other parameters of one reservation."""
        self.change(name, "--reservation", in_words({"id": reservation["id"], **parameters}))

    def delete(self, name: str) -> None:
        self.run(*LEASE, "delete", name)

    def await_gone(self, name: str, seconds: float) -> None:
        """Wait until a lease is no more; a delete that goes on in the background is allowed to."""
        until(f"lease {name} gone", seconds, lambda: name not in self.run(*LEASE, "list"))

    def hosts_of(self, reservation_id: str) -> list[str]:
        """Ids of the hosts that serve a reservation; for administrators."""
        listed = self.json("reservation", "allocation", "list", "host", "--reservation-id", reservation_id)
        return [each["resource_id"] for each in listed if reservation_id in str(each["reservations"])]

    def boot(self, *words: str) -> Json:
        """Ask for a server of a name of its own; it as it is when it is ACTIVE, or refused."""
        made = self.json(*SERVER, *words, f"{lanes.PREFIX}{uuid.uuid4().hex[:8]}")

        def settled() -> Json | None:
            server: Json = self.json("server", "show", made["id"])
            return server if server["status"] in ("ACTIVE", "ERROR") else None

        return until("the server's fate", BOOT_SECONDS, settled)


def in_words(reservation: Json) -> str:
    """A reservation as the command line takes it."""
    return ",".join(f"{name}={_written(value)}" for name, value in reservation.items() if value != "")


def _written(value: Any) -> str:
    return json.dumps(value) if isinstance(value, list) else str(value)


def _parsed(lease: Json) -> Json:
    """The lease with its reservations as data: the client prints one text of them all, each in JSON."""
    return {**lease, "reservations": list(_values(lease["reservations"]))}


def _values(printed: str) -> Iterator[Json]:
    decoder = json.JSONDecoder()
    while printed := printed.strip():
        value, end = decoder.raw_decode(printed)
        yield value
        printed = printed[end:]
