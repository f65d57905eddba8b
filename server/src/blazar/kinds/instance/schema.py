"""The parameters of a virtual:instance reservation, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from blazar.domain.requirement.language import parse as parse_requirement
from blazar.kinds.fields import counted, required, requirement_text, without_blanks
from blazar.kinds.slots.affinity import parse_affinity
from blazar.kinds.slots.kind import MOST
from blazar.kinds.snapshots import BeforeEnd, parse_before_end

NUMBERS = {"vcpus": 1, "memory_mb": 1, "disk_gb": 0, "amount": 1}
"""The least of each."""
PARAMETERS = (*NUMBERS, "affinity", "resource_properties")


class InstanceParameters(BaseModel):
    """Room for ``amount`` servers of a size, on hosts that meet the requirement, which is kept as the text
    that was sent."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    vcpus: int = Field(ge=1, le=MOST, description="Virtual CPUs of each server.")
    memory_mb: int = Field(ge=1, le=MOST, description="Memory of each server, in MiB.")
    disk_gb: int = Field(ge=0, le=MOST, description="Root disk of each server, in GiB.")
    amount: int = Field(ge=1, le=MOST, description="How many servers.")
    affinity: bool | None = Field(
        None, description="true: all on one host; false: each on another; null: wherever there is room."
    )
    resource_properties: str = Field("", description="A requirement over the properties of hosts.")
    before_end: BeforeEnd = Field(
        BeforeEnd.DEFAULT, description="What is done before the end: nothing, or snapshots."
    )


def parse(parameters: Mapping[str, Any]) -> InstanceParameters:
    """Parse the parameters. Raises MissingParameter, MalformedParameter, MalformedRequirements."""
    parameters = without_blanks(parameters, NUMBERS)
    required(parameters, PARAMETERS)
    numbers = {name: counted(parameters, name, least, MOST) for name, least in NUMBERS.items()}
    properties = requirement_text(parameters, "resource_properties")
    parse_requirement(properties)
    return InstanceParameters(
        **numbers,
        affinity=parse_affinity(parameters["affinity"]),
        resource_properties=properties,
        before_end=parse_before_end(parameters),
    )
