"""The bodies of requests about series."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Annotated, Any, ClassVar, Self
from uuid import uuid4

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from blazar.api.microversion import Version
from blazar.api.schemas.fields import (
    DATE_SCHEMA,
    Body,
    ClaimByField,
    NameField,
    OptionalMinutesField,
    PriorityField,
    parsed_date,
    sentence,
)
from blazar.api.schemas.leases import DRY_RUN, CreateList
from blazar.domain.lease.priority import Priority
from blazar.domain.recurrence.rule import LONGEST_RULE
from blazar.domain.series import OnConflict
from blazar.service import commands
from blazar.service.commands import UNSET

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
MOST_DAYS = 500
LONGEST_ZONE = 64


def _day(value: object) -> date:
    try:
        if isinstance(value, str) and _DAY.fullmatch(value):
            return date.fromisoformat(value)
    except ValueError:
        pass
    raise sentence("A day is expected as YYYY-MM-DD.")


def _on_conflict(value: object) -> OnConflict:
    if not isinstance(value, str) or value not in set(OnConflict):
        raise sentence(f"on_conflict is one of {', '.join(OnConflict)}.")
    return OnConflict(value)


_DAY_SCHEMA = {"type": "string", "format": "date", "examples": ["2030-12-24"]}
DayField = Annotated[date, BeforeValidator(_day), WithJsonSchema(_DAY_SCHEMA)]
OptionalDayField = Annotated[
    date | None,
    BeforeValidator(lambda value: None if value is None else _day(value)),
    WithJsonSchema({"anyOf": [_DAY_SCHEMA, {"type": "null"}]}),
]
DaysField = Annotated[list[DayField], Field(max_length=MOST_DAYS)]
StartField = Annotated[
    datetime,
    BeforeValidator(parsed_date),
    WithJsonSchema(
        {
            **DATE_SCHEMA,
            "description": "The first lease starts then, or on the first day of the rule after it, at this "
            f"local time. {DATE_SCHEMA['description']}",
        }
    ),
]
OptionalEndField = Annotated[
    datetime | None,
    BeforeValidator(lambda value: None if value is None else parsed_date(value)),
    WithJsonSchema(
        {
            "anyOf": [DATE_SCHEMA, {"type": "null"}],
            "description": "The end of a lease that starts at start_date: each ends at this local time.",
        }
    ),
]
OnConflictField = Annotated[
    OnConflict,
    BeforeValidator(_on_conflict),
    WithJsonSchema(
        {
            "type": "string",
            "enum": list(OnConflict),
            "description": "Where not all leases can be had: `refuse` makes none, `skip` makes the others.",
        }
    ),
]


class RecurrenceBody(Body):
    """When leases recur. Unknown keys are ignored."""

    rule: Annotated[
        str,
        Field(
            max_length=LONGEST_RULE,
            description="A rule of RFC 5545 with an end: FREQ (DAILY, WEEKLY, MONTHLY or YEARLY), COUNT or "
            "UNTIL, INTERVAL, BYDAY, BYMONTHDAY, BYMONTH, BYSETPOS and WKST.",
            examples=["FREQ=WEEKLY;BYDAY=MO;COUNT=10"],
        ),
    ]
    time_zone: Annotated[
        str,
        Field(
            max_length=LONGEST_ZONE,
            description="The zone of days and local times, which stay the same where its clocks change.",
            examples=["Europe/Berlin"],
        ),
    ]
    exceptions: DaysField = Field(
        default_factory=list, alias="except", description="Days of the rule that are left out."
    )


class _SeriesCreate(Body):
    name: NameField
    start_date: StartField
    end_date: OptionalEndField = None
    duration: OptionalMinutesField = Field(
        None, description="How long each lasts, in minutes, in place of end_date."
    )
    reservations: CreateList = Field(default_factory=list, description="What each lease reserves.")
    recurrence: RecurrenceBody
    on_conflict: OnConflictField = OnConflict.REFUSE
    claim_by: ClaimByField = None
    priority: PriorityField = Priority.NORMAL

    @model_validator(mode="after")
    def _has_one_length(self) -> Self:
        if (self.end_date is None) == (self.duration is None):
            raise sentence("Give either end_date or duration.")
        if self.end_date is not None and self.end_date <= self.start_date:
            raise sentence("End date must be later than start date.")
        return self

    def command(self) -> commands.CreateSeries:
        length = self.end_date or self.duration
        assert length is not None  # noqa: S101 - one of both is given
        return commands.CreateSeries(
            # So that a call whose answer is lost can be made again, and makes no second series.
            id=str(uuid4()),
            name=self.name,
            start=self.start_date,
            length=length,
            reservations=tuple(
                commands.ReservationRequest(each.resource_type, each.parameters) for each in self.reservations
            ),
            rule=self.recurrence.rule,
            time_zone=self.recurrence.time_zone,
            exceptions=tuple(self.recurrence.exceptions),
            on_conflict=self.on_conflict,
        )


class SeriesCreate(_SeriesCreate):
    """Leases that recur. Unknown keys are ignored."""

    dry_run: ClassVar[bool] = False


class SeriesCreateOrDryRun(_SeriesCreate):
    """Leases that recur, since version 1.33. Unknown keys are ignored."""

    dry_run: bool = Field(False, description=DRY_RUN)


CREATE: Mapping[Version, type[SeriesCreate | SeriesCreateOrDryRun]] = {
    (1, 27): SeriesCreate,
    (1, 33): SeriesCreateOrDryRun,
}
"""The bodies, by the version that brought them."""


def _without_name(schema: dict[str, Any]) -> None:
    schema["properties"]["name"].pop("default", None)


class _SeriesUpdate(Body, json_schema_extra=_without_name):
    name: NameField = ""
    exceptions: DaysField = Field(
        default_factory=list,
        alias="except",
        description="Days of which the lease is cancelled, which must not have started.",
    )
    cancel_after: Annotated[
        OptionalDayField,
        Field(description="The last day: leases of later ones that have not started are cancelled."),
    ] = None

    def command(self) -> commands.UpdateSeries:
        name = self.name if "name" in self.model_fields_set else UNSET
        return commands.UpdateSeries(name, tuple(self.exceptions), self.cancel_after)


class SeriesUpdate(_SeriesUpdate, json_schema_extra=_without_name):
    """What is to change about a series; what is not sent stays. Unknown keys are ignored."""

    restore: ClassVar[Sequence[date]] = ()


class SeriesUpdateOrRestore(_SeriesUpdate, json_schema_extra=_without_name):
    """What is to change about a series, since version 1.33; what is not sent stays. Unknown keys are
    ignored."""

    restore: DaysField = Field(
        default_factory=list,
        description="Days of which the lease is made that is not there, as it was asked for; all of them or "
        "none. Sent by itself.",
    )

    @model_validator(mode="after")
    def _restores_only(self) -> Self:
        if self.restore and self.model_fields_set - {"restore"}:
            raise sentence("Send restore by itself.")
        return self


UPDATE: Mapping[Version, type[SeriesUpdate | SeriesUpdateOrRestore]] = {
    (1, 27): SeriesUpdate,
    (1, 33): SeriesUpdateOrRestore,
}
"""The bodies, by the version that brought them."""
