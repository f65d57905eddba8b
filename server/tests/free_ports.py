"""Ports for the programs of all suites."""

from __future__ import annotations

import itertools
import os
import random
import socket

FIRST_PORT, PORTS_PER_WORKER = 20_000, 1_000
"""Below the ports that Linux chooses by itself for outgoing connections."""
_worker = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
_first = FIRST_PORT + PORTS_PER_WORKER * int(_worker or 0)
# from a random one on, for another suite may be under way on the same machine
_skipped = random.randrange(PORTS_PER_WORKER)
_ports = itertools.islice(itertools.cycle(range(_first, _first + PORTS_PER_WORKER)), _skipped, None)


def free_port() -> int:
    """Return a port that is free, and stays so while its program is down.

    No other worker of pytest-xdist is going to use it, and no outgoing connection.
    """
    while True:
        port = next(_ports)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
