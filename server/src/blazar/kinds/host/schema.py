"""The parameters of a physical:host reservation, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from blazar.domain.requirement.language import parse as parse_requirement
from blazar.kinds.fields import counted, required, requirement_text
from blazar.kinds.host.errors import InvalidRange
from blazar.kinds.snapshots import BeforeEnd, parse_before_end

MOST_HOSTS = 1_000_000
PARAMETERS = ("min", "max", "hypervisor_properties", "resource_properties", "before_end")
REQUIRED = PARAMETERS[:4]


class HostParameters(BaseModel):
    """From ``min`` to ``max`` hosts that meet both requirements, which are kept as the text that was sent."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    min: int = Field(ge=1, le=MOST_HOSTS, description="The fewest hosts that will do.")
    max: int = Field(
        ge=1, le=MOST_HOSTS, description="The most hosts that are wanted; as many as can be had are given."
    )
    hypervisor_properties: str = Field("", description="A requirement over what Nova knows of a host.")
    resource_properties: str = Field("", description="A requirement over the operator's resource properties.")
    before_end: BeforeEnd = Field(
        BeforeEnd.DEFAULT, description="What is done before the end: nothing, or snapshots."
    )


def parse(parameters: Mapping[str, Any]) -> HostParameters:
    """Parse the parameters. Raises MissingParameter, MalformedParameter, MalformedRequirements,
    InvalidRange."""
    required(parameters, REQUIRED)
    fewest = counted(parameters, "min", 1, MOST_HOSTS)
    most = counted(parameters, "max", 1, MOST_HOSTS)
    if most < fewest:
        raise InvalidRange()
    before_end = parse_before_end(parameters)
    texts = {
        name: requirement_text(parameters, name) for name in ("hypervisor_properties", "resource_properties")
    }
    for text in texts.values():
        parse_requirement(text)
    return HostParameters(min=fewest, max=most, before_end=before_end, **texts)
