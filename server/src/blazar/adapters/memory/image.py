"""Glance in memory: images that were asked for with properties, and those of servers that were shelved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from blazar.adapters.memory.cloud_state import Called, CloudState, MadeImage
from blazar.domain.errors import CloudRefused
from blazar.service.ports import Image, ShelvedImage


class MemoryImages:
    """The Images port."""

    def __init__(self, state: CloudState, called: Called) -> None:
        self._state = state
        self._called = called

    def image(self, image_id: str) -> Image | None:
        actor = self._called("image")
        known = self._state.public_images.get(image_id)
        made = (
            _shown(made)
            for made in (*self._state.made_images, *self._state.shelved_images)
            if made.image.id == image_id
            and (actor is None or actor.project_id in {made.project_id, *made.members})
        )
        return known or next(made, None)

    def images_with(self, name: str, value: str, project_id: str | None = None) -> Sequence[Image]:
        actor = self._called("images_with")
        return [
            _shown(made)
            for made in (*self._state.made_images, *self._state.shelved_images)
            if made.properties.get(name) == value
            and (actor is None or made.project_id == actor.project_id)
            and (project_id is None or made.project_id in (project_id, None))
        ]

    def hand_over(self, image_id: str, project_id: str) -> None:
        actor = self._called("hand_over")
        is_only_shared = self._state.keeps_owners if actor is None else "admin" not in actor.roles

        def handed_over(made: MadeImage) -> MadeImage:
            is_theirs = actor is not None and actor.project_id != made.project_id
            if made.image.id != image_id or made.project_id == project_id or is_theirs:
                return made
            if is_only_shared:
                return replace(made, members=made.members | {project_id})
            return replace(made, project_id=project_id)

        with self._state.lock:
            for images in (self._state.made_images, self._state.shelved_images):
                images[:] = [handed_over(made) for made in images]

    def mark_shelved(self, server_id: str) -> None:
        self._called("mark_shelved")
        with self._state.lock:
            self._state.shelved_images[:] = [
                replace(made, is_marked=True)
                if (made.server_id, made.project_id) == (server_id, None)
                else made
                for made in self._state.shelved_images
            ]

    def marked_shelved(self) -> Iterator[ShelvedImage]:
        self._called("marked_shelved")
        marked = [made for made in self._state.shelved_images if made.is_marked and not made.is_protected]
        yield from (ShelvedImage(made.image.id, made.server_id) for made in marked)

    def delete_image(self, image_id: str) -> None:
        self._called("delete_image")
        with self._state.lock:
            if any(made.image.id == image_id and made.is_protected for made in self._state.shelved_images):
                reason = f"Image {image_id} is protected and cannot be deleted. (HTTP 403)"
                raise CloudRefused(service="Glance", reason=reason)
            self._state.shelved_images[:] = [
                made for made in self._state.shelved_images if made.image.id != image_id
            ]


def _shown(made: MadeImage) -> Image:
    return replace(made.image, project_id=made.project_id)
