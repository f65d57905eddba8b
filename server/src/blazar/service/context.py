"""The authenticated caller, passed from call to call and never ambient."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from blazar.domain.errors import TooLate


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated requester, as Keystone told, and the ids that tie its request together in all logs.

    ``token`` is a secret: what it is needed for is done at once; it is never stored and never shown."""

    user_id: str
    project_id: str | None
    roles: tuple[str, ...] = ()
    is_admin: bool = False
    system_scope: str | None = None
    user_name: str | None = None
    request_id: str | None = None
    global_request_id: str | None = None
    token: str | None = field(default=None, repr=False)
    deadline: datetime | None = None
    """When the caller stops to wait for the answer. What is not stored by then must not be stored at all."""
    sees_private: bool | None = None
    """Whether the policy lets the caller see private properties; None where it was not asked."""

    @property
    def sees_private_properties(self) -> bool:
        """Return what the policy says. A blazar-api of the version before asks about administrators only."""
        return self.is_admin if self.sees_private is None else self.sees_private

    def require_time(self, now: datetime) -> None:
        """Raise TooLate after the deadline."""
        if self.deadline is not None and now >= self.deadline:
            raise TooLate()
