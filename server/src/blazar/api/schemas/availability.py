"""The body of a question for availability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic import Field

from blazar.api.microversion import Version
from blazar.api.schemas.fields import (
    Body,
    MinutesField,
    MomentField,
    OptionalDateField,
    OptionalMinutesField,
)
from blazar.api.schemas.leases import CreateList
from blazar.service import commands


class WantedLease(Body):
    """A lease as in a create; its name and its dates are not looked at."""

    reservations: CreateList = Field(min_length=1, description="What is to be reserved together.")


class StartRange(Body):
    """The starts that would do."""

    earliest: MomentField
    latest: OptionalDateField = None


class DurationRange(Body):
    """The durations that would do."""

    wanted: MinutesField
    minimum: OptionalMinutesField = Field(
        None, description="The shortest that would do, in minutes. Without it only what is wanted does."
    )


class AvailabilityRequest(Body):
    """A question for availability. Unknown keys are ignored."""

    lease: WantedLease
    start: StartRange
    duration: DurationRange

    def question(self) -> commands.AvailabilityQuestion:
        return commands.AvailabilityQuestion(
            reservations=tuple(
                commands.ReservationRequest(each.resource_type, each.parameters)
                for each in self.lease.reservations
            ),
            start=self.start.earliest,
            duration=self.duration.wanted,
            latest_start=self.start.latest,
            shortest=self.duration.minimum,
        )


class AvailabilityRequestWithHold(AvailabilityRequest):
    """A question for availability, since version 1.6: the answers may be held. Unknown keys are ignored."""

    hold: OptionalMinutesField = Field(
        None,
        description="For how many minutes the answers are held, each by an offer of its own, as far as they "
        "can be; without it none is. The operator sets the longest time.",
    )

    def question(self) -> commands.AvailabilityQuestion:
        return replace(super().question(), alternatives=True)


QUESTION: Mapping[Version, type[AvailabilityRequest]] = {
    (1, 3): AvailabilityRequest,
    (1, 6): AvailabilityRequestWithHold,
}
"""The bodies, by the version that brought them."""
