"""The view of the capacity over time in answers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from blazar.api.views.dates import wire_date
from blazar.domain.planning.steps import Steps
from blazar.service.capacity import CapacityReport, Density, QuantityCapacity

_FROM = "Where the step begins; it lasts until the next one."
_MINIMUM = "The least of all steps."
_WHOLE_TIME = "What there is for all of the time on the same resources: what one reservation can have."

CapacityStep = TypedDict(
    "CapacityStep",
    {
        "from": Annotated[str, Field(description=_FROM)],
        "total": Annotated[int, Field(description="What the resources have, failed ones included.")],
        "available": Annotated[
            int, Field(description="What can be reserved, resource by resource, with its cleaning time.")
        ],
        "reserved": NotRequired[
            Annotated[int, Field(description="What reservations have; only where the policy shows it.")]
        ],
        "in_use": NotRequired[
            Annotated[
                int, Field(description="The part of it that is of reservations that have begun by now.")
            ]
        ],
        "buffer": NotRequired[
            Annotated[
                int,
                Field(
                    description="What is kept for leases that lose others; only where the policy shows "
                    "what is reserved. From 1.15 on."
                ),
            ]
        ],
    },
)
"""The values of a quantity from a moment on."""

DensityStep = TypedDict(
    "DensityStep",
    {
        "from": Annotated[str, Field(description=_FROM)],
        "fits": Annotated[int, Field(description="How many fit, each on one resource.")],
    },
)
"""How many fit from a moment on."""


class QuantityView(TypedDict):
    """The capacity in one quantity."""

    name: Annotated[str, Field(description="Name of the quantity.")]
    resource_types: Annotated[list[str], Field(description="The kinds of reservations that take of it.")]
    minimum: Annotated[int, Field(description=f"{_MINIMUM[:-1]}: of what is available.")]
    throughout: Annotated[int, Field(description=_WHOLE_TIME)]
    steps: Annotated[list[CapacityStep], Field(description="The values, from each change on.")]


class DensityView(TypedDict):
    """How many servers of a size fit."""

    resource_type: Annotated[str, Field(description="The kind that reserves them.")]
    minimum: Annotated[int, Field(description=_MINIMUM)]
    throughout: Annotated[int, Field(description=_WHOLE_TIME)]
    steps: Annotated[list[DensityStep], Field(description="How many fit, from each change on.")]


class CapacityView(TypedDict):
    """The capacity over time."""

    start_date: Annotated[str, Field(description="Where the steps begin.")]
    end_date: Annotated[str, Field(description="Where the last step ends.")]
    step: Annotated[
        int,
        Field(
            description="Minutes that a step lasts at least. Where they are more than 1, a step tells the "
            "least that is available in it, and the most that is reserved."
        ),
    ]
    quantities: Annotated[list[QuantityView], Field(description="The quantities that kinds measure in.")]
    left_out: Annotated[
        list[str], Field(description="Names of quantities that there are besides; ask for each of them.")
    ]
    density: Annotated[DensityView | None, Field(description="How many servers fit, where that was asked.")]


class CapacityReply(TypedDict):
    capacity: Annotated[CapacityView, Field(description="The capacity.")]


RESERVED = ("reserved", "in_use")
WITH_BUFFER = (*RESERVED, "buffer")


def capacity_reply(report: CapacityReport, *, reserved: tuple[str, ...]) -> CapacityReply:
    """Return the body. ``reserved`` are the curves besides that the caller may see."""
    shown = ("total", "available", *reserved)
    return {
        "capacity": {
            "start_date": wire_date(report.start),
            "end_date": wire_date(report.end),
            "step": report.step,
            "quantities": [_quantity(each, report.start, shown) for each in report.quantities],
            "left_out": list(report.left_out),
            "density": _density(report.density, report.start) if report.density else None,
        }
    }


def _quantity(quantity: QuantityCapacity, start: datetime, shown: tuple[str, ...]) -> QuantityView:
    return {
        "name": quantity.name,
        "resource_types": list(quantity.resource_types),
        "minimum": quantity.minimum,
        "throughout": quantity.throughout,
        "steps": list(_steps(quantity.steps, start, shown)),  # type: ignore[arg-type]  # as shown
    }


def _density(density: Density, start: datetime) -> DensityView:
    return {
        "resource_type": density.resource_type,
        "minimum": density.minimum,
        "throughout": density.throughout,
        "steps": list(_steps(density.steps, start, ("fits",))),  # type: ignore[arg-type]  # as shown
    }


def _steps(steps: Steps, start: datetime, shown: tuple[str, ...]) -> Iterator[dict[str, str | int]]:
    for at, minute in enumerate(steps.minutes):
        # A manager of the version before knows no buffer.
        values = {name: steps.values[name][at] for name in shown if name in steps.values}
        yield {"from": wire_date(start + timedelta(minutes=minute)), **values}
