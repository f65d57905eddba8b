"""Images of servers."""

import uuid
from collections.abc import Mapping

from blazar_sandbox.compute.model import Server, Status
from blazar_sandbox.image.state import Image
from blazar_sandbox.wsgi.request import Request

SHELVED = (Status.SHELVED, Status.SHELVED_OFFLOADED)
SHELVED_SUFFIX = "-shelved"
"""What the names of images end with that are made of servers that are shelved."""


def snapshot_of(request: Request, row: Server) -> dict[str, str]:
    """Return the properties that Nova writes, of which none names the server's project."""
    return {
        "image_type": "snapshot",
        "instance_uuid": row.id,
        "base_image_ref": row.image_id,
        "user_id": request.caller.user.id,
    }


def put_image(request: Request, row: Server, name: str, owner: str, properties: Mapping[str, str]) -> str:
    """Store an image of a server, and return its id. One that is not the server's project's is shared with
    it."""
    now, image_id = request.cloud.clock.now(), str(uuid.uuid4())
    request.cloud.images.put(
        Image(
            id=image_id,
            name=name,
            owner=owner,
            created_at=now,
            updated_at=now,
            status="active",
            visibility="private" if owner == row.project_id else "shared",
            members={} if owner == row.project_id else {row.project_id: "pending"},
            disk_format="qcow2",
            container_format="bare",
            size=row.flavor.disk << 20,
            min_disk=row.flavor.disk,
            properties=properties,
        )
    )
    return image_id


def keep_shelved_image(request: Request, row: Server) -> None:
    """Make the image of a server that is shelved: in the project of who asks, which need not be the
    server's."""
    put_image(
        request, row, f"{row.name}{SHELVED_SUFFIX}", request.caller.project_id, snapshot_of(request, row)
    )


def forget_shelved_images(request: Request, row: Server) -> None:
    """Delete the images of a shelved server, as Nova does with the rights of the caller: those of others
    stay."""
    properties = {"image_type": "snapshot", "instance_uuid": row.id}
    images = request.cloud.images.table
    for image in list(images) if row.status in SHELVED else ():
        is_its = image.name.endswith(SHELVED_SUFFIX) and properties.items() <= image.properties.items()
        if is_its and request.caller.owns(image.owner) and not image.protected:
            images.drop(image.id)
