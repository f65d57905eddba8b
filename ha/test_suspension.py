"""A manager that is suspended for longer than its claim holds: it may not act on what it has lost."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import requests

from .conftest import Show
from .programs import Program, eventually
from .site import CLAIM, Site, site
from .test_crash_points import Story

TAKEN_OVER = CLAIM + 25
"""Seconds after which another manager has the lease, also where the one that sleeps had its row locked: the
database ends such a transaction after ten seconds."""


def claims(at: Site, manager: Program) -> float:
    text = requests.get(f"{at.metrics_url(manager)}/metrics", timeout=10).text
    return next(
        (float(line.split()[-1]) for line in text.splitlines() if line.startswith("blazar_claims ")), 0.0
    )


def test_a_manager_that_wakes_up_does_not_act_on_a_lost_claim(folder: Path, show: Show) -> None:
    with site(folder, "postgresql", managers=2, apis=1, hosts=4) as at:
        story = Story(at)
        for manager in at.managers:
            url = f"{at.metrics_url(manager)}/healthcheck"
            eventually("health", lambda url=url: requests.get(url, timeout=10).ok)
        # Every change in Nova takes a while, so that the manager is found in the middle of its work.
        at.sandbox(
            "POST",
            "/faults",
            json={"service": "compute", "method": "POST", "effect": "delay", "seconds": 1.5},
        )
        assert story.create().status_code == 201
        sleeper = eventually("a claim", lambda: next((m for m in at.managers if claims(at, m)), None))
        sleeper.send(signal.SIGSTOP)
        at.sandbox("DELETE", "/faults")
        asleep = time.monotonic()
        eventually("the other manager to start the lease", lambda: story.status() == "ACTIVE", TAKEN_OVER)
        taken_over = time.monotonic() - asleep
        assert story.ask("DELETE", f"/{story.lease_id}").status_code == 204
        eventually("the lease gone", lambda: not story.leases())
        eventually("a clean cloud", lambda: not at.leftovers())
        at.sandbox("DELETE", "/journal")
        sleeper.send(signal.SIGCONT)
        eventually(
            "a log line about what it lost",
            lambda: "was taken over" in sleeper.log or "repeated later" in sleeper.log,
        )
        time.sleep(2)
        changes = {k: n for k, n in at.sandbox("GET", "/journal")["counts"].items() if changes_the_cloud(k)}
        show(
            "A manager suspended in the middle of a start",
            [
                ("seconds until another had taken over", f"{taken_over:.1f}"),
                ("changes it made in the cloud after it woke up", sum(changes.values())),
            ],
        )
        assert not changes
        assert not at.leftovers()


def changes_the_cloud(kind: str) -> bool:
    return ("POST" in kind or "PUT" in kind or "DELETE" in kind) and "token" not in kind.lower()
