"""Which images of shelved servers are removed: those that Nova made when the service had a server shelved
that is there no more.

Nova removes such an image itself when its server is unshelved or deleted, but with the rights of who asks for
that. The service's images are in the service's project, so users cannot, and they stay; so does one that was
still being uploaded.

What is removed cannot be had again, so each of these has to be so:

* The image is marked. The service marks it when it has the server shelved, with the region. That a name ends
  like that of a shelved server, and that the properties name a server, proves nothing: users set both.
* Its owner is the service's project, and its user is the service's: no user makes such a one. Other services,
  whose users often share the project, do not mark.
* Nova knows no such server, and lists the servers of all projects. Without these rights, it would say of the
  servers of others that they are not there; in a cell that is down they cannot be read."""

from __future__ import annotations

import logging
from collections.abc import Callable

from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import Cloud, ShelvedImage

LOG = logging.getLogger(__name__)
MOST_UNREADABLE = 10
"""Servers of a region that cannot be read until the sweep ends: not one cell is away then, but Nova."""


class ShelvedImages:
    """Removes images whose servers are gone."""

    def __init__(self, cloud: Cloud, metrics: Metrics = NO_METRICS) -> None:
        self._cloud = cloud
        self._metrics = metrics

    def sweep(self, check: Callable[[], None]) -> int:
        """Return how many were removed, in all regions. ``check`` is called before each request to the cloud,
        and may raise to end the sweep. Its requests grow with the servers that are shelved now.

        Raises CloudUnavailable where a service does not answer, CloudRefused where the service lacks the
        rights of an administrator."""
        cloud = self._cloud.fenced(check)
        return sum(self._sweep_region(cloud.in_region(each)) for each in cloud.regions or (None,))

    def _sweep_region(self, cloud: Cloud) -> int:
        removed, unreadable = 0, 0
        for image in cloud.images.marked_shelved():
            try:
                is_gone = cloud.compute.is_server_gone(image.server_id)
            except CloudUnavailable as failure:
                unreadable += 1
                if unreadable == MOST_UNREADABLE:
                    raise
                LOG.info("Image %s is left, for its server cannot be read: %s", image.id, failure.message)
                continue
            if is_gone and self._remove(image, cloud):
                removed += 1
        return removed

    def _remove(self, image: ShelvedImage, cloud: Cloud) -> bool:
        """Return whether the image is gone now."""
        try:
            cloud.images.delete_image(image.id)
        except CloudRefused as refusal:
            LOG.warning(
                "Image %s of server %s, which is gone, cannot be removed: %s",
                image.id,
                image.server_id,
                refusal.message,
            )
            return False
        LOG.info(
            "Image %s of server %s, which is gone, is removed",
            image.id,
            image.server_id,
            extra={"action": "shelved_images"},
        )
        self._metrics.images_removed(1)
        return True
