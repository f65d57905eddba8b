"""Servers that are booted with an untouched client for a time that is ahead, by a scheduler hint."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from labtests import workers
from labtests.clients import User
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
BYTES = {"Content-Type": "application/octet-stream"}


@contextmanager
def undisturbed(processes: LabProcesses) -> Iterator[None]:
    yield


@contextmanager
def killed_again_and_again(processes: LabProcesses) -> Iterator[None]:
    """Kill the manager every few seconds, wherever it is, and start it again."""
    over = threading.Event()

    def disturb() -> None:
        while not over.wait(BETWEEN_KILLS):
            processes.kill(MANAGER)
            processes.start_blazar()

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.minutes(3)
@pytest.mark.parametrize(
    "disturbed",
    [
        undisturbed,
        pytest.param(killed_again_and_again, marks=[pytest.mark.alone, pytest.mark.thorough]),
    ],
)
def test_a_server_for_later_waits_shelved_runs_on_its_host_and_leaves_an_image(
    disturbed: Any,
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
        lease_id = admin.compute.get_server(server).metadata["blazar_lease"]
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


def answered(answer: Any) -> Any:
    """Return the answer of a service that works."""
    return answer if answer.status < 500 else None


def images_of(admin: Connection, reservation_id: str) -> list[Any]:
    return [i for i in admin.image.images() if i.properties.get("blazar_reservation") == reservation_id]


def fill(admin: Connection, image: Any) -> None:
    """Store the image, as a hypervisor does; the lab's hypervisors store none."""
    admin.image.update_image(image, container_format="bare", disk_format="raw")
    stored = admin.image.put(f"/images/{image.id}/file", data=b"disk", headers=BYTES)
    assert stored.status_code == 204, stored.text
