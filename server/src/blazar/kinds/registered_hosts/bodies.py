"""The bodies of requests about hosts and their properties."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictBool, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from blazar.api.schemas.fields import DATE_SCHEMA, Body, check_characters, parsed_date, sentence
from blazar.api.schemas.leases import DRY_RUN
from blazar.api.schemas.lists import PageQuery
from blazar.api.schemas.queries import Flag, Id, Query
from blazar.domain.errors import MissingParameter
from blazar.domain.lease.maintenance import EVERLASTING, Lifetime
from blazar.domain.time import floor_minute
from blazar.kinds.registered_hosts.commands import RegisterHost
from blazar.service.commands import SetLifetime

RESERVED = frozenset(
    {
        "id", "name", "vcpus", "memory_mb", "local_gb", "hypervisor_version", "cpu_info", "hypervisor_type",
        "hypervisor_hostname", "service_name", "status", "availability_zone", "trust_id", "reservable",
        "created_at", "updated_at",
    }
)  # fmt: skip
"""The keys of a host in answers: a property of such a name would hide the real value."""

MAX_KEY = 64
MAX_VALUE = 16_000
MAX_PROPERTIES = 1000
MAX_REFERENCE = 255


def _reference(value: object) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or len(value) > MAX_REFERENCE:
        raise sentence(f"A host's name or id is a string of at most {MAX_REFERENCE} characters.")
    check_characters("A host's name or id", value)
    return value


def _text(value: object) -> str:
    """Return a property's value as API 1.0 shows it: 5 is "5", true is "True"."""
    if isinstance(value, float) and not math.isfinite(value):
        raise sentence("The value of a property must be finite.")
    if not isinstance(value, str | int | float):
        raise sentence("The value of a property must be a string, a number or a boolean.")
    text = str(value)
    if len(text) > MAX_VALUE:
        raise sentence(f"The value of a property must have at most {MAX_VALUE} characters.")
    check_characters("The value of a property", text)
    return text


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)


_VALUE_SCHEMA: dict[str, Any] = {
    "type": ["string", "number", "boolean"],
    "description": "Stored and shown as text.",
}
Reference = Annotated[
    str | None,
    BeforeValidator(_reference),
    WithJsonSchema({"type": ["string", "integer", "null"], "maxLength": MAX_REFERENCE}),
]
Value = Annotated[str, BeforeValidator(_text), WithJsonSchema(_VALUE_SCHEMA)]
ValueOrNull = Annotated[
    str | None,
    BeforeValidator(_text_or_none),
    WithJsonSchema({**_VALUE_SCHEMA, "type": [*_VALUE_SCHEMA["type"], "null"]}),
]


def _check_keys(keys: list[str]) -> None:
    if len(keys) > MAX_PROPERTIES:
        raise sentence(f"A host can have at most {MAX_PROPERTIES} properties.")
    if any(len(key) > MAX_KEY for key in keys):
        raise sentence("Extra capability key too long")
    for key in keys:
        if not key or key != key.strip() or "/" in key:
            raise sentence(
                "The name of a property must not be empty, contain a slash, or begin or end with a space."
            )
        check_characters("The name of a property", key)
        if key in RESERVED:
            raise sentence(f"{key} is a field of every host and cannot be the name of a property.")


def is_key(name: str) -> bool:
    """Return whether a property can have this name at all."""
    try:
        _check_keys([name])
    except PydanticCustomError:
        return False
    return True


class HostCreate(Body, extra="allow"):
    """A hypervisor to register, by hypervisor_hostname (`name`) or by Nova's numeric `id`, which goes first.

    All other keys are resource properties of the host.
    """

    __pydantic_extra__: dict[str, Value]

    id: Annotated[
        Reference, Field(description="Nova's numeric id of the hypervisor; goes before `name`.")
    ] = None
    name: Annotated[
        Reference, Field(description="The hypervisor's name in Nova (`hypervisor_hostname`).")
    ] = None

    @model_validator(mode="after")
    def _keys(self) -> HostCreate:
        _check_keys(list(self.model_extra or {}))
        return self

    def command(self) -> RegisterHost:
        reference = self.id or self.name
        if reference is None:
            raise MissingParameter(param="name")
        return RegisterHost(reference, dict(self.model_extra or {}))


