"""The port to Glance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Image:
    """A Glance image; ``status`` is such as queued, saving or active."""

    id: str
    name: str
    status: str
    project_id: str | None = None
    """The project that has it; None where it is not known."""


SHELVED_SUFFIX = "-shelved"
"""What the name of an image ends with that Nova makes of a server that is shelved."""


@dataclass(frozen=True, slots=True)
class ShelvedImage:
    """An image that Nova made when the service had a server shelved."""

    id: str
    server_id: str


class Images(Protocol):
    """Glance. Raises as Compute does."""

    def image(self, image_id: str) -> Image | None:
        """Return the image; None where there is none that these credentials may see."""
        ...

    def images_with(self, name: str, value: str, project_id: str | None = None) -> Sequence[Image]:
        """Return the images that these credentials may see and whose property of this name has the value.
        With ``project_id`` only those of this project and of the service: any project may give its images
        such a property."""
        ...

    def hand_over(self, image_id: str, project_id: str) -> None:
        """Give an image to the project. Where Glance does not let these credentials change its owner, it is
        shared with the project, which sees it by its id and may accept it. It may be repeated, and an image
        that is gone is no error. Raises CloudRefused where neither is allowed."""
        ...

    def mark_shelved(self, server_id: str) -> None:
        """Mark the images that Nova made when the service's own user had this server shelved, as made so in
        this region. A server that boots from a volume has none. It may be repeated."""
        ...

    def marked_shelved(self) -> Iterator[ShelvedImage]:
        """Yield the images that ``mark_shelved`` has marked in this region and that still are the service's,
        but no protected ones. Two pages of them are in memory at a time, and those that were yielded may be
        deleted."""
        ...

    def delete_image(self, image_id: str) -> None:
        """Delete an image; one that is gone is no error. Raises CloudRefused where it is protected or in
        use."""
        ...
