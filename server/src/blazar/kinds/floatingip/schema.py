"""The parameters of a virtual:floatingip reservation, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from blazar.domain.address import canonical_address
from blazar.domain.errors import MalformedParameter
from blazar.kinds.fields import counted, required, without_blanks
from blazar.kinds.floatingip.errors import TooManyRequiredFloatingIPs

PARAMETERS = ("network_id", "amount", "required_floatingips")
MOST_ADDRESSES = 1_000_000
MOST_REQUIRED = 1000
LONGEST_ID = 255


class FloatingIPParameters(BaseModel):
    """``amount`` addresses of the network, ``required_floatingips`` among them."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    network_id: str = Field(min_length=1, max_length=LONGEST_ID, description="An external network.")
    amount: int = Field(ge=1, le=MOST_ADDRESSES, description="How many floating IPs.")
    required_floatingips: tuple[str, ...] = Field(
        (), max_length=MOST_REQUIRED, description="Addresses that have to be among them."
    )


def parse(parameters: Mapping[str, Any]) -> FloatingIPParameters:
    """Parse the parameters. Raises MissingParameter, MalformedParameter, InvalidIPFormat,
    TooManyRequiredFloatingIPs."""
    parameters = without_blanks(parameters, PARAMETERS)
    required(parameters, ("network_id", "amount"))
    network_id = parameters["network_id"]
    if not isinstance(network_id, str) or not network_id.isprintable() or len(network_id) > LONGEST_ID:
        raise MalformedParameter(param="network_id (must be the id of a network)")
    amount = counted(parameters, "amount", 1, MOST_ADDRESSES)
    addresses = _addresses(parameters.get("required_floatingips", []))
    if len(addresses) > amount:
        raise TooManyRequiredFloatingIPs(required=len(addresses), amount=amount)
    return FloatingIPParameters(network_id=network_id, amount=amount, required_floatingips=addresses)


def _addresses(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or len(value) > MOST_REQUIRED:
        raise MalformedParameter(
            param=f"required_floatingips (must be a list of at most {MOST_REQUIRED} addresses)"
        )
    return tuple(dict.fromkeys(map(canonical_address, value)))
