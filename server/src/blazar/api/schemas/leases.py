"""The bodies of requests about leases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Protocol, Self, TypeVar
from uuid import uuid4

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from blazar.api.microversion import Version
from blazar.api.schemas.fields import (
    DATE_SCHEMA,
    MOMENT_SCHEMA,
    Body,
    ClaimByField,
    MomentField,
    NameField,
    OptionalDateField,
    OptionalMinutesField,
    PriorityField,
    as_moment,
    parsed_date,
    sentence,
    without_defaults,
)
from blazar.api.schemas.on_start import OnStartField
from blazar.domain.lease.priority import Priority
from blazar.service import commands
from blazar.service.commands import NOW, UNSET, Moment, Unset

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


class ReservationAddChangeOrRemove(_Reservation):
    """A reservation of a lease that changes, since version 1.12: with an `id`, new values for its parameters,
    or its removal; without one, a reservation that the lease gets."""

    id: Annotated[
        str | None,
        Field(max_length=36, description="UUID of a reservation of the lease; none for a new one."),
    ] = None
    resource_type: Annotated[
        str | None,
        Field(
            max_length=64,
            description="The kind: needed for a new one; of another one it cannot change.",
            examples=["physical:host"],
        ),
    ] = None
    remove: bool = Field(
        False,
        description="Whether the lease gives up the reservation `id`. Where the lease has begun, what it has "
        "is taken back as at the end of a lease, with the servers there.",
    )

    @model_validator(mode="after")
    def _is_one_of_three(self) -> Self:
        if self.id is None and self.remove:
            raise sentence("A reservation that is removed needs its id.")
        if self.id is None and self.resource_type is None:
            raise sentence("A reservation needs an id, or the resource_type of a new one.")
        if self.remove and self.parameters:
            raise sentence("A reservation that is removed has no other parameters.")
        return self


CreateList = Annotated[
    list[Annotated[ReservationCreate, BeforeValidator(_is_object)]], BeforeValidator(_is_list)
]
UpdateList = Annotated[
    list[Annotated[ReservationUpdate, BeforeValidator(_is_object)]], BeforeValidator(_is_list)
]
AnyChangeList = Annotated[
    list[Annotated[ReservationAddChangeOrRemove, BeforeValidator(_is_object)]], BeforeValidator(_is_list)
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

    dry_run: ClassVar[bool] = False

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

    def by_duration(self) -> commands.ByDuration | None:
        return None


def _start(value: object) -> Moment | None:
    return None if value == EARLIEST else as_moment(value)


EARLIEST = "earliest"
_START_SCHEMA = {
    **MOMENT_SCHEMA,
    "pattern": str(MOMENT_SCHEMA["pattern"]).replace("now|", "now|earliest|"),
    "description": f"{MOMENT_SCHEMA['description']} Or `earliest`, with a duration: as soon as there "
    "is enough, and quotas allow it.",
}
StartField = Annotated[Moment | None, BeforeValidator(_start), WithJsonSchema(_START_SCHEMA)]
OptionalStartField = Annotated[
    Moment | None,
    BeforeValidator(_start),
    WithJsonSchema({**_START_SCHEMA, "description": f"{_START_SCHEMA['description']} Not with an offer."}),
]
OptionalMomentField = Annotated[
    Moment | None,
    BeforeValidator(lambda value: None if value is None else as_moment(value)),
    WithJsonSchema({"anyOf": [MOMENT_SCHEMA, {"type": "null"}], "description": "The end, or `now`."}),
]
OFFER_ID = r"^[\x21-\x7e]{1,36}$"
OFFERED = frozenset(
    {"start_date", "end_date", "duration", "latest_end", "reservations", "dry_run", "on_shortage"}
)
"""What is not given with an offer."""
ON_SHORTAGE = (
    "Where there is not enough: wait in line up to this moment, and be made as soon as there is. A dry run "
    "tells the shortage all the same."
)
WaitField = Annotated[
    datetime,
    BeforeValidator(parsed_date),
    WithJsonSchema({**DATE_SCHEMA, "description": f"Until when it may wait. {DATE_SCHEMA['description']}"}),
]
OptionalWaitField = Annotated[
    datetime | None,
    BeforeValidator(lambda value: None if value is None else parsed_date(value)),
    WithJsonSchema(
        {
            "anyOf": [DATE_SCHEMA, {"type": "null"}],
            "description": f"Until when it may wait. {DATE_SCHEMA['description']}",
        }
    ),
]
DRY_RUN = "Whether nothing is to be done: the answer tells what would be."


class WithDates(Protocol):
    """A body with the dates and the reservations of a lease."""

    @property
    def start_date(self) -> Moment | None: ...
    @property
    def end_date(self) -> Moment | None: ...
    @property
    def duration(self) -> timedelta | None: ...
    @property
    def latest_end(self) -> datetime | None: ...
    @property
    def reservations(self) -> Sequence[ReservationCreate]: ...


def check_dates(body: WithDates) -> None:
    """Raise what pydantic makes a refusal of where the dates do not fit together."""
    before_end = getattr(body, "before_end_date", None)
    if (body.end_date is None) == (body.duration is None):
        raise sentence("Give either end_date or duration.")
    if body.start_date is None and body.duration is None:
        raise sentence("A lease that starts as early as can be needs a duration in place of end_date.")
    if body.start_date is None and before_end is not None:
        raise sentence("before_end_date cannot be given where the start is not known.")
    if body.start_date is not None and body.latest_end is not None:
        raise sentence("latest_end is for leases that start as early as can be.")


def create_command(
    body: WithDates, name: str = "", before_end: datetime | None = None
) -> commands.CreateLease:
    return commands.CreateLease(
        name=name,
        start=body.start_date or NOW,
        end=body.end_date or NOW,
        before_end=before_end,
        reservations=tuple(
            commands.ReservationRequest(each.resource_type, each.parameters) for each in body.reservations
        ),
        # So that a call whose answer is lost can be made again, and makes no second lease.
        id=str(uuid4()),
    )


def by_duration_of(body: WithDates) -> commands.ByDuration | None:
    if body.duration is None:
        return None
    return commands.ByDuration(body.duration, body.start_date is None, body.latest_end)


class LeaseCreateByDuration(Body):
    """A new lease, since version 1.3: with an end or a duration. Unknown keys are ignored."""

    name: NameField
    start_date: StartField
    end_date: OptionalMomentField = None
    duration: OptionalMinutesField = Field(
        None, description="How long it lasts, in minutes, in place of its end."
    )
    latest_end: OptionalDateField = Field(
        None, description="When it has to be over, where it starts as soon as there is enough."
    )
    before_end_date: OptionalDateField = None
    reservations: CreateList = Field(default_factory=list, description="What is to be reserved together.")
    events: EventsField = None
    dry_run: bool = Field(False, description=DRY_RUN)

    @model_validator(mode="after")
    def _dates_fit_together(self) -> Self:
        check_dates(self)
        return self

    def command(self) -> commands.CreateLease:
        return create_command(self, self.name, self.before_end_date)

    def by_duration(self) -> commands.ByDuration | None:
        return by_duration_of(self)


def _without_default_start(schema: dict[str, Any]) -> None:
    schema["properties"]["start_date"].pop("default")


class LeaseCreateOrClaim(LeaseCreateByDuration, json_schema_extra=_without_default_start):
    """A new lease, since version 1.4: as it is described here, or as an `offer` holds it. Unknown keys are
    ignored."""

    start_date: OptionalStartField = None
    offer: Annotated[str | None, Field(pattern=OFFER_ID)] = Field(
        None, description="The id of an offer, which has the dates and the reservations."
    )

    @model_validator(mode="after")
    def _dates_fit_together(self) -> Self:
        if self.offer is not None:
            if not self.model_fields_set.isdisjoint(OFFERED):
                raise sentence(
                    "An offer has dates and reservations: give only a name and before_end_date with it."
                )
        elif "start_date" not in self.model_fields_set:
            raise sentence("Missing parameter start_date")
        else:
            check_dates(self)
        return self

    def claim(self) -> commands.ClaimOffer:
        return commands.ClaimOffer(self.name, self.before_end_date, id=str(uuid4()))


class OnShortage(Body):
    """What is done where there is not enough. Unknown keys are ignored."""

    wait_until: WaitField


class LeaseCreateOrWait(LeaseCreateOrClaim, json_schema_extra=_without_default_start):
    """A new lease, since version 1.7: where there is not enough, it may wait in line. Unknown keys are
    ignored."""

    on_shortage: OnShortage | None = Field(None, description=ON_SHORTAGE)


class LeaseCreateClaimBy(LeaseCreateOrWait, json_schema_extra=_without_default_start):
    """A new lease, since version 1.9: it may have to be used by some time. Unknown keys are ignored."""

    claim_by: ClaimByField = None


class OnShortageOrDisplace(Body):
    """What is done where there is not enough. Unknown keys are ignored."""

    wait_until: OptionalWaitField = None
    displace: bool = Field(
        False,
        description="Whether leases of lower priorities that have not started give way: they move to other "
        "resources, or wait in line. It comes before waiting.",
    )

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        if self.wait_until is None and not self.displace:
            raise sentence("on_shortage needs wait_until, or displace, or both.")
        return self


class LeaseCreatePriority(LeaseCreateClaimBy, json_schema_extra=_without_default_start):
    """A new lease, since version 1.13: it may have another priority than the normal one. Unknown keys are
    ignored."""

    priority: PriorityField = Priority.NORMAL
    on_shortage: OnShortageOrDisplace | None = Field(  # type: ignore[assignment]  # more may be asked for
        None,
        description="Where there is not enough: have leases of lower priorities give way, or wait in line up "
        "to a moment. A dry run tells the shortage where only waiting would help.",
    )

    @model_validator(mode="after")
    def _offers_have_none(self) -> Self:
        if self.offer is not None and "priority" in self.model_fields_set:
            raise sentence("What an offer holds becomes a lease of the normal priority: update it then.")
        return self


class LeaseCreateOnStart(LeaseCreatePriority, json_schema_extra=_without_default_start):
    """A new lease, since version 1.37: a stack or a webhook may be started with it. Unknown keys are
    ignored."""

    on_start: OnStartField = None

    @model_validator(mode="after")
    def _offers_start_nothing(self) -> Self:
        if self.offer is not None and self.on_start is not None:
            raise sentence("What an offer holds becomes a lease without on_start.")
        return self


class _LeaseUpdate(Body):
    """What all versions have in common."""

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
            reservations=self._changed(),
        )

    def _changed(self) -> tuple[commands.ReservationChange, ...]:
        return tuple(
            commands.ReservationChange(each.id, each.parameters, each.resource_type)
            for each in self.reservations
        )

    def membership(self) -> commands.ReservationsChange | None:
        """Return which reservations the lease is to get and to lose, where it is any."""
        return None


class LeaseUpdate(_LeaseUpdate, json_schema_extra=without_defaults):
    """What is to change about a lease; what is not sent stays. Unknown keys are ignored."""

    dry_run: ClassVar[bool] = False
    duration: ClassVar[timedelta | None] = None


class LeaseUpdateByDuration(_LeaseUpdate, json_schema_extra=without_defaults):
    """What is to change about a lease, since version 1.3. Unknown keys are ignored."""

    duration: OptionalMinutesField = Field(
        None, description="How long it lasts from its start on, in minutes, in place of its end."
    )
    dry_run: bool = Field(False, description=DRY_RUN)

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if self.duration is not None and "end_date" in self.model_fields_set:
            raise sentence("Give either end_date or duration.")
        return self


class LeaseUpdateOrWait(LeaseUpdateByDuration, json_schema_extra=without_defaults):
    """What is to change about a lease, since version 1.7; of one that waits, only its name and until when.
    Unknown keys are ignored."""

    on_shortage: OnShortage | None = Field(
        None, description="Until when a lease that waits in line goes on waiting."
    )


class LeaseUpdateClaimBy(LeaseUpdateOrWait, json_schema_extra=without_defaults):
    """What is to change about a lease, since version 1.9; of one that waits, only its name and until when.
    Unknown keys are ignored."""

    claim_by: ClaimByField = None


class LeaseUpdateMembers(LeaseUpdateClaimBy, json_schema_extra=without_defaults):
    """What is to change about a lease, since version 1.12: its reservations may change, be added and be
    removed, all together or not at all. Of one that waits, only its name and until when. Unknown keys are
    ignored."""

    reservations: AnyChangeList = Field(  # type: ignore[assignment]  # more than before may be asked for
        default_factory=list, description="The reservations that change, those to add, and those to remove."
    )

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        ids = [each.id for each in self._all if each.id is not None]
        if len(set(ids)) < len(ids):
            raise sentence("Each reservation can be changed only once in a request.")
        return self

    @property
    def _all(self) -> Sequence[ReservationAddChangeOrRemove]:
        return self.reservations

    def _changed(self) -> tuple[commands.ReservationChange, ...]:
        return tuple(
            commands.ReservationChange(each.id, each.parameters, each.resource_type)
            for each in self._all
            if each.id is not None and not each.remove
        )

    def membership(self) -> commands.ReservationsChange | None:
        # With ids, so that a call whose answer is lost can be made again, and adds nothing twice.
        added = tuple(
            commands.AddedReservation(
                str(uuid4()), commands.ReservationRequest(str(each.resource_type), each.parameters)
            )
            for each in self._all
            if each.id is None
        )
        removed = tuple(each.id for each in self._all if each.id is not None and each.remove)
        return commands.ReservationsChange(added, removed) if added or removed else None


class LeaseUpdatePriority(LeaseUpdateMembers, json_schema_extra=without_defaults):
    """What is to change about a lease, since version 1.13: also its priority. Of one that waits, only its
    name and until when. Unknown keys are ignored."""

    priority: PriorityField = Priority.NORMAL


class LeaseUpdateExtended(LeaseUpdatePriority, json_schema_extra=without_defaults):
    """What is to change about a lease, since version 1.35: it may last as long as can be. Of one that waits,
    only its name and until when. Unknown keys are ignored."""

    latest_end: OptionalDateField = Field(
        None,
        description="In place of its end: it ends as late as can be, at this moment at the latest, and no "
        "sooner than now.",
    )

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        ends = {"end_date", "duration", "latest_end"} & self.model_fields_set
        if len(ends) > 1:
            raise sentence("Give only one of end_date, duration and latest_end.")
        return self


CREATE: Mapping[Version, type[LeaseCreate] | type[LeaseCreateByDuration]] = {
    (1, 0): LeaseCreate,
    (1, 3): LeaseCreateByDuration,
    (1, 4): LeaseCreateOrClaim,
    (1, 7): LeaseCreateOrWait,
    (1, 9): LeaseCreateClaimBy,
    (1, 13): LeaseCreatePriority,
    (1, 37): LeaseCreateOnStart,
}
UPDATE: Mapping[Version, type[LeaseUpdate] | type[LeaseUpdateByDuration]] = {
    (1, 0): LeaseUpdate,
    (1, 3): LeaseUpdateByDuration,
    (1, 7): LeaseUpdateOrWait,
    (1, 9): LeaseUpdateClaimBy,
    (1, 12): LeaseUpdateMembers,
    (1, 13): LeaseUpdatePriority,
    (1, 35): LeaseUpdateExtended,
}
"""The bodies, by the version that brought them."""
