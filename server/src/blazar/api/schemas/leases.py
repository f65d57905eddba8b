"""The bodies of requests about leases."""

from __future__ import annotations

from typing import Annotated, Any, Self, TypeVar
from uuid import uuid4

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from blazar.api.schemas.fields import (
    Body,
    MomentField,
    NameField,
    OptionalDateField,
    sentence,
    without_defaults,
)
from blazar.service import commands
from blazar.service.commands import NOW, UNSET, Unset

MAX_RESERVATIONS = 64
T = TypeVar("T")


def _is_object(value: object) -> object:
    if not isinstance(value, dict):
        raise sentence("Each reservation must be an object.")
    return value


def _is_list(value: object) -> object:
    if not isinstance(value, list):
        raise sentence("Malformed parameter reservations: a list of objects is expected.")
    if len(value) > MAX_RESERVATIONS:
        raise sentence(f"A lease can have at most {MAX_RESERVATIONS} reservations.")
    return value


class _Reservation(Body, extra="allow"):
    """A reservation; all keys but the common ones are its kind's own parameters."""

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class ReservationCreate(_Reservation):
    """A reservation of a new lease: `resource_type` decides which other parameters there are."""

    resource_type: Annotated[
        str, Field(max_length=64, description="The kind of reservation.", examples=["physical:host"])
    ]


class ReservationUpdate(_Reservation):
    """New values for parameters of the reservation `id`; `resource_type` cannot change."""

    id: Annotated[str, Field(max_length=36, description="UUID of the reservation.")]
    resource_type: Annotated[
        str | None, Field(max_length=64, description="The kind that it has; another one is refused.")
    ] = None


CreateList = Annotated[
    list[Annotated[ReservationCreate, BeforeValidator(_is_object)]], BeforeValidator(_is_list)
]
UpdateList = Annotated[
    list[Annotated[ReservationUpdate, BeforeValidator(_is_object)]], BeforeValidator(_is_list)
]


def _events(value: object) -> None:
    if value is not None and not isinstance(value, list):
        raise sentence("Malformed parameter events: a list is expected.")


EventsField = Annotated[
    None,
    BeforeValidator(_events),
    WithJsonSchema(
        {"type": ["array", "null"], "items": {}, "description": "Ignored: the service makes the events."}
    ),
]


class LeaseCreate(Body):
    """A new lease, bare (without a wrapper). Unknown keys are ignored."""

    name: NameField
    start_date: MomentField
    end_date: MomentField
    before_end_date: OptionalDateField = None
    reservations: CreateList = Field(default_factory=list, description="What is to be reserved together.")
    events: EventsField = None

    def command(self) -> commands.CreateLease:
        return commands.CreateLease(
            name=self.name,
            start=self.start_date,
            end=self.end_date,
            before_end=self.before_end_date,
            reservations=tuple(
                commands.ReservationRequest(each.resource_type, each.parameters) for each in self.reservations
            ),
            # So that a call whose answer is lost can be made again, and makes no second lease.
            id=str(uuid4()),
        )


class LeaseUpdate(Body, json_schema_extra=without_defaults):
    """What is to change about a lease; what is not sent stays. Unknown keys are ignored."""

    name: NameField = ""
    start_date: MomentField = NOW
    end_date: MomentField = NOW
    before_end_date: OptionalDateField = None
    reservations: UpdateList = Field(default_factory=list, description="The reservations that change.")
    events: EventsField = None

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        ids = [each.id for each in self.reservations]
        if len(set(ids)) < len(ids):
            raise sentence("Each reservation can be changed only once in a request.")
        return self

    def _sent(self, field: str, value: T) -> T | Unset:
        """Return UNSET for a field that was not sent: the defaults above have no meaning."""
        return value if field in self.model_fields_set else UNSET

    def command(self) -> commands.UpdateLease:
        return commands.UpdateLease(
            name=self._sent("name", self.name),
            start=self._sent("start_date", self.start_date),
            end=self._sent("end_date", self.end_date),
            before_end=self.before_end_date or UNSET,
            reservations=tuple(
                commands.ReservationChange(each.id, each.parameters, each.resource_type)
                for each in self.reservations
            ),
        )
