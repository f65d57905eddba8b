"""The parameters of a network:port reservation, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from blazar.domain.errors import MalformedParameter
from blazar.kinds.fields import counted, required, without_blanks

AMOUNT, ON_END = PARAMETERS = ("amount", "on_end")
MOST = 1_000_000_000


class OnEnd(StrEnum):
    """What becomes at the end of ports that exceed the quota then."""

    KEEP = "keep"
    DELETE = "delete"


class PortParameters(BaseModel):
    """``amount`` ports, on whichever networks."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    amount: int = Field(ge=1, le=MOST, description="How many ports.")
    on_end: OnEnd = Field(
        OnEnd.KEEP,
        description="What becomes at the end of ports that exceed the quota then: they are kept, or deleted "
        "if they are in no use.",
    )


def parse(parameters: Mapping[str, Any]) -> PortParameters:
    """Parse the parameters. Raises MissingParameter, MalformedParameter."""
    parameters = {ON_END: OnEnd.KEEP, **without_blanks(parameters, PARAMETERS)}
    required(parameters, (AMOUNT,))
    if parameters[ON_END] not in list(OnEnd):
        raise MalformedParameter(param=f"{ON_END} (must be one of {', '.join(OnEnd)})")
    return PortParameters(amount=counted(parameters, AMOUNT, 1, MOST), on_end=OnEnd(parameters[ON_END]))
