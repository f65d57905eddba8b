"""Clients that compete for the same few hosts, and the results of their requests."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
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
USUAL, DOUBLING = (5, 3, 0, 0, 3), (4, 0, 5, 5, 1)
"""How often a client creates, changes, changes twice, changes twice at once, and deletes. A quarter of the
clients change their leases twice."""

Promise = tuple[str, str]
"""The name and the end of a lease, as an answer promised them."""


def promise(lease: dict[str, Any]) -> Promise:
    return lease["name"], lease["end_date"]


@dataclass
class Tally:
    """The results of all clients."""

    answers: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    cut_off: list[str] = field(default_factory=list)
    """Requests whose connection ended without an answer, because an API was killed."""
    wrong: list[str] = field(default_factory=list)
    """Answers that no client may ever get: a 5xx other than 503, or a 503 without Retry-After."""
    doubled: Counter[str] = field(default_factory=Counter)
    """Pairs of updates of one lease that both were answered, and not both refused, by whether they were sent
    at once or one after the other."""
    checked: int = 0
    """Answers about leases that an earlier answer had promised."""
    broken: list[str] = field(default_factory=list)
    """Promised leases that did not exist or were different."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, words: str, answer: requests.Response, seconds: float) -> None:
        with self.lock:
            self.answers[f"{words} {answer.status_code}"] += 1
            self.seconds.append(seconds)
            is_right = answer.status_code < 500 or (
                answer.status_code == 503 and "Retry-After" in answer.headers
            )
            if not is_right:
                self.wrong.append(f"{words}: {answer.status_code} {answer.text[:300]}")

    def count(self, start: str = "", end: str = "") -> int:
        return sum(n for words, n in self.answers.items() if words.startswith(start) and words.endswith(end))

    def percentile(self, share: float) -> float:
        ordered = sorted(self.seconds) or [0.0]
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


