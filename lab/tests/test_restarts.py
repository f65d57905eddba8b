"""Restarts and kills of our processes in the middle of requests, starts and ends: nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from keystoneauth1.exceptions.connection import ConnectionError as NoAnswer
from labtests.processes import LabProcesses
from labtests.reservations import Reservations
from labtests.waiting import boundary, until, wait_for
from openstack.connection import Connection

HOUR = 3600
RECOVERY_SECONDS = 180

API, MANAGER = "blazar-api", "blazar-manager"

Ending = Callable[[LabProcesses, str], None]
pytestmark = [pytest.mark.alone, pytest.mark.by_turns(2)]


RESTART = pytest.param(LabProcesses.stop, id="restart", marks=pytest.mark.thorough)
KILL = pytest.param(LabProcesses.kill, id="kill -9")


@pytest.fixture(scope="module", params=[KILL, RESTART])
def ending(request: pytest.FixtureRequest) -> Ending:
    """Return how the processes end. The module's stories run in turn for each of the two ways, so that some
    of them use the time until the full minute that others need."""
    chosen: Ending = request.param
    return chosen


def test_around_a_start_and_an_end(
    ending: Ending,
    hosts: dict[str, str],
    processes: LabProcesses,
    admin: Connection,
    demo: Connection,
    boot: Callable[..., Any],
    name: str,
) -> None:
    service = Reservations(demo)
    moment = boundary(15)
    first = service.post_hosts(f"{name}-ends", "now", moment)
    second = service.post_hosts(f"{name}-starts", moment, moment + HOUR, count=len(hosts))
    assert (first.status, second.status) == (201, 201), (first, second)
    ends, starts = first.body["lease"]["id"], second.body["lease"]["id"]
    lease = service.await_status(ends, "ACTIVE", 30)
    assert boot(demo, lease["reservations"][0]["id"]).status == "ACTIVE"

    # the end begins at the full minute: be there a moment later, in the middle of it
    wait_for(moment + 0.3)
    for process in (MANAGER, API):
        ending(processes, process)
    processes.start_blazar()

    service.await_status(ends, "TERMINATED", RECOVERY_SECONDS)
    active = service.await_status(starts, "ACTIVE", RECOVERY_SECONDS)
    reservation = active["reservations"][0]["id"]
    aggregate = admin.compute.find_aggregate(reservation, ignore_missing=False)
    assert sorted(aggregate.hosts) == sorted(hosts)


@pytest.mark.parametrize("process", [MANAGER, API])
def test_in_the_middle_of_creates_and_deletes(
    process: str, ending: Ending, hosts: dict[str, str], processes: LabProcesses, demo: Connection, name: str
) -> None:
    service = Reservations(demo)
    begin = boundary(2 * HOUR)
    stop = threading.Event()
    kept: set[str] = set()

    def create_and_delete() -> None:
        """Create leases and delete every second one; note which leases an answer has confirmed."""
        number = 0
        while not stop.is_set():
            number += 1
            start = begin + number * HOUR
            try:
                answer = service.post_hosts(f"{name}-{number}", start, start + HOUR)
                if answer.status != 201:
                    continue
                lease_id = answer.body["lease"]["id"]
                kept.add(lease_id)
                if number % 2:
                    # whether or not this request succeeds, the lease may be gone from now on
                    kept.discard(lease_id)
                    service.delete(lease_id)
            except NoAnswer:
                continue

    worker = threading.Thread(target=create_and_delete)
    worker.start()
    try:
        until("some leases confirmed", 30, lambda: len(kept) >= 5)
        ending(processes, process)
        confirmed = len(kept)
        processes.start_blazar()
        until("more leases confirmed afterwards", RECOVERY_SECONDS, lambda: len(kept) >= confirmed + 5)
    finally:
        stop.set()
        worker.join()

    def at_rest() -> dict[str, str] | None:
        answer = service.call("GET", "/leases")
        if answer.status != 200:
            return None
        found = {lease["id"]: lease["status"] for lease in answer.body["leases"]}
        return found if set(found.values()) <= {"PENDING"} else None

    found = until("no lease in a transitional status", RECOVERY_SECONDS, at_rest)
    assert kept <= set(found)
