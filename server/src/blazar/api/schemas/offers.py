"""The body of a request for an offer."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from blazar.api.schemas.fields import Body, OptionalDateField, OptionalMinutesField
from blazar.api.schemas.leases import (
    CreateList,
    OptionalMomentField,
    StartField,
    by_duration_of,
    check_dates,
    create_command,
)
from blazar.service import commands


class OfferCreate(Body):
    """What is to be held: a lease without a name, as in the answers to a question for availability. Unknown
    keys are ignored."""

    start_date: StartField
    end_date: OptionalMomentField = None
    duration: OptionalMinutesField = Field(
        None, description="How long the lease lasts, in minutes, in place of its end."
    )
    latest_end: OptionalDateField = Field(
        None, description="When it has to be over, where it starts as soon as there is enough."
    )
    reservations: CreateList = Field(min_length=1, description="What is to be held together.")
    hold: OptionalMinutesField = Field(
        None,
        description="For how many minutes it is held; without it for a quarter of an hour. The operator sets "
        "the longest time.",
    )

    @model_validator(mode="after")
    def _dates_fit_together(self) -> Self:
        check_dates(self)
        return self

    def command(self) -> commands.CreateLease:
        return create_command(self)

    def by_duration(self) -> commands.ByDuration | None:
        return by_duration_of(self)
