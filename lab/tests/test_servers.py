"""Reservations of servers that exist, on a real Nova, Placement and Glance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from labtests import reservations as ask
from labtests.images import fill, images_of
from labtests.reservations import Reservations
from labtests.waiting import boundary, until, wait_for
from openstack.connection import Connection

SHELVED_SECONDS = 90
START_SECONDS = 120
END_SECONDS = 180
VOLUME_SECONDS = 60
HOUR = 3600


@pytest.fixture
def volume(demo: Connection, name: str) -> Iterator[str]:
    storage = demo.block_storage
    made = storage.create_volume(name=name, size=1, volume_type="standard")
    storage.wait_for_status(made, "available", interval=0.3, wait=VOLUME_SECONDS)
    yield str(made.id)
    storage.delete_volume(made)
    storage.wait_for_delete(made, interval=0.3, wait=VOLUME_SECONDS)


def uses_of(demo: Connection, volume: str) -> tuple[str, list[str]]:
    """Return the status of a volume, and the servers that it is attached to."""
    found = demo.block_storage.get_volume(volume)
    return found.status, [each["server_id"] for each in found.attachments]


def booted(boot: Callable[..., Any], demo: Connection) -> Any:
    """Return a server that runs, or None: the scheduler may hear later that a host has left the freepool."""
    server = boot(demo)
    if server.status == "ACTIVE":
        return server
    print(server.fault)
    demo.compute.delete_server(server.id)
    return None


def test_a_server_waits_shelved_runs_on_its_host_and_leaves_an_image(
    kept: str, admin: Connection, demo: Connection, boot: Callable[..., Any], volume: str, name: str
) -> None:
    server = until("an ordinary server", START_SECONDS, lambda: booted(boot, demo))
    demo.compute.create_volume_attachment(server.id, volume_id=volume)
    in_use = ("in-use", [server.id])
    until("its volume in use", VOLUME_SECONDS, lambda: uses_of(demo, volume) == in_use)
    assert admin.compute.get_server(server.id).compute_host != kept
    service, start = Reservations(demo), boundary(60)
    asked = ask.server(server.id, "create_image", "delete")
    answer = service.post(name, start, start + 10 * 60, asked)
    assert answer.status == 201, answer
    lease_id, reservation_id = answer.body["lease"]["id"], answer.body["lease"]["reservations"][0]["id"]

    until(
        "the server shelved and off its host",
        SHELVED_SECONDS,
        lambda: admin.compute.get_server(server.id).status == "SHELVED_OFFLOADED",
    )
    again = service.post(name, start, start + 10 * 60, asked)
    assert (again.status, "is in reservation" in again.message) == (409, True)

    wait_for(start)
    service.await_status(lease_id, "ACTIVE", START_SECONDS)
    found = admin.compute.get_server(server.id)
    assert (found.status, found.compute_host) == ("ACTIVE", kept)
    assert uses_of(demo, volume) == in_use

    service.deleted(lease_id)
    until("an image of the server", END_SECONDS, lambda: images_of(demo, reservation_id))
    assert admin.compute.find_server(server.id, ignore_missing=True), "it is kept until there is its image"
    for image in images_of(demo, reservation_id):
        fill(demo, image)
    service.await_gone(lease_id, END_SECONDS)
    assert admin.compute.find_server(server.id, ignore_missing=True) is None
    until("its volume free", VOLUME_SECONDS, lambda: uses_of(demo, volume) == ("available", []))
    assert [image.status for image in images_of(demo, reservation_id)] == ["active"]
    for image in images_of(demo, reservation_id):
        demo.image.delete_image(image)


def test_a_server_is_free_again_when_its_lease_is_deleted_and_is_shelved_at_the_end_of_the_next(
    kept: str, admin: Connection, demo: Connection, boot: Callable[..., Any], name: str
) -> None:
    server = until("an ordinary server", START_SECONDS, lambda: booted(boot, demo))
    service, asked = Reservations(demo), ask.server(server.id, "shelve")
    answer = service.post(name, boundary(HOUR), boundary(2 * HOUR), asked)
    assert answer.status == 201, answer

    def is_away() -> bool:
        return bool(admin.compute.get_server(server.id).status == "SHELVED_OFFLOADED")

    until("the server shelved and off its host", SHELVED_SECONDS, is_away)
    service.deleted(answer.body["lease"]["id"])
    service.await_gone(answer.body["lease"]["id"], END_SECONDS)
    assert is_away()

    answer = service.post(name, "now", boundary(10 * 60), asked)
    assert answer.status == 201, answer
    lease = service.await_status(answer.body["lease"]["id"], "ACTIVE", START_SECONDS)
    found = admin.compute.get_server(server.id)
    assert (found.status, found.compute_host) == ("ACTIVE", kept)
    assert found.metadata["blazar_reservation"] == lease["reservations"][0]["id"]

    service.deleted(lease["id"])
    service.await_gone(lease["id"], END_SECONDS)
    assert is_away()
    assert "blazar_reservation" not in admin.compute.get_server(server.id).metadata
