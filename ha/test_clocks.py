"""Clocks that jump an hour ahead during work, and back again.

Everything happens once, and no work waits for a time that only the wrong clocks have shown."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
import requests

from . import history
from .clients import RESERVATION, in_minutes
from .conftest import Show
from .programs import Program, eventually, new_folder
from .site import CLAIM, Site, site
from .test_storm import CloudWatcher
from .test_suspension import changes_the_cloud, claims

HOUR = 3600
SOON = 3 * CLAIM


class User:
    """A user who creates leases of two hosts."""

    def __init__(self, at: Site) -> None:
        self._site = at
        self._demo = at.user("demo")

    def ask(self, method: str, path: str = "", **more: Any) -> requests.Response:
        return self._demo.request(method, f"{self._site.urls[0]}/v1/leases{path}", timeout=90, **more)

    def create(self, name: str, end: float, start: float | None = None) -> str:
        """Create a lease, and return its id; ``start`` and ``end`` are minutes from now by a right clock."""
        body = {
            "name": name,
            "start_date": "now" if start is None else in_minutes(start),
            "end_date": in_minutes(end),
            "reservations": [{**RESERVATION, "min": 2, "max": 2}],
            "events": [],
        }
        answer = self.ask("POST", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["lease"]["id"])

    def status(self, lease_id: str) -> str:
        answer = self.ask("GET", f"/{lease_id}")
        return str(answer.json()["lease"]["status"]) if answer.ok else str(answer.status_code)

    def wait_for(self, lease_id: str, status: str, patience: float = SOON) -> float:
        """Wait for a status, and return after how many seconds the lease had it."""
        began = time.monotonic()
        eventually(status, lambda: self.status(lease_id) == status, patience)
        return time.monotonic() - began

    def delete(self, lease_id: str) -> None:
        assert self.ask("DELETE", f"/{lease_id}").status_code == 204
        self.wait_for(lease_id, "404")


@pytest.fixture(scope="module")
def whole() -> Iterator[Site]:
    with site(new_folder("clocks"), "postgresql", managers=2, apis=1, hosts=4, has_clocks=True) as built:
        for manager in built.managers:
            url = f"{built.metrics_url(manager)}/healthcheck"
            eventually("health", lambda url=url: requests.get(url, timeout=10).ok)
        yield built


@pytest.fixture
def at(whole: Site) -> Iterator[Site]:
    """Yield the site; afterwards the cloud must be clean and the history without double bookings."""
    stopping = threading.Event()
    watcher = CloudWatcher(whole, stopping)
    watcher.start()
    yield whole
    stopping.set()
    watcher.join()
    assert not watcher.shared
    assert not whole.leftovers()
    assert not history.double_bookings(whole.engine)
    assert not [line for program in (*whole.managers, *whole.apis) for line in program.defects]


@contextmanager
def slow(at: Site, seconds: float) -> Iterator[None]:
    """Slow down every change in Nova, so that a manager is caught in the middle of its work."""
    at.sandbox(
        "POST",
        "/faults",
        json={"service": "compute", "method": "POST", "effect": "delay", "seconds": seconds},
    )
    yield
    at.sandbox("DELETE", "/faults")


def changes(at: Site) -> list[str]:
    """Return the changes in the cloud since the journal was cleared, with the statuses of the answers."""
    calls = at.sandbox("GET", "/journal", params={"calls": 1})["calls"]
    words = [f"{call['service']} {call['method']} {call['template']} {call['status']}" for call in calls]
    return [each for each in words if changes_the_cloud(each)]


def busy(at: Site) -> list[Program]:
    return [manager for manager in at.managers if claims(at, manager)]


def test_an_hour_that_was_skipped_and_comes_again(at: Site, show: Show) -> None:
    user = User(at)
    ending = user.create("ends in half an hour", 30)
    user.wait_for(ending, "ACTIVE")
    following = user.create("then starts, on the same hosts", 150, start=30)
    at.sandbox("DELETE", "/journal")
    with slow(at, 1.5):
        starting = user.create("is being started", 170)
        eventually("a claim", lambda: busy(at))
        at.set_clocks(HOUR)
        jumped = time.monotonic()
    for lease_id, status in ((ending, "TERMINATED"), (starting, "ACTIVE"), (following, "ACTIVE")):
        user.wait_for(lease_id, status)
    settled = time.monotonic() - jumped
    made = [change for change in changes(at) if change == "compute POST /v2.1/os-aggregates 200"]
    at.sandbox("DELETE", "/journal")
    at.set_clocks(0)
    time.sleep(CLAIM + 3)
    repeated = changes(at)
    show(
        "All clocks jump an hour ahead in the middle of a start, and later back",
        [
            ("seconds after the jump until all that was due was done", f"{settled:.1f}"),
            ("aggregates made for the two leases that started", len(made)),
            ("changes in the cloud after the clocks were set back", len(repeated)),
        ],
    )
    assert len(made) == 2
    assert not repeated
    assert [user.status(each) for each in (ending, starting, following)] == ["TERMINATED", "ACTIVE", "ACTIVE"]
    for lease_id in (ending, starting, following):
        user.delete(lease_id)


def test_a_lease_after_the_clocks_were_set_back_starts_and_ends_on_time(at: Site, show: Show) -> None:
    user = User(at)
    at.set_clocks(HOUR)
    user.delete(user.create("an hour ahead", 170))
    # The clock is set to ten seconds before the end of a minute, so that the test need not wait for it.
    ahead = (50 - datetime.now(UTC).second) % 60  # noqa: TID251 - the test's own clock
    at.set_clocks(ahead)
    end = time.monotonic() + 10
    lease_id = user.create("ends with this minute", ahead / 60 + 1)
    started = user.wait_for(lease_id, "ACTIVE")
    user.wait_for(lease_id, "TERMINATED")
    late = time.monotonic() - end
    show(
        "A lease after the clocks were set back by an hour",
        [
            ("seconds until it was ACTIVE", f"{started:.1f}"),
            ("seconds from its end until TERMINATED", f"{late:.1f}"),
        ],
    )
    assert started < CLAIM
    assert -1 < late < CLAIM
    at.set_clocks(0)
    user.delete(lease_id)


def test_a_claim_that_reaches_far_ahead_is_void_when_its_manager_is_dead(at: Site, show: Show) -> None:
    user = User(at)
    with slow(at, 4):
        lease_id = user.create("its manager dies", 170)
        at.set_clocks(HOUR)
        reaches_far = (
            "SELECT id FROM leases WHERE claimed_until > (now() AT TIME ZONE 'UTC') + interval '30 min'"
        )
        eventually("a claim by the new time", lambda: at.select(reaches_far), 4 * CLAIM)
        holder = eventually("one manager with a claim", lambda: len(busy(at)) == 1 and busy(at)[0])
        at.set_clocks(0)
        holder.kill()
    taken_over = user.wait_for(lease_id, "ACTIVE")
    holder.start()
    show(
        "A manager dies that has a claim for an hour, for its clock was ahead",
        [("seconds until another one had finished its work", f"{taken_over:.1f}")],
    )
    user.delete(lease_id)


def test_what_was_put_off_by_clocks_that_were_ahead_is_done_when_they_are_right(at: Site, show: Show) -> None:
    user = User(at)
    lease_id = user.create("is deleted", 170)
    user.wait_for(lease_id, "ACTIVE")
    at.set_clocks(HOUR)
    at.sandbox("POST", "/faults", json={"service": "compute", "status": 503})
    assert user.ask("DELETE", f"/{lease_id}").status_code == 204
    assert user.status(lease_id) == "DELETING"
    at.set_clocks(0)
    at.sandbox("DELETE", "/faults")
    gone = user.wait_for(lease_id, "404")
    show(
        "A deletion that was asked for while all clocks were an hour ahead, and the cloud away",
        [("seconds after both until it was done", f"{gone:.1f}")],
    )
