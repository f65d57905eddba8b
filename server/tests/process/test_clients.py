"""Eight clients create and delete over HTTP for a while: no double booking, no 5xx, no leftover."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from itertools import combinations

import effort

from .conftest import Session, Standalone, eventually
from .test_standalone import HOST, in_minutes

CLIENTS = 8
HOSTS = 6
SECONDS = effort.seconds(60)
FEWEST = 3
"""Leases that each client makes, however slow the machine is."""
PATIENCE = 60
"""The most seconds that it may take longer for that."""


class Client(threading.Thread):
    """Asks for hosts in random windows, now and later, and deletes what it got, in random order."""

    def __init__(self, number: int, user: Session, until: float) -> None:
        super().__init__(daemon=True)
        self.rng = random.Random(number)
        self.user = user
        self.until = until
        self.statuses: Counter[tuple[str, int]] = Counter()
        self.mine: list[str] = []
        self.unexpected: list[str] = []

    def run(self) -> None:
        while time.monotonic() < self.until + (PATIENCE if self.statuses["POST", 201] < FEWEST else 0):
            if self.mine and self.rng.random() < 0.45:
                lease_id = self.mine.pop(self.rng.randrange(len(self.mine)))
                self._count("DELETE", self.user.call("DELETE", f"/leases/{lease_id}"), {204})
            else:
                self._create()
        for lease_id in self.mine:
            self._count("DELETE", self.user.call("DELETE", f"/leases/{lease_id}"), {204})

    def _create(self) -> None:
        begin = self.rng.choice([0, 0, self.rng.randrange(2, 120)])
        fewest = self.rng.randrange(1, 4)
        body = {
            "name": f"c{self.ident}",
            "start_date": in_minutes(begin) if begin else "now",
            "end_date": in_minutes(begin + self.rng.randrange(5, 60)),
            "reservations": [HOST | {"min": fewest, "max": fewest + self.rng.randrange(2)}],
        }
        answer = self.user.call("POST", "/leases", json=body)
        shortage = answer.status_code == 400 and answer.json()["error_message"].startswith("Not enough ")
        self._count("POST", answer, {400} if shortage else {201})
        if answer.status_code == 201:
            self.mine.append(answer.json()["lease"]["id"])

    def _count(self, method: str, answer: object, expected: set[int]) -> None:
        self.statuses[method, answer.status_code] += 1
        if answer.status_code not in expected:
            self.unexpected.append(f"{method} {answer.status_code} {answer.text[:300]}")


class Watcher(threading.Thread):
    """Looks at all allocations again and again, as an operator would, for two on one host at one time."""

    def __init__(self, admin: Session, until: float) -> None:
        super().__init__(daemon=True)
        self.admin = admin
        self.until = until
        self.looks = 0
        self.double: list[object] = []

    def run(self) -> None:
        while time.monotonic() < self.until and not self.double:
            answer = self.admin.call("GET", "/os-hosts/allocations")
            for host in answer.json()["allocations"]:
                for one, other in combinations(host["reservations"], 2):
                    if one["start_date"] < other["end_date"] and other["start_date"] < one["end_date"]:
                        self.double.append((host["resource_id"], one, other))
            self.looks += 1


def test_eight_clients_at_once(tmp_path):
    service = Standalone(tmp_path / "var", hosts=HOSTS).start()
    try:
        admin = service.user("admin")
        # Keystone is asked about eight tokens at once, [api] token_checks_at_once: this would be the ninth.
        assert admin.call("GET", "/leases").status_code == 200
        until = time.monotonic() + SECONDS
        clients = [Client(n, service.user(("demo", "alt")[n % 2]), until) for n in range(CLIENTS)]
        watcher = Watcher(admin, until)
        for thread in (*clients, watcher):
            thread.start()
        for thread in (*clients, watcher):
            thread.join()
        statuses = sum((client.statuses for client in clients), Counter())
        print(dict(statuses), f"{watcher.looks} looks")
        assert not [line for client in clients for line in client.unexpected]
        assert not watcher.double
        assert statuses["POST", 201] > 20
        assert statuses["POST", 400] > 0
        eventually(lambda: admin.call("GET", "/leases").json()["leases"] == [], patience=60)
        aggregates = admin.compute("GET", "/os-aggregates").json()["aggregates"]
        assert [a["name"] for a in aggregates] == ["freepool"]
        assert len(aggregates[0]["hosts"]) == HOSTS - 2
    finally:
        service.close()
