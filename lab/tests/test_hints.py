"""Servers that are booted with an untouched client for a time that is ahead, by a scheduler hint."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import pytest
from labtests import workers
from labtests.clients import User
from labtests.images import fill, images_of
from labtests.processes import LabProcesses
from labtests.reservations import Reservations
from labtests.waiting import boundary, text, until, wait_for
from openstack.connection import Connection

MANAGER = "blazar-manager"
AHEAD_SECONDS = 100
"""How long before its start a server is booted at least: it has to be shelved by then."""
SHELVED_SECONDS = 95
START_SECONDS = 150
END_SECONDS = 240
BETWEEN_KILLS = 5


@contextmanager
def killed_again_and_again(processes: LabProcesses) -> Iterator[None]:
    """Kill the manager every few seconds, wherever it is, and start it again."""
    over = threading.Event()

    def disturb() -> None:
        while not over.wait(BETWEEN_KILLS):
            processes.kill(MANAGER)
            processes.start_blazar()

    with ThreadPoolExecutor(1) as threads:
        disturbance = threads.submit(disturb)
        try:
            yield
        finally:
            over.set()
        disturbance.result()


@pytest.mark.minutes(3)
@pytest.mark.parametrize(
    "disturbed",
    [
        pytest.param(nullcontext, id="undisturbed"),
        pytest.param(
            killed_again_and_again,
            id="kill -9 of the manager again and again",
            marks=[pytest.mark.alone, pytest.mark.thorough],
        ),
    ],
)
def test_a_server_for_later_waits_shelved_runs_on_its_host_and_leaves_an_image(
    disturbed: Callable[[LabProcesses], AbstractContextManager[None]],
    processes: LabProcesses,
    kept: str,
    admin: Connection,
    demo: Connection,
    alt: Connection,
    user: User,
    image: str,
    flavor: str,
    name: str,
) -> None:
    start = boundary(AHEAD_SECONDS)
    end = start + 60
    asked = {
        "name": name,
        "start": text(start),
        "end": text(end),
        "reservation": {
            "on_end": ["create_image", "delete"],
            "resource_properties": workers.requirement(""),
        },
    }
    words = (
        "--image",
        image,
        "--flavor",
        flavor,
        "--nic",
        "none",
        "--hint",
        f"lease_params={json.dumps(asked)}",
    )
    with disturbed(processes):
        server = until("a server", SHELVED_SECONDS, lambda: booted(user, words, admin))

        def shelved() -> bool:
            found = admin.compute.get_server(server)
            assert "blazar_lease_error" not in found.metadata, found.metadata
            return bool(found.status == "SHELVED_OFFLOADED")

        until("the server shelved and off its host", SHELVED_SECONDS, shelved)
        service = Reservations(demo)
        lease_id = until("its lease", SHELVED_SECONDS, lambda: lease_named(name, service))
        refused = until(
            "an answer to another project",
            SHELVED_SECONDS,
            lambda: answered(Reservations(alt).post_hosts(f"{name}-other", start, end)),
        )
        assert (refused.status, "Not enough hosts available" in refused.message) == (400, True), refused

        wait_for(start)
        lease = service.await_status(lease_id, "ACTIVE", START_SECONDS)
        reservation_id = lease["reservations"][0]["id"]
        found = admin.compute.get_server(server)
        assert (found.status, found.compute_host) == ("ACTIVE", kept)

        wait_for(end)
        until("an image of the server", END_SECONDS, lambda: images_of(admin, reservation_id))
        assert admin.compute.find_server(server, ignore_missing=True), "it is kept until there is its image"
        (made,) = images_of(admin, reservation_id)
        fill(admin, made)
        service.await_status(lease_id, "TERMINATED", END_SECONDS)
    assert admin.compute.find_server(server, ignore_missing=True) is None
    assert demo.image.get_image(made.id).status == "active"
    admin.image.delete_image(made)


def booted(user: User, words: tuple[str, ...], admin: Connection) -> str | None:
    """Return the id of a server that has found a host, or None: the scheduler may hear later that a host has
    left the freepool."""
    made = user.json("server", "create", *words, f"{workers.PREFIX}hinted")["id"]

    def settled() -> Any:
        found = admin.compute.get_server(made)
        return found if found.status in ("ACTIVE", "ERROR", "SHELVED_OFFLOADED") else None

    if until("the server's fate", SHELVED_SECONDS, settled).status != "ERROR":
        return str(made)
    admin.compute.delete_server(made)
    return None


def lease_named(name: str, service: Reservations) -> str | None:
    """Return the id of the lease. The answer in the metadata waits for minutes where the manager that reads
    hints was killed."""
    answer = service.call("GET", "/leases")
    leases = answer.body["leases"] if answer.status == 200 else []
    return next((str(each["id"]) for each in leases if each["name"] == name), None)


def answered(answer: Any) -> Any:
    """Return the answer of a service that works."""
    return answer if answer.status < 500 else None