class Client(threading.Thread):
    """A client that creates, changes and deletes leases at random, through any API, until it is stopped."""

    def __init__(self, site: Site, tally: Tally, number: int, stopping: threading.Event) -> None:
        super().__init__(name=f"client{number}", daemon=True)
        self._site, self._tally, self._stopping = site, tally, stopping
        self._random = random.Random(number)
        self._session = site.user(USERS[number % len(USERS)])
        self._prefix = f"lease-{number}-"
        self._weights = DOUBLING if number % 4 == 3 else USUAL
        self._made = 0
        self._mine: list[str] = []
        self._reservations: dict[str, str] = {}
        """The id of the one reservation of each lease."""
        self._undeleted: list[str] = []
        """Leases whose deletion failed with 503 or without an answer; it is repeated."""
        self._deleted: set[str] = set()
        self._is_unsure = False
        """Whether a lost answer may have created a lease."""
        self.promised: dict[str, Promise | None] = {}
        """The promise for each lease that exists and was not deleted; None where an answer was lost."""
        self.gone: set[str] = set()
        """Leases whose deletion was answered with success."""

    def run(self) -> None:
        while not self._stopping.is_set():
            # All clients together send about ten requests a second, so that leases live for a while.
            self._stopping.wait(self._random.uniform(0.1, 0.8))
            if self._is_unsure:
                self._look_for_mine()
            self._act()

    def _act(self) -> None:
        acts = (self._create, self._update, self._update_twice, self._update_at_once, self._delete)
        self._random.choices(acts, self._weights)[0]()

    def _create(self) -> None:
        self._made += 1
        answer = self._ask("POST", "/leases", "create", json=self._wish())
        if answer is None or answer.status_code >= 500:
            self._is_unsure = True
        elif answer.status_code == 201:
            self._take(answer.json()["lease"])

    def _wish(self) -> dict[str, Any]:
        begins_in = self._random.choice((0, 0, 1, 2, 3))
        return {
            "name": f"{self._prefix}{self._made}",
            "start_date": "now" if begins_in == 0 else in_minutes(begins_in),
            "end_date": in_minutes(begins_in + self._random.randint(2, 4)),
            "reservations": [{**RESERVATION, "min": 1, "max": self._random.randint(1, 2)}],
            "events": [],
        }

    def _take(self, lease: dict[str, Any]) -> None:
        self._mine.append(lease["id"])
        self._reservations[lease["id"]] = lease["reservations"][0]["id"]
        self.promised[lease["id"]] = promise(lease)

    def _look_for_mine(self) -> None:
        """Look for leases that were created although no answer came."""
        answer = self._ask("GET", "/leases", "list")
        if answer is not None and answer.status_code == 200:
            self._is_unsure = False
            for lease in answer.json()["leases"]:
                if lease["name"].startswith(self._prefix) and lease["id"] not in {
                    *self._mine,
                    *self._deleted,
                }:
                    self._take(lease)

    def _update(self) -> None:
        if self._mine:
            lease_id = self._random.choice(self._mine)
            self._learn(lease_id, self._put(lease_id, self._change(lease_id)))

    def _update_twice(self) -> None:
        """Change a lease, and again as soon as that is answered: the second change is the one that stays."""
        if self._mine:
            lease_id = self._random.choice(self._mine)
            answers = [self._put(lease_id, self._change(lease_id)) for _ in range(2)]
            for answer in answers:
                self._learn(lease_id, answer)
            self._note_doubled("one after the other", answers)

    def _update_at_once(self) -> None:
        """Send two changes of a lease at once. The lease becomes what the later one answered."""
        if not self._mine:
            return
        lease_id = self._random.choice(self._mine)
        bodies = [self._change(lease_id) for _ in range(2)]
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda body: self._put(lease_id, body), bodies))
        self._note_doubled("at once", answers)
        if any(answer is None or answer.status_code >= 500 for answer in answers):
            self.promised[lease_id] = None
        if not self.promised[lease_id]:
            return
        answered = {promise(answer.json()["lease"]) for answer in answers if answer is not None and answer.ok}
        found = self._ask_about(lease_id, "GET", "show")
        if found is None or not found.ok:
            self.promised[lease_id] = None
            return
        self.promised[lease_id] = promise(found.json()["lease"])
        if answered and self.promised[lease_id] not in answered:
            with self._tally.lock:
                self._tally.broken.append(f"{answered} became {self.promised[lease_id]}")

    def _note_doubled(self, words: str, answers: Sequence[requests.Response | None]) -> None:
        codes = [answer.status_code if answer is not None else 503 for answer in answers]
        if max(codes) < 500 and min(codes) == 200:
            with self._tally.lock:
                self._tally.doubled[words] += 1

    def _change(self, lease_id: str) -> dict[str, Any]:
        draw = self._random.random()
        if draw < 0.3:
            return {"name": f"renamed-{self._random.randint(0, 99)}"}
        if draw < 0.5:
            most = self._random.randint(1, 3)
            return {"reservations": [{"id": self._reservations[lease_id], "min": 1, "max": most}]}
        return {"end_date": in_minutes(self._random.randint(2, 5))}

    def _put(self, lease_id: str, body: dict[str, Any]) -> requests.Response | None:
        return self._ask_about(lease_id, "PUT", "update", json=body)

    def _learn(self, lease_id: str, answer: requests.Response | None) -> None:
        """Keep what the answer to an update promises."""
        if answer is None or answer.status_code >= 500:
            self.promised[lease_id] = None
        elif answer.ok and self.promised[lease_id]:
            self.promised[lease_id] = promise(answer.json()["lease"])

    def _delete(self) -> None:
        if self._undeleted:
            lease_id = self._undeleted.pop()
            answer = self._ask("DELETE", f"/leases/{lease_id}", "delete")
        elif self._mine:
            lease_id = self._mine.pop(self._random.randrange(len(self._mine)))
            self._deleted.add(lease_id)
            del self.promised[lease_id]
            answer = self._ask_about(lease_id, "DELETE", "delete")
        else:
            return
        if answer is None or answer.status_code >= 500:
            self._undeleted.append(lease_id)
        elif answer.ok:
            self.gone.add(lease_id)

    def _ask_about(self, lease_id: str, method: str, words: str, **more: Any) -> requests.Response | None:
        """Send a request about a lease that was never deleted, so that 404 is a broken promise."""
        answer = self._ask(method, f"/leases/{lease_id}", words, **more)
        if answer is not None and answer.status_code < 500:
            with self._tally.lock:
                self._tally.checked += 1
                if answer.status_code == 404:
                    self._tally.broken.append(f"{words}: there is no lease {lease_id}")
        return answer

    def _ask(self, method: str, path: str, words: str, **more: Any) -> requests.Response | None:
        began = time.monotonic()
        try:
            with self._site.balanced(self._random) as url:
                answer = self._session.request(method, f"{url}/v1{path}", timeout=90, **more)
        except requests.RequestException as failure:
            with self._tally.lock:
                self._tally.cut_off.append(f"{words} at {url}: {failure!r}")
            return None
        self._tally.note(words, answer, time.monotonic() - began)
        return answer


def check_promises(clients: list[Client], leases: list[dict[str, Any]], tally: Tally) -> None:
    """Compare the leases with what the answers promised, and note what differs."""
    found = {lease["id"]: promise(lease) for lease in leases}
    for lease_id, promised in ((key, value) for client in clients for key, value in client.promised.items()):
        tally.checked += 1
        if lease_id not in found or promised not in (None, found[lease_id]):
            tally.broken.append(f"lease {lease_id}: {promised} became {found.get(lease_id)}")
    statuses = {lease["id"]: lease["status"] for lease in leases}
    for lease_id in (each for client in clients for each in client.gone if each in found):
        if statuses[lease_id] != "DELETING":
            tally.broken.append(f"lease {lease_id} was deleted and is {statuses[lease_id]}")


def in_minutes(ahead: float) -> str:
    moment = datetime.now(UTC) + timedelta(minutes=ahead)  # noqa: TID251 - clients read their own clocks
    return moment.strftime("%Y-%m-%d %H:%M")
