"""The share of a worker in the lab: the hosts, names and leases that belong to its stories.

Stories spend most of their time waiting for the next full minute, so several run side by side. Each worker
of pytest-xdist has hosts, leases and servers of its own. Its hosts carry the worker's name as a property,
which the reservations of its stories require. Without xdist there is one worker, which has all hosts."""

from __future__ import annotations

import json
import os

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "alone")
COUNT = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
NUMBER = int(WORKER.removeprefix("gw")) if COUNT > 1 else 0
PROPERTY = "worker"
HOSTS = "LAB_STORY_HOSTS"
"""The environment variable that names the hosts which stories may use, with commas; all if it is unset."""
PREFIX = f"story-{WORKER}-"
"""The beginning of the names of all leases and servers of this worker."""


def all_hosts(computes: int) -> list[str]:
    """Return the names of all hosts of a lab with so many computes."""
    return [f"host{number}" for number in range(1, computes + 1)]


def hosts(computes: int) -> list[str]:
    """Return the worker's share of the hosts."""
    named = os.environ.get(HOSTS, "")
    usable = named.split(",") if named else all_hosts(computes)
    return usable[NUMBER::COUNT]


def registration(host: str) -> dict[str, str]:
    """Return the body that registers a host of this worker."""
    return {"name": host, "rack": f"r{host[-1]}", "gpus": "2", PROPERTY: WORKER}


def requirement(more: str = "") -> str:
    """Return a reservation's requirement: a host of this worker that also meets ``more``."""
    own = ["==", f"${PROPERTY}", WORKER]
    return json.dumps(["and", own, json.loads(more)] if more else own)


def owns(name: str | None) -> bool:
    """Tell whether a lease or server of this name belongs to this worker; the only worker owns all."""
    return COUNT == 1 or bool(name and name.startswith(PREFIX))
