"""The bodies of requests for calendar feeds."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from blazar.api.schemas.fields import Body, NameField, sentence
from blazar.api.schemas.queries import OPTIONAL_ID_SCHEMA, optional_id
from blazar.domain.feed import FeedScope

NAME = "leases"
OF_SCOPE = {
    FeedScope.PROJECT: {"project_id"},
    FeedScope.USER: {"project_id", "user_id"},
    FeedScope.LEASE: {"lease_id"},
}
"""The ids that say which leases a feed of each scope shows."""


def _scope(value: object) -> FeedScope:
    if not isinstance(value, str) or value not in set(FeedScope):
        raise sentence(f"The scope is one of {', '.join(FeedScope)}.")
    return FeedScope(value)


def _of(description: str, longest: int = 255) -> WithJsonSchema:
    return WithJsonSchema({**OPTIONAL_ID_SCHEMA, "maxLength": longest, "description": description})


class FeedCreate(Body):
    """Which leases a calendar feed shows. Unknown keys are ignored."""

    scope: Annotated[
        FeedScope,
        BeforeValidator(_scope),
        WithJsonSchema({"type": "string", "enum": list(FeedScope), "description": "Which leases it shows."}),
    ] = FeedScope.PROJECT
    name: Annotated[NameField, Field(description="The name, which calendar programs show.")] = NAME
    project_id: Annotated[
        str | None,
        BeforeValidator(optional_id),
        _of("Of a project or a user: the project; by default the caller's."),
    ] = None
    user_id: Annotated[
        str | None, BeforeValidator(optional_id), _of("Of a user: which one; by default the caller.")
    ] = None
    lease_id: Annotated[
        str | None, BeforeValidator(optional_id), _of("Of a lease: which one; it must be named.", 36)
    ] = None

    @model_validator(mode="after")
    def _has_the_ids_of_its_scope(self) -> Self:
        sent = {name for name in ("project_id", "user_id", "lease_id") if getattr(self, name) is not None}
        if unknown := sorted(sent - OF_SCOPE[self.scope]):
            raise sentence(f"A feed of the scope {self.scope} has no {unknown[0]}.")
        if self.scope is FeedScope.LEASE and self.lease_id is None:
            raise sentence("A feed of the scope lease has a lease_id.")
        return self
