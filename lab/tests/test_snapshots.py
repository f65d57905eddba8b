"""Snapshots of servers before the end of a lease, and the trusts that they need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from labtests.reservations import Reservations
from labtests.waiting import boundary, until
from openstack.connection import Connection

BEFORE_END_SECONDS = 150


@pytest.fixture
def saved(admin: Connection, name: str) -> Iterator[Callable[[], list[Any]]]:
    """Return a function that lists the images of this story's servers; delete the images at the end."""

    def images() -> list[Any]:
        return [image for image in admin.image.images() if name in image.name]

    yield images
    for image in images():
        admin.image.delete_image(image)


def trusts(admin: Connection, connection: Connection) -> set[str]:
    """Return the trusts that the connection's user has made."""
    user = connection.session.get_user_id()
    answer: Any = admin.identity.get("/OS-TRUST/trusts")
    return {trust["id"] for trust in answer.json()["trusts"] if trust["trustor_user_id"] == user}


@pytest.mark.thorough
@pytest.mark.minutes(1)
def test_two_leases_with_the_same_end_save_their_servers(
    hosts: dict[str, str],
    admin: Connection,
    alt: Connection,
    boot: Callable[..., Any],
    saved: Callable[[], list[Any]],
    name: str,
) -> None:
    before = trusts(admin, alt)
    service = Reservations(alt)
    warning = boundary(25)
    leases = []
    for number in (1, 2):
        answer = service.post_hosts(f"{name}-{number}", "now", warning + 600, snapshot_at=warning)
        assert answer.status == 201, answer
        leases.append(answer.body["lease"]["id"])
    assert len(trusts(admin, alt) - before) == 2
    for lease_id in leases:
        lease = service.await_status(lease_id, "ACTIVE", 30)
        assert boot(alt, lease["reservations"][0]["id"]).status == "ACTIVE"

    until("an image of each server", BEFORE_END_SECONDS, lambda: len(saved()) == 2)
    assert {image.owner_id for image in saved()} == {alt.session.get_project_id()}

    for lease_id in leases:
        assert service.delete(lease_id).status == 204
        service.await_gone(lease_id, 60)
    until("the trusts gone", 30, lambda: not trusts(admin, alt) - before)
