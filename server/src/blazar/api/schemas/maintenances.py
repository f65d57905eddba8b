"""The body of a request for a maintenance."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from blazar.api.schemas.fields import Body, MomentField, NameField, check_characters, sentence
from blazar.api.schemas.leases import DRY_RUN
from blazar.service import commands
from blazar.service.commands import NOW

MOST_HOSTS = 100
LONGEST_REFERENCE = 255
LONGEST_REASON = 1000
NAME = "maintenance"


def _hosts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_HOSTS:
        raise sentence(f"The hosts are a list of 1 to {MOST_HOSTS} ids or names.")
    return tuple(map(_host, value))


def _host(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_REFERENCE:
        raise sentence(f"A host's name or id is a string of at most {LONGEST_REFERENCE} characters.")
    check_characters("A host's name or id", value)
    return value


def _reason(value: object) -> str | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str) or len(value) > LONGEST_REASON:
        raise sentence(f"The reason is a string of at most {LONGEST_REASON} characters.")
    check_characters("The reason", value)
    return value


_REFERENCE_SCHEMA = {"type": ["string", "integer"], "minLength": 1, "maxLength": LONGEST_REFERENCE}
HostsField = Annotated[
    tuple[str, ...],
    BeforeValidator(_hosts),
    WithJsonSchema(
        {
            "type": "array",
            "items": _REFERENCE_SCHEMA,
            "minItems": 1,
            "maxItems": MOST_HOSTS,
            "description": "The registered hosts by their ids or names.",
            "examples": [["compute-01", "compute-02"]],
        }
    ),
]
ReasonField = Annotated[
    str | None,
    BeforeValidator(_reason),
    WithJsonSchema(
        {
            "type": ["string", "null"],
            "maxLength": LONGEST_REASON,
            "description": "Why, for other operators.",
        }
    ),
]


class MaintenanceCreate(Body):
    """Hosts that are taken away for a time. Unknown keys are ignored."""

    hosts: HostsField
    start_date: MomentField = NOW
    end_date: MomentField
    name: NameField = NAME
    reason: ReasonField = None
    force: bool = Field(
        False,
        description="Whether leases may break. What has begun moves too then, without its servers; what "
        "cannot be moved is degraded.",
    )
    dry_run: bool = Field(False, description=DRY_RUN)

    def command(self) -> commands.CreateMaintenance:
        return commands.CreateMaintenance(
            self.hosts, self.start_date, self.end_date, self.name, self.reason, self.force
        )
