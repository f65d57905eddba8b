"""The parameters of a storage:volume reservation, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from blazar.domain.errors import MalformedParameter
from blazar.kinds.fields import counted, required, without_blanks

VOLUME_TYPE, GIGABYTES, VOLUMES = PARAMETERS = ("volume_type", "gigabytes", "volumes")
MOST = 1_000_000_000
LONGEST_REFERENCE = 255


class VolumeParameters(BaseModel):
    """``volumes`` volumes of a volume type, which have so many ``gigabytes`` together."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    volume_type: str = Field(
        min_length=1, max_length=LONGEST_REFERENCE, description="The id or the name of a volume type."
    )
    gigabytes: int = Field(ge=1, le=MOST, description="The size of all volumes together, in GiB.")
    volumes: int = Field(1, ge=1, le=MOST, description="How many volumes.")


def parse(parameters: Mapping[str, Any]) -> VolumeParameters:
    """Parse the parameters. Raises MissingParameter, MalformedParameter."""
    parameters = {VOLUMES: 1, **without_blanks(parameters, PARAMETERS)}
    required(parameters, (VOLUME_TYPE, GIGABYTES))
    reference = parameters[VOLUME_TYPE]
    if not isinstance(reference, str) or not reference.isprintable() or len(reference) > LONGEST_REFERENCE:
        raise MalformedParameter(param=f"{VOLUME_TYPE} (must be the id or the name of a volume type)")
    return VolumeParameters(
        volume_type=reference,
        gigabytes=counted(parameters, GIGABYTES, 1, MOST),
        volumes=counted(parameters, VOLUMES, 1, MOST),
    )
