"""Images and their visibility."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from blazar_sandbox.clock import Clock
from blazar_sandbox.errors import not_found
from blazar_sandbox.identity.access import Access
from blazar_sandbox.table import Index, Table


@dataclass(frozen=True, slots=True)
class Image:
    """An image; of its content only size and checksum are stored."""

    id: str
    name: str
    owner: str
    created_at: datetime
    updated_at: datetime
    status: str = "queued"
    visibility: str = "shared"
    disk_format: str | None = None
    container_format: str | None = None
    size: int | None = None
    checksum: str | None = None
    min_disk: int = 0
    min_ram: int = 0
    protected: bool = False
    tags: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    members: Mapping[str, str] = field(default_factory=dict)
    """The projects that it is shared with, and the status of each: pending, accepted or rejected."""


class Images:
    """The table of images."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.table: Table[Image] = Table("images", Image)
        self.by_name = Index(self.table, lambda row: (row.name,))

    @property
    def tables(self) -> Iterator[Table[Any]]:
        """Every table, for persistence."""
        yield self.table

    def image(self, image_id: str, caller: Access) -> Image:
        """Return an image; raise 404 if the caller sees none."""
        row = self.table.get(image_id)
        if row is None or not visible(row, caller):
            raise not_found(f"No image found with ID {image_id}")
        return row

    def put(self, row: Image) -> Image:
        """Store an image."""
        self.table.put(row.id, row)
        return row


def visible(row: Image, caller: Access) -> bool:
    """Return whether a caller can see an image."""
    return row.visibility in ("public", "community") or caller.owns(row.owner) or _status(row, caller) != ""


def listed(row: Image, caller: Access, member_status: str) -> bool:
    """Return whether lists show an image to a caller: one that is shared with its project only in this member
    status, or ``all``."""
    status = _status(row, caller)
    is_others = status and not caller.owns(row.owner)
    return visible(row, caller) and (not is_others or member_status in ("all", status))


def _status(row: Image, caller: Access) -> str:
    """Return the status that the caller's project has as a member; empty where it is none."""
    return row.members.get(caller.project_id, "") if row.visibility == "shared" else ""
