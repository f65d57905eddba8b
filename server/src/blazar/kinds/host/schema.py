"""The parameters of a physical:host reservation, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from blazar.domain.errors import MalformedParameter
from blazar.domain.lease.lease import Reservation
from blazar.domain.requirement.language import parse as parse_requirement
from blazar.kinds.fields import boolean, counted, required, requirement_text, without_blanks
from blazar.kinds.host.errors import InvalidRange
from blazar.kinds.snapshots import BeforeEnd, parse_before_end

MOST_HOSTS = 1_000_000
PARAMETERS = ("min", "max", "hypervisor_properties", "resource_properties", "before_end")
REQUIRED = PARAMETERS[:4]
MATCH = "match"
MATCH_SINCE = (1, 29)
"""The version of the API that brought ``match``."""
LEND = "lend"
KEEP_FREE = "keep_free"
LEND_SINCE = (1, 43)
"""The version of the API that brought both."""
LATER = {MATCH: MATCH_SINCE, LEND: LEND_SINCE, KEEP_FREE: LEND_SINCE}


class Match(StrEnum):
    """Which servers of its project the reservation takes: those that name it, or ordinary ones as well."""

    EXPLICIT = "explicit"
    OPEN = "open"


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
    match: Match = Field(
        Match.EXPLICIT,
        description="Since 1.29: which servers run on the hosts: those with the hint of the reservation, or "
        "all of the project that fit.",
    )
    lend: bool = Field(
        False,
        description="Since 1.43: whether preemptible servers of other projects may run on hosts that the "
        "reservation does not use.",
    )
    keep_free: int = Field(
        1,
        ge=0,
        le=MOST_HOSTS,
        description="Since 1.43: how many of these hosts are kept free for its own servers while it lends.",
    )


def match_of(reservation: Reservation) -> Match:
    """Return which servers the reservation takes, as it is stored."""
    return Match(reservation.parameters.get(MATCH, Match.EXPLICIT))


def lends(reservation: Reservation) -> bool:
    """Return whether the reservation lends hosts that it does not use, as it is stored."""
    return bool(reservation.parameters.get(LEND, False))


def kept_free(reservation: Reservation) -> int:
    """Return how many of its unused hosts it keeps, as it is stored."""
    return int(reservation.parameters.get(KEEP_FREE, 1))


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
    kept_free = counted({KEEP_FREE: 1, **without_blanks(parameters, [KEEP_FREE])}, KEEP_FREE, 0, MOST_HOSTS)
    return HostParameters(
        min=fewest,
        max=most,
        before_end=before_end,
        match=_parse_match(parameters),
        lend=boolean(without_blanks(parameters, [LEND]), LEND, False),
        keep_free=kept_free,
        **texts,
    )


def _parse_match(parameters: Mapping[str, Any]) -> Match:
    wanted = parameters.get(MATCH)
    if wanted is None:
        return Match.EXPLICIT
    if wanted not in list(Match):
        raise MalformedParameter(param="match (must be one of 'explicit', 'open')")
    return Match(wanted)
