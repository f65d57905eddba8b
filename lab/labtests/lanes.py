"""Which hosts, names and leases belong to the stories of this process, when several processes tell stories at once?

Stories wait most of the time, for full minutes to come, so several are told at once: each worker of pytest-xdist is
a lane with hosts, leases and servers of its own. Hosts carry the lane's name as a property, which the reservations
of its stories require. Without xdist there is one lane with all hosts.
"""

from __future__ import annotations

import json
import os

LANE = os.environ.get("PYTEST_XDIST_WORKER", "alone")
LANES = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
NUMBER = int(LANE.removeprefix("gw")) if LANES > 1 else 0
PROPERTY = "lane"
PREFIX = f"story-{LANE}-"
"""What the names of the lane's leases and servers begin with."""


def hosts(computes: int) -> list[str]:
    """The lane's share of ``host1``, ``host2`` and so on."""
    return [f"host{number}" for number in range(1, computes + 1) if (number - 1) % LANES == NUMBER]


def requirement(more: str = "") -> str:
    """As a reservation states it: a host of this lane that also meets ``more``."""
    own = ["==", f"${PROPERTY}", LANE]
    return json.dumps(["and", own, json.loads(more)] if more else own)


def owns(name: str | None) -> bool:
    """Is a lease or server of this name one of the lane's? Alone, everything is."""
    return LANES == 1 or bool(name and name.startswith(PREFIX))