class HostUpdate(Body, extra="allow"):
    """Resource properties to set; null removes one."""

    __pydantic_extra__: dict[str, ValueOrNull]

    @model_validator(mode="after")
    def _keys(self) -> HostUpdate:
        if not self.model_extra:
            raise sentence("No data to update")
        _check_keys(list(self.model_extra))
        return self

    def capabilities(self) -> dict[str, str | None]:
        return dict(self.model_extra or {})


def _moment(value: object) -> datetime | None:
    return None if value is None or value == "" else parsed_date(value)


def _moment_schema(description: str) -> WithJsonSchema:
    return WithJsonSchema(
        {"anyOf": [DATE_SCHEMA, {"const": ""}, {"type": "null"}], "description": description}
    )


AvailableFrom = Annotated[
    datetime | None,
    BeforeValidator(_moment),
    _moment_schema("From when on the host is there; null or empty if it is there already."),
]
AvailableUntil = Annotated[
    datetime | None,
    BeforeValidator(_moment),
    _moment_schema("Until when the host is there; null or empty if it stays."),
]


class HostCreateForTime(HostCreate):
    """A hypervisor to register, and from when on and until when it is there.

    All other keys are resource properties of the host.
    """

    available_from: AvailableFrom = None
    available_until: AvailableUntil = None

    def lifetime(self) -> Lifetime | None:
        found = Lifetime(
            None if self.available_from is None else floor_minute(self.available_from),
            None if self.available_until is None else floor_minute(self.available_until),
        )
        return None if found == EVERLASTING else found


class HostCreateInRegion(HostCreateForTime):
    """A hypervisor to register, the region that it lies in, and from when on and until when it is there.

    All other keys are resource properties of the host.
    """

    region: Annotated[
        str | None,
        Field(max_length=MAX_REFERENCE, description="Its region; null or nothing for the first one."),
    ] = None

    def command(self) -> RegisterHost:
        return replace(super().command(), region=self.region or None)


class HostUpdateForTime(Body, extra="allow"):
    """Either resource properties to set, where null removes one; or from when on the host is there, and until
    when, which `force` and `dry_run` are about; or whether it is kept as a buffer.
    """

    __pydantic_extra__: dict[str, ValueOrNull]

    available_from: AvailableFrom = None
    available_until: AvailableUntil = None
    force: bool = Field(
        False,
        description="Whether leases may break. What has begun moves too then, without its servers; what "
        "cannot be moved is degraded.",
    )
    dry_run: bool = Field(False, description=DRY_RUN)
    buffer: StrictBool | None = Field(
        None, description="Whether the host is kept for leases that lose others, and no request gets it."
    )

    @model_validator(mode="after")
    def _keys(self) -> HostUpdateForTime:
        keys = list(self.model_extra or {})
        wanted = [bool(keys), self.is_for_time, self.buffer is not None]
        if sum(wanted) != 1:
            raise sentence(
                "Change the properties of a host, the time for which it is there and the buffer one "
                "after the other."
                if any(wanted)
                else "No data to update"
            )
        if not self.is_for_time and not self.model_fields_set.isdisjoint({"force", "dry_run"}):
            raise sentence("force and dry_run are about available_from and available_until.")
        _check_keys(keys)
        return self

    @property
    def is_for_time(self) -> bool:
        return not self.model_fields_set.isdisjoint({"available_from", "available_until"})

    def capabilities(self) -> dict[str, str | None]:
        return dict(self.model_extra or {})

    def command(self, host_id: str) -> SetLifetime:
        sent = {
            name: getattr(self, name)
            for name in ("available_from", "available_until")
            if name in self.model_fields_set
        }
        return SetLifetime(host_id, **sent, force=self.force)


class PropertyPatch(Body):
    """Whether a resource property is shown to administrators only."""

    private: Annotated[StrictBool, Field(description="Whether only administrators are shown it.")]


class PropertiesQuery(Query):
    """What to show of resource properties."""

    detail: Annotated[Flag, Field(description="Show `private` and the values too.")] = False
    all: Annotated[
        Flag, Field(description="Show private properties too; only administrators are shown them.")
    ] = False


class AllocationsQuery(Query):
    """Which reservations to show; without a parameter, all that end now or later."""

    lease_id: Annotated[Id, Field(description="Only reservations of this lease, whenever they end.")] = None
    reservation_id: Annotated[Id, Field(description="Only this reservation, whenever it ends.")] = None


class AllocationsPageQuery(AllocationsQuery, PageQuery):
    """A page of hosts, and which of their reservations to show."""
