"""The duty to remove the images of shelved servers that are gone."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta

from blazar.engine.cloud_duty import CloudDuty
from blazar.service.ports import Clock, Database
from blazar.service.shelved_images import ShelvedImages

LOG = logging.getLogger(__name__)


class Sweeping(CloudDuty):
    """Removes such images."""

    name = "shelved_images"
    work_name = "The removal of images of shelved servers"
    pace = 0.02
    first_wait = 60.0
    first_pause = 60.0
    longest_pause = 3600.0

    def __init__(
        self,
        database: Database,
        images: ShelvedImages,
        clock: Clock,
        interval: timedelta,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(database, clock, interval, monotonic)
        self._images = images

    def work(self, check: Callable[[], None]) -> None:
        removed = self._images.sweep(check)
        if removed:
            LOG.info("%d images of servers that are gone are removed", removed, extra={"action": self.name})
