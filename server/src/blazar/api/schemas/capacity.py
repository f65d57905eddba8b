"""The query of the capacity over time."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, model_validator

from blazar.api.schemas.fields import DATE_SCHEMA, MomentField, OptionalDateField, sentence
from blazar.api.schemas.queries import Query
from blazar.service.capacity import CapacityQuestion
from blazar.service.commands import NOW

LONGEST_STEP = 10_080
LARGEST = 2**31 - 1
MAX_TRAITS = 50
_TRAIT = re.compile(r"!?[A-Z0-9_]{1,255}")
_NUMBER = re.compile(r"[0-9]{1,10}", re.ASCII)
_WORD = re.compile(r"[\x21-\x7e]{1,255}")


def _number(least: int, most: int) -> BeforeValidator:
    def number(value: str, info: ValidationInfo) -> int:
        if not _NUMBER.fullmatch(value) or not least <= int(value) <= most:
            raise sentence(f"Malformed parameter {info.field_name}: must be a number from {least} to {most}.")
        return int(value)

    return BeforeValidator(number)


def _word(value: str, info: ValidationInfo) -> str:
    if not _WORD.fullmatch(value):
        raise sentence(f"Malformed parameter {info.field_name}: not a name.")
    return value


def _traits(value: str, info: ValidationInfo) -> tuple[str, ...]:
    names = tuple(value.split(","))
    if len(names) > MAX_TRAITS or not all(map(_TRAIT.fullmatch, names)):
        raise sentence(
            f"Malformed parameter traits: at most {MAX_TRAITS} names of traits are expected, with commas "
            "between them, and ! before those that are not to be there."
        )
    return names


_NUMERIC = {"type": "string", "pattern": "^[0-9]{0,10}$"}
Size = Annotated[int | None, _number(0, LARGEST), WithJsonSchema(_NUMERIC)]
StepLength = Annotated[int | None, _number(1, LONGEST_STEP), WithJsonSchema(_NUMERIC)]
End = Annotated[OptionalDateField, WithJsonSchema(DATE_SCHEMA)]
Word = Annotated[
    str | None,
    BeforeValidator(_word),
    WithJsonSchema({"type": "string", "pattern": "^[\\x21-\\x7e]{0,255}$"}),
]
Traits = Annotated[
    tuple[str, ...],
    BeforeValidator(_traits),
    WithJsonSchema({"type": "string", "pattern": "^(!?[A-Z0-9_]{1,255}(,!?[A-Z0-9_]{1,255}){0,49})?$"}),
]


class CapacityQuery(Query):
    """Which capacity to show."""

    start_date: Annotated[
        MomentField, Field(description="Where to begin, as in a lease; the past counts as now, the default.")
    ] = NOW
    end_date: Annotated[
        End,
        Field(description="Where to end, at most 366 days after the start; a week after it by default."),
    ] = None
    step: Annotated[
        StepLength,
        Field(
            description="Minutes of a step, up to 10080: 1 for every change. By default the shortest step "
            "with which the answer is not too long."
        ),
    ] = None
    resource_type: Annotated[Word, Field(description="Only resources of this kind: `physical:host`.")] = None
    quantity: Annotated[
        Word, Field(description="Only this quantity, by its name or its resource class: `vcpus` or `VCPU`.")
    ] = None
    resource_properties: Annotated[
        str, Field(description="Only resources that meet this requirement, as in a reservation.")
    ] = ""
    traits: Annotated[
        Traits,
        Field(description="Only resources with these traits; with ! before its name without it: `A,!B`."),
    ] = ()
    availability_zone: Annotated[str, Field(description="Only resources in this zone.")] = ""
    flavor_id: Annotated[Word, Field(description="Show how many servers of this flavor fit.")] = None
    vcpus: Annotated[Size, Field(description="Show how many servers with so many VCPUs fit.")] = None
    memory_mb: Annotated[Size, Field(description="Memory of each of these servers, in MiB.")] = None
    disk_gb: Annotated[Size, Field(description="Disk of each of these servers, in GiB; 0 by default.")] = None

    @model_validator(mode="after")
    def _one_unit(self) -> Self:
        if self.flavor_id is not None and len(self._size()) > 1:
            raise sentence("Ask for a flavor or for a size, not for both.")
        return self

    def _size(self) -> dict[str, int | str]:
        named = {name: getattr(self, name) for name in ("flavor_id", "vcpus", "memory_mb", "disk_gb")}
        return {name: value for name, value in named.items() if value is not None}

    def question(self) -> CapacityQuestion:
        forbidden = tuple(name[1:] for name in self.traits if name.startswith("!"))
        return CapacityQuestion(
            start=None if self.start_date is NOW else self.start_date,
            end=self.end_date,
            step=self.step,
            resource_type=self.resource_type,
            quantity=self.quantity,
            resource_properties=self.resource_properties,
            required_traits=tuple(name for name in self.traits if not name.startswith("!")),
            forbidden_traits=forbidden,
            zone=self.availability_zone or None,
            unit=self._size(),
        )
