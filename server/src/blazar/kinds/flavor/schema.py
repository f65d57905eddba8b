"""The parameters of a flavor:instance reservation, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from blazar.domain.errors import MalformedParameter
from blazar.kinds.fields import counted, required, without_blanks
from blazar.kinds.slots.affinity import parse_affinity
from blazar.kinds.slots.kind import MOST
from blazar.kinds.slots.source_flavor import SourceFlavor
from blazar.kinds.snapshots import BeforeEnd, parse_before_end

PARAMETERS = ("flavor_id", "amount", "affinity")
LONGEST_ID = 255


class FlavorParameters(BaseModel):
    """Room for ``amount`` servers of the flavor."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    flavor_id: str = Field(min_length=1, max_length=LONGEST_ID, description="A flavor that the user may see.")
    amount: int = Field(ge=1, le=MOST, description="How many servers.")
    affinity: bool | None = Field(
        None, description="true: all on one host; false: each on another; null: wherever there is room."
    )
    before_end: BeforeEnd = Field(
        BeforeEnd.DEFAULT, description="What is done before the end: nothing, or snapshots."
    )
    flavor: SourceFlavor | None = None
    """What the flavor was like when it was reserved; it may change or go away. None until the cloud was
    asked."""

    @property
    def source(self) -> SourceFlavor:
        """Return the flavor, of a reservation that was completed."""
        if self.flavor is None:
            raise RuntimeError(f"flavor {self.flavor_id} was not looked up")
        return self.flavor


def parse(parameters: Mapping[str, Any]) -> FlavorParameters:
    """Parse the parameters. Raises MissingParameter, MalformedParameter."""
    parameters = without_blanks(parameters, ("flavor_id", "amount"))
    required(parameters, PARAMETERS)
    flavor_id = parameters["flavor_id"]
    if isinstance(flavor_id, int) and not isinstance(flavor_id, bool):
        # Clients turn an id such as "3" into a number.
        flavor_id = str(flavor_id)
    if not isinstance(flavor_id, str) or not flavor_id.isprintable() or len(flavor_id) > LONGEST_ID:
        raise MalformedParameter(param="flavor_id (must be the id of a flavor)")
    return FlavorParameters(
        flavor_id=flavor_id,
        amount=counted(parameters, "amount", 1, MOST),
        affinity=parse_affinity(parameters["affinity"]),
        before_end=parse_before_end(parameters),
    )
