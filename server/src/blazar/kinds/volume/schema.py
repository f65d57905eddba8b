"""The parameters of a storage:volume reservation, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from blazar.domain.errors import MalformedParameter
from blazar.kinds.fields import counted, identifier, printable_text, required, without_blanks

VOLUME_TYPE, GIGABYTES, VOLUMES, ON_END = PARAMETERS = ("volume_type", "gigabytes", "volumes", "on_end")
NAME, SIZE, IMAGE, SNAPSHOT, SERVER = TEMPLATE = (
    "volume_name",
    "volume_size",
    "image_id",
    "snapshot_id",
    "server_id",
)
"""The parameters of volumes that are made at the start."""
TEMPLATE_SINCE = (1, 39)
CHECKED = "is_checked"
OWN = (CHECKED,)
"""The parameters that only this service sets."""
MOST = 1_000_000_000
MOST_MADE = 100
"""The largest number of volumes that are made for one reservation."""
LONGEST_REFERENCE = 255
LONGEST_NAME = 250
BOTH = "cannot have both snapshot and delete: Cinder deletes no volume that has a snapshot"


class Step(StrEnum):
    """What can be done at the end with volumes that were made at the start, in this order."""

    SNAPSHOT = "snapshot"
    DETACH = "detach"
    DELETE = "delete"


class OnEnd(StrEnum):
    """What becomes of volumes at the end."""

    KEEP = "keep"
    DELETE = "delete"
    SNAPSHOT = "snapshot"
    DETACH = "detach"
    SNAPSHOT_DETACH = "snapshot,detach"
    DETACH_DELETE = "detach,delete"

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(step for step in Step if step in self.split(","))


OF_EXCESS = (OnEnd.KEEP, OnEnd.DELETE)
"""What becomes of volumes that users make themselves, where they exceed the project's quota."""


class VolumeParameters(BaseModel):
    """``volumes`` volumes of a volume type, which have so many ``gigabytes`` together.

    With ``volume_name`` they are made at the start. The parameters of such volumes are known since version
    1.39."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    volume_type: str = Field(
        min_length=1, max_length=LONGEST_REFERENCE, description="The id or the name of a volume type."
    )
    gigabytes: int = Field(ge=1, le=MOST, description="The size of all volumes together, in GiB.")
    volumes: int = Field(
        1, ge=1, le=MOST, description=f"How many volumes; at most {MOST_MADE} that are made at the start."
    )
    on_end: OnEnd = Field(
        OnEnd.KEEP,
        description="What is done at the end with volumes that were made at the start. Without them, what "
        "becomes of volumes where they exceed the quota then: `keep` or `delete`.",
    )
    volume_name: str | None = Field(
        None,
        max_length=LONGEST_NAME,
        description="The name of the volume that is made at the start; several get a number each.",
    )
    volume_size: int | None = Field(
        None, ge=1, le=MOST, description="The size of each, in GiB. By default all have the same of it."
    )
    image_id: str | None = Field(None, description="The image from which each is made.")
    snapshot_id: str | None = Field(None, description="The snapshot from which each is made.")
    server_id: str | None = Field(None, description="A server of the lease's project that gets them.")
    is_checked: bool = False
    """Whether the cloud was asked for what the volumes are made from."""

    @property
    def is_template(self) -> bool:
        """Return whether volumes are made at the start."""
        return self.volume_name is not None

    @property
    def size(self) -> int:
        """Return the size of each volume that is made, in GiB."""
        return self.volume_size or self.gigabytes // self.volumes


def parse(parameters: Mapping[str, Any]) -> VolumeParameters:
    """Parse the parameters. Raises MissingParameter, MalformedParameter."""
    names = (*PARAMETERS, *TEMPLATE)
    parameters = {VOLUMES: 1, ON_END: OnEnd.KEEP, **without_blanks(parameters, names)}
    required(parameters, (VOLUME_TYPE, GIGABYTES))
    reference = parameters[VOLUME_TYPE]
    if not isinstance(reference, str) or not reference.isprintable() or len(reference) > LONGEST_REFERENCE:
        raise MalformedParameter(param=f"{VOLUME_TYPE} (must be the id or the name of a volume type)")
    is_template = any(name in parameters for name in TEMPLATE)
    asked = VolumeParameters(
        volume_type=reference,
        gigabytes=counted(parameters, GIGABYTES, 1, MOST),
        volumes=counted(parameters, VOLUMES, 1, MOST_MADE if is_template else MOST),
        on_end=_on_end(parameters[ON_END]) if is_template else _of_excess(parameters[ON_END]),
    )
    return _with_template(asked, parameters) if is_template else asked


def _of_excess(value: object) -> OnEnd:
    if value not in OF_EXCESS:
        raise MalformedParameter(param=f"{ON_END} (must be one of {', '.join(OF_EXCESS)})")
    return OnEnd(str(value))


def _on_end(value: object) -> OnEnd:
    """Parse a list of steps, or their names with commas between them, into the order in which they are
    done."""
    words = value.split(",") if isinstance(value, str) else value
    named = (
        [each.strip() for each in words if isinstance(each, str)] if isinstance(words, list | tuple) else []
    )
    if named == [OnEnd.KEEP]:
        return OnEnd.KEEP
    wanted = [step for step in Step if step in named]
    if not named or not isinstance(words, list | tuple) or {*named} != {*wanted} or len(named) != len(words):
        raise MalformedParameter(param=f"{ON_END} (must be {OnEnd.KEEP}, or a list of {', '.join(Step)})")
    if {Step.SNAPSHOT, Step.DELETE} <= {*wanted}:
        raise MalformedParameter(param=f"{ON_END} ({BOTH})")
    return OnEnd(",".join(wanted))


def _with_template(asked: VolumeParameters, parameters: Mapping[str, Any]) -> VolumeParameters:
    required(parameters, (NAME,))
    if IMAGE in parameters and SNAPSHOT in parameters:
        raise MalformedParameter(param=f"{IMAGE} (is not given together with {SNAPSHOT})")
    ids = {IMAGE: "an image", SNAPSHOT: "a snapshot of a volume", SERVER: "a server"}
    template: dict[str, Any] = {
        name: identifier(parameters, name, what) for name, what in ids.items() if name in parameters
    }
    template[NAME] = printable_text(parameters, NAME, LONGEST_NAME)
    if SIZE in parameters:
        template[SIZE] = counted(parameters, SIZE, 1, MOST)
    found = asked.model_copy(update=template)
    if found.size * found.volumes > found.gigabytes or found.size < 1:
        reason = f"has to be {max(found.size, 1) * found.volumes} at least for {found.volumes} volumes"
        raise MalformedParameter(param=f"{GIGABYTES} ({reason})")
    return found
