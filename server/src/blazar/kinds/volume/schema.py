"""The parameters of a storage:volume reservation, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from blazar.domain.errors import MalformedParameter
from blazar.kinds.fields import counted, required, without_blanks

VOLUME_TYPE, GIGABYTES, VOLUMES, ON_END = PARAMETERS = ("volume_type", "gigabytes", "volumes", "on_end")
MOST = 1_000_000_000
LONGEST_REFERENCE = 255


class OnEnd(StrEnum):
    """What becomes at the end of volumes beyond the project's quota."""

    KEEP = "keep"
    DELETE = "delete"


class VolumeParameters(BaseModel):
    """``volumes`` volumes of a volume type, which have so many ``gigabytes`` together."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    volume_type: str = Field(
        min_length=1, max_length=LONGEST_REFERENCE, description="The id or the name of a volume type."
    )
    gigabytes: int = Field(ge=1, le=MOST, description="The size of all volumes together, in GiB.")
    volumes: int = Field(1, ge=1, le=MOST, description="How many volumes.")
    on_end: OnEnd = Field(OnEnd.KEEP, description="What becomes of them where they exceed the quota then.")


def parse(parameters: Mapping[str, Any]) -> VolumeParameters:
    """Parse the parameters. Raises MissingParameter, MalformedParameter."""
    parameters = {VOLUMES: 1, ON_END: OnEnd.KEEP, **without_blanks(parameters, PARAMETERS)}
    required(parameters, (VOLUME_TYPE, GIGABYTES))
    reference = parameters[VOLUME_TYPE]
    if not isinstance(reference, str) or not reference.isprintable() or len(reference) > LONGEST_REFERENCE:
        raise MalformedParameter(param=f"{VOLUME_TYPE} (must be the id or the name of a volume type)")
    if parameters[ON_END] not in list(OnEnd):
        raise MalformedParameter(param=f"{ON_END} (must be one of {', '.join(OnEnd)})")
    return VolumeParameters(
        volume_type=reference,
        gigabytes=counted(parameters, GIGABYTES, 1, MOST),
        volumes=counted(parameters, VOLUMES, 1, MOST),
        on_end=OnEnd(parameters[ON_END]),
    )
