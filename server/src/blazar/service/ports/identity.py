"""The port to Keystone: trusts, tokens, limits and mail addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class UnifiedLimits:
    """What Keystone keeps of the limits of a service, by their names; -1 for none."""

    registered: Mapping[str, int]
    """Of all projects that have none of their own."""
    own: Mapping[str, Mapping[str, int]]
    """By project."""


class Identity(Protocol):
    """Keystone. Raises as Compute does."""

    def endpoint(self) -> str:
        """Return Keystone's own address, as the catalog has it."""
        ...

    def own_token(self) -> str:
        """Return a token of these credentials. It is a secret."""
        ...

    def create_trust(
        self,
        trustor_id: str,
        project_id: str,
        roles: Sequence[str],
        expires_at: datetime,
        may_be_passed_on: bool = False,
    ) -> str:
        """Create a trust of these credentials' user to the service, which may then act as the user in the
        project with the roles (names), until ``expires_at`` or up to a day longer. Return its id.

        Where it ``may_be_passed_on``, another service that is called by it may make a trust of its own from
        it, as Heat does, if Keystone is configured so."""
        ...

    def is_trust_valid(self, trust_id: str) -> bool:
        """Return whether the service can act by the trust now: false where it, its user or one of the roles
        is gone."""
        ...

    def unified_limits(self, project_id: str | None = None) -> UnifiedLimits:
        """Return the limits of the reservation service in this region: the registered ones, and those of the
        project, or with None of all projects.

        Raises CloudUnavailable also where the service is not in the catalog, CloudRefused where its user has
        no role in the system scope."""
        ...

    def email(self, user_id: str) -> str | None:
        """Return the address that Keystone has of a user, as it is written there; None where there is none,
        or the user is disabled or gone. Raises CloudRefused where the service may not read users."""
        ...

    def delete_trust(self, trust_id: str) -> None:
        """Delete a trust; one that is gone already, or dead, is no error."""
        ...
