"""Sixteen people who want the same few hosts, and what each of their requests came to."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import requests

from .site import USERS, Site

RESERVATION = {
    "resource_type": "physical:host",
    "hypervisor_properties": "",
    "resource_properties": "",
    "before_end": "default",
}


Promise = tuple[str, str]
"""What a lease is called and when it ends."""


def promise(lease: dict[str, Any]) -> Promise:
    return lease["name"], lease["end_date"]


@dataclass
class Tally:
    """What happened, from all clients."""

    answers: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    cut_off: int = 0
    """Requests whose connection ended without an answer: an API was killed."""
    wrong: list[str] = field(default_factory=list)
    """Answers that nobody may ever get: a 5xx but 503, or a 503 that does not say when to come back."""
    looks: int = 0
    """Answers about leases that were promised in an earlier answer."""
    broken: list[str] = field(default_factory=list)
    """Such leases that were not there."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, words: str, answer: requests.Response, seconds: float) -> None:
        with self.lock:
            self.answers[f"{words} {answer.status_code}"] += 1
            self.seconds.append(seconds)
            is_right = answer.status_code < 500 or (answer.status_code == 503 and "Retry-After" in answer.headers)
            if not is_right:
                self.wrong.append(f"{words}: {answer.status_code} {answer.text[:300]}")

    def count(self, start: str = "", end: str = "") -> int:
        return sum(n for words, n in self.answers.items() if words.startswith(start) and words.endswith(end))

    def percentile(self, share: float) -> float:
        ordered = sorted(self.seconds) or [0.0]
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


class Client(threading.Thread):
    """Creates, changes and deletes leases at random, at any of the APIs, until it is told to stop."""

    def __init__(self, site: Site, tally: Tally, number: int, stopping: threading.Event) -> None:
        super().__init__(name=f"client{number}", daemon=True)
        self._site, self._tally, self._stopping = site, tally, stopping
        self._random = random.Random(number)
        self._session = site.user(USERS[number % len(USERS)])
        self._prefix = f"lease-{number}-"
        self._made = 0
        self._mine: list[str] = []
        self._doomed: list[str] = []
        """Leases whose deletion was not answered, or with 503: it is asked for again."""
        self._deleted: set[str] = set()
        self._is_unsure = False
        """Whether there may be a lease of ours that we were not told of."""
        self.promised: dict[str, Promise | None] = {}
        """What must be found of each lease that was made and that nobody asked to delete; None where an answer was lost."""

    def run(self) -> None:
        while not self._stopping.is_set():
            # About ten requests a second from all clients together when all goes well: leases live for a while.
            self._stopping.wait(self._random.uniform(0.1, 0.8))
            if self._is_unsure:
                self._look_for_mine()
            act = self._random.choices((self._create, self._update, self._delete), (5, 3, 3))[0]
            act()

    def _create(self) -> None:
        self._made += 1
        begins_in = self._random.choice((0, 0, 1, 2, 3))
        body = {
            "name": f"{self._prefix}{self._made}",
            "start_date": "now" if begins_in == 0 else in_minutes(begins_in),
            "end_date": in_minutes(begins_in + self._random.randint(2, 4)),
            "reservations": [{**RESERVATION, "min": 1, "max": self._random.randint(1, 2)}],
            "events": [],
        }
        answer = self._ask("POST", "/leases", "create", json=body)
        if answer is None or answer.status_code >= 500:
            self._is_unsure = True
        elif answer.status_code == 201:
            self._take(answer.json()["lease"])

    def _take(self, lease: dict[str, Any]) -> None:
        self._mine.append(lease["id"])
        self.promised[lease["id"]] = promise(lease)

    def _look_for_mine(self) -> None:
        """What anybody does who got no answer: look whether the lease is there."""
        answer = self._ask("GET", "/leases", "list")
        if answer is not None and answer.status_code == 200:
            self._is_unsure = False
            for lease in answer.json()["leases"]:
                if lease["name"].startswith(self._prefix) and lease["id"] not in {*self._mine, *self._deleted}:
                    self._take(lease)

    def _update(self) -> None:
        if not self._mine:
            return
        lease_id = self._random.choice(self._mine)
        body: dict[str, Any] = {"end_date": in_minutes(self._random.randint(2, 5))}
        if self._random.random() < 0.3:
            body = {"name": f"renamed-{self._random.randint(0, 99)}"}
        answer = self._ask_about(lease_id, "PUT", "update", json=body)
        if answer is None or answer.status_code >= 500:
            self.promised[lease_id] = None
        elif answer.ok and self.promised[lease_id]:
            self.promised[lease_id] = promise(answer.json()["lease"])

    def _delete(self) -> None:
        if self._doomed:
            lease_id = self._doomed.pop()
            answer = self._ask("DELETE", f"/leases/{lease_id}", "delete")
        elif self._mine:
            lease_id = self._mine.pop(self._random.randrange(len(self._mine)))
            self._deleted.add(lease_id)
            del self.promised[lease_id]
            answer = self._ask_about(lease_id, "DELETE", "delete")
        else:
            return
        if answer is None or answer.status_code >= 500:
            self._doomed.append(lease_id)

    def _ask_about(self, lease_id: str, method: str, words: str, **more: Any) -> requests.Response | None:
        """A request about a lease that we have and that nobody was asked to delete before: it must be there."""
        answer = self._ask(method, f"/leases/{lease_id}", words, **more)
        if answer is not None and answer.status_code < 500:
            with self._tally.lock:
                self._tally.looks += 1
                if answer.status_code == 404:
                    self._tally.broken.append(f"{words}: there is no lease {lease_id}")
        return answer

    def _ask(self, method: str, path: str, words: str, **more: Any) -> requests.Response | None:
        url = self._random.choice(self._site.urls)
        began = time.monotonic()
        try:
            answer = self._session.request(method, f"{url}/v1{path}", timeout=90, **more)
        except requests.RequestException:
            with self._tally.lock:
                self._tally.cut_off += 1
            return None
        self._tally.note(words, answer, time.monotonic() - began)
        return answer


def in_minutes(ahead: float) -> str:
    moment = datetime.now(UTC) + timedelta(minutes=ahead)  # noqa: TID251 - clients read their own clocks
    return moment.strftime("%Y-%m-%d %H:%M")
