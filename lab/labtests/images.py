"""The images that are made of servers at the end of their reservations."""

from __future__ import annotations

from typing import Any

from openstack.connection import Connection

BYTES = {"Content-Type": "application/octet-stream"}


def images_of(user: Connection, reservation_id: str) -> list[Any]:
    """Return the images of a reservation's servers that the user sees."""
    found = [image for image in user.image.images() if image.properties]
    return [image for image in found if image.properties.get("blazar_reservation") == reservation_id]


def fill(user: Connection, image: Any) -> None:
    """Store the image, as a hypervisor does; the lab's hypervisors store none."""
    user.image.update_image(image, container_format="bare", disk_format="raw")
    stored = user.image.put(f"/images/{image.id}/file", data=b"disk", headers=BYTES)
    assert stored.status_code == 204, stored.text
