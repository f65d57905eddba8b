"""The view of what is promised on compute hosts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict


class PromisedHostView(TypedDict):
    """A compute host."""

    capacity: Annotated[list[int], Field(description="How much it has of each of `classes`.")]
    steps: Annotated[
        list[tuple[int, int, list[int] | None]],
        Field(
            description="From when until when, in seconds since 1970-01-01 UTC, how much of each of "
            "`classes` is promised there; null for all of the host. The steps are in order, and nothing is "
            "promised between them."
        ),
    ]


class PromisesView(TypedDict):
    """What is promised on compute hosts."""

    classes: Annotated[list[str], Field(description="Resource classes of Placement.")]
    until: Annotated[int, Field(description="Up to when all is told, in seconds since 1970-01-01 UTC.")]
    margin: Annotated[
        int, Field(description="How many seconds what runs there ends before the next promise.")
    ]
    cleaning: Annotated[int, Field(description="How many seconds it begins after the last one.")]
    hosts: Annotated[
        dict[str, PromisedHostView],
        Field(description="The hosts that can be reserved, by the name of their compute service."),
    ]
    leases: Annotated[
        dict[str, str],
        Field(
            description="The host by the id of the lease, of leases that hints have made. Their ids follow "
            "from those of their servers."
        ),
    ]


class PromisesReply(TypedDict):
    """What is promised."""

    promises: PromisesView
