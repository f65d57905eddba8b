"""The query of the usage report."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from blazar.api.schemas.capacity import Word
from blazar.api.schemas.fields import sentence
from blazar.api.schemas.queries import Id, Query
from blazar.api.schemas.timeline import Date
from blazar.service.utilization import UsageWish

PROJECT, USER = "project", "user"
GROUPINGS = (PROJECT, USER, f"{PROJECT},{USER}", "none")
FORMATS = ("json", "csv")


def _one_of(name: str, known: tuple[str, ...]) -> BeforeValidator:
    def word(value: str) -> str:
        if value not in known:
            raise sentence(f"Malformed parameter {name}: one of {' '.join(known)} is expected.")
        return value

    return BeforeValidator(word)


class UsageQuery(Query):
    """Which resource-hours are added up, and how."""

    start_date: Annotated[
        Date, Field(description="Where the window begins, as in a lease; 30 days before its end by default.")
    ] = None
    end_date: Annotated[
        Date,
        Field(
            description="Where it ends, at most 366 days after its start; now by default and at the latest."
        ),
    ] = None
    project_id: Annotated[
        Id, Field(description="Only leases of this project; administrators may name any.")
    ] = None
    user_id: Annotated[Id, Field(description="Only leases of this user.")] = None
    resource_type: Annotated[Word, Field(description="Only this kind: `physical:host`.")] = None
    group_by: Annotated[
        str,
        _one_of("group_by", GROUPINGS),
        WithJsonSchema({"type": "string", "pattern": f"^({'|'.join(GROUPINGS)})?$"}),
        Field(
            description=f"A row for each `{PROJECT}`, `{USER}` or both, and kind; with `none` for each kind."
        ),
    ] = PROJECT
    format: Annotated[
        str,
        _one_of("format", FORMATS),
        WithJsonSchema({"type": "string", "pattern": f"^({'|'.join(FORMATS)})?$"}),
        Field(description="`csv` for a table, as with `Accept: text/csv`."),
    ] = "json"

    def wish(self, project_id: str | None) -> UsageWish:
        """Return what is asked for, of one project or of all."""
        groups = self.group_by.split(",")
        return UsageWish(
            self.start_date,
            self.end_date,
            project_id,
            self.user_id,
            self.resource_type,
            by_project=PROJECT in groups,
            by_user=USER in groups,
        )
