"""SIGKILL at a numbered step of create, update, start, end and delete; another manager finishes the work.

server/tests/service tries all steps in memory; these tests try a sample of them with real processes. The
manager that dies is the only one until it is dead, so that the step is its own; then another one starts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from sqlalchemy import text

from . import history
from .clients import RESERVATION
from .conftest import Show
from .programs import BIN, eventually, new_folder
from .site import CLAIM, Site, site

SAMPLE = {"create": (2,), "update": (1,), "start": (4,), "end": (4,), "delete": (4,)}
"""The steps of each action in a short run."""
ALL = {
    "create": range(1, 3),
    "update": range(1, 3),
    "start": range(1, 9),
    "end": range(1, 9),
    "delete": range(1, 9),
}
"""The steps of each action in a long run."""
LONG = 200
"""The value of HA_SECONDS from which a run is long."""


class Story:
    """A user with one lease, on a site whose managers die and are replaced."""

    def __init__(self, at: Site) -> None:
        self.site = at
        self.demo = at.user("demo")
        self.armed = at.folder / "armed"
        self.number = 100
        self.lease_id = ""

    def ask(self, method: str, path: str = "", **more: Any) -> requests.Response:
        return self.demo.request(method, f"{self.site.urls[0]}/v1/leases{path}", timeout=90, **more)

    def create(self, start: str = "now") -> requests.Response:
        end = datetime.now(UTC) + timedelta(minutes=50)  # noqa: TID251 - a client reads its own clock
        answer = self.ask(
            "POST",
            json={
                "name": f"lease-{self.number}",
                "start_date": start,
                "end_date": end.strftime("%Y-%m-%d %H:%M"),
                "reservations": [{**RESERVATION, "min": 2, "max": 2}],
                "events": [],
            },
        )
        if answer.status_code == 201:
            self.lease_id = answer.json()["lease"]["id"]
        return answer

    def status(self) -> str:
        answer = self.ask("GET", f"/{self.lease_id}")
        return str(answer.json()["lease"]["status"]) if answer.ok else str(answer.status_code)

    def leases(self) -> list[dict[str, Any]]:
        answer = self.ask("GET")
        answer.raise_for_status()
        found: list[dict[str, Any]] = answer.json()["leases"]
        return found

    def created(self, start: str = "now") -> None:
        """Create a lease. As a client does, look whether it is there after a 503, and else ask again."""
        before = {lease["id"] for lease in self.leases()}

        def is_there() -> bool:
            new = [lease["id"] for lease in self.leases() if lease["id"] not in before]
            if new:
                self.lease_id = new[0]
            return bool(new) or self.create(start).status_code == 201

        eventually("a lease", is_there, 60)

    def active(self) -> None:
        self.created()
        eventually("ACTIVE", lambda: self.status() == "ACTIVE")

    def end_now(self) -> None:
        """Move the end to this moment, in the database, because the API does not let a user do it."""
        with self.site.engine.begin() as connection:
            now = datetime.now(UTC).replace(tzinfo=None)  # noqa: TID251 - the test's own clock
            key = {"id": self.lease_id, "now": now}
            connection.execute(
                text("UPDATE events SET time=:now, due=:now WHERE lease_id=:id AND event_type='end_lease'"),
                key,
            )


def nothing(story: Story) -> None:
    """Prepare nothing before a creation."""


def pending(story: Story) -> None:
    tomorrow = datetime.now(UTC) + timedelta(minutes=30)  # noqa: TID251 - a client reads its own clock
    story.created(tomorrow.strftime("%Y-%m-%d %H:%M"))


def update(story: Story) -> requests.Response:
    return story.ask("PUT", f"/{story.lease_id}", json={"name": "renamed"})


def delete(story: Story) -> requests.Response:
    return story.ask("DELETE", f"/{story.lease_id}")


def create_later(story: Story) -> requests.Response:
    tomorrow = datetime.now(UTC) + timedelta(minutes=30)  # noqa: TID251 - a client reads its own clock
    return story.create(tomorrow.strftime("%Y-%m-%d %H:%M"))


ACTIONS: dict[str, tuple[Callable[[Story], None], Callable[[Story], Any], str]] = {
    "create": (nothing, create_later, "PENDING"),
    "update": (pending, update, "PENDING"),
    "start": (nothing, Story.create, "ACTIVE"),
    "end": (Story.active, Story.end_now, "TERMINATED"),
    "delete": (Story.active, delete, "404"),
}


@pytest.fixture(scope="module")
def at() -> Any:
    with site(new_folder("crash points"), "postgresql", managers=1, apis=1, hosts=4, patience=8) as built:
        yield built


@pytest.mark.parametrize("action", ACTIONS)
def test_another_manager_finishes(action: str, at: Site, seconds: float, show: Show) -> None:
    steps = (ALL if seconds >= LONG else SAMPLE)[action]
    prepare, act, outcome = ACTIONS[action]
    story, slowest, deaths = Story(at), 0.0, 0
    for step in steps:
        prepare(story)
        died, death = dies(story, step, act)
        deaths += died
        eventually(f"{action} to end in {outcome}", lambda: story.status() == outcome, CLAIM + 30)
        slowest = max(slowest, time.monotonic() - death)
        assert len(story.leases()) == (0 if outcome == "404" else 1)
        delete(story)
        story.lease_id = ""
        eventually("the lease gone", lambda: not story.leases(), 30)
        eventually("a clean cloud", lambda: not at.leftovers(), 20)
    show(
        f"kill -9 in {action}",
        [
            ("deaths at steps " + ", ".join(map(str, steps)), deaths),
            ("slowest from death to the right state, s", f"{slowest:.1f}"),
        ],
    )
    assert deaths == len(steps)
    assert not history.double_bookings(at.engine)


def dies(story: Story, step: int, act: Callable[[Story], Any]) -> tuple[bool, float]:
    """Let the manager die at this step of the action, and start another; return whether and when it died."""
    at = story.site
    at.managers[0].kill()
    story.number += 1
    story.armed.unlink(missing_ok=True)
    program = [BIN / "python", Path(__file__).with_name("manager_that_dies.py")]
    dying = at.manager(story.number, program, HA_STEP=str(step), HA_ARMED=str(story.armed))
    dying.start()
    url = at.metrics_url(dying)
    eventually(
        "health of the manager that is going to die", lambda: requests.get(f"{url}/healthcheck", timeout=5).ok
    )
    time.sleep(1.5)  # the work of its start is done
    story.armed.touch()
    # The answer may take a while: the call waits for the dead manager, and is then repeated at its successor.
    answers: list[Any] = []
    acting = threading.Thread(target=lambda: answers.append(act(story)))
    acting.start()
    eventually("its death", lambda: not dying.runs, 20)
    death = time.monotonic()
    story.armed.unlink()
    at.managers[0].start()
    acting.join(60)
    if isinstance(answers[0], requests.Response) and answers[0].status_code == 503:
        assert "Retry-After" in answers[0].headers
        again(story, act)
    return not dying.runs, death


def again(story: Story, act: Callable[[Story], Any]) -> None:
    """Repeat an action after a 503, as clients do, unless the lease was created after all."""
    url = story.site.urls[0]
    eventually("health", lambda: requests.get(f"{url}/healthcheck", timeout=5).ok)
    found = [lease["id"] for lease in story.leases() if lease["name"] == f"lease-{story.number}"]
    if not story.lease_id and found:
        story.lease_id = found[0]
        return
    act(story)
