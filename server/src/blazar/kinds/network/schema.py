"""The parameters of a network reservation, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from blazar.domain.errors import MalformedParameter
from blazar.kinds.fields import counted, without_blanks
from blazar.kinds.network.names import NETWORK_TYPE, PHYSICAL_NETWORK, NetworkType

AMOUNT, NETWORK_NAME = "amount", "network_name"
PARAMETERS = (AMOUNT, NETWORK_TYPE, PHYSICAL_NETWORK, NETWORK_NAME)
MOST = 1000
LONGEST_NAME = 200
"""Neutron's limit is 255, and the number of the segment may come behind it."""
LONGEST_PHYSICAL_NETWORK = 64
"""Neutron's limit."""


class NetworkParameters(BaseModel):
    """``amount`` segments, on each of which a network is made."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    amount: int = Field(1, ge=1, le=MOST, description="How many networks, each on a segment of its own.")
    network_type: NetworkType | None = Field(None, description="The type of the segments; any by default.")
    physical_network: str | None = Field(
        None,
        max_length=LONGEST_PHYSICAL_NETWORK,
        description="The physical network of the segments; any, or none, by default.",
    )
    network_name: str | None = Field(
        None,
        max_length=LONGEST_NAME,
        description="The name of the network; that of the lease by default. Several have the number of the "
        "segment behind it.",
    )


def parse(parameters: Mapping[str, Any]) -> NetworkParameters:
    """Parse the parameters. Raises MalformedParameter."""
    parameters = {AMOUNT: 1, **without_blanks(parameters, PARAMETERS)}
    network_type = parameters.get(NETWORK_TYPE)
    if network_type is not None and network_type not in list(NetworkType):
        raise MalformedParameter(param=f"{NETWORK_TYPE} (must be one of {', '.join(NetworkType)})")
    return NetworkParameters(
        amount=counted(parameters, AMOUNT, 1, MOST),
        network_type=network_type,
        physical_network=_text(parameters, PHYSICAL_NETWORK, LONGEST_PHYSICAL_NETWORK),
        network_name=_text(parameters, NETWORK_NAME, LONGEST_NAME),
    )


def _text(parameters: Mapping[str, Any], name: str, longest: int) -> str | None:
    value = parameters.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not value.isprintable() or len(value) > longest:
        raise MalformedParameter(param=f"{name} (must be a text of at most {longest} characters)")
    return value
