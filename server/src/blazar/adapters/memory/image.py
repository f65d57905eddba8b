"""Glance in memory: the images that were asked for with properties."""

from __future__ import annotations

from collections.abc import Sequence

from blazar.adapters.memory.cloud_state import Called, CloudState
from blazar.service.ports import Image


class MemoryImages:
    """The Images port."""

    def __init__(self, state: CloudState, called: Called) -> None:
        self._state = state
        self._called = called

    def image(self, image_id: str) -> Image | None:
        actor = self._called("image")
        known = self._state.public_images.get(image_id)
        made = (
            made.image
            for made in self._state.made_images
            if made.image.id == image_id and (actor is None or made.project_id == actor.project_id)
        )
        return known or next(made, None)

    def images_with(self, name: str, value: str) -> Sequence[Image]:
        actor = self._called("images_with")
        return [
            made.image
            for made in self._state.made_images
            if made.properties.get(name) == value and (actor is None or made.project_id == actor.project_id)
        ]
