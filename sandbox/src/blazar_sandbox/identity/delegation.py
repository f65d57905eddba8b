"""Parsing of what trusts and application credentials have in common: roles and an expiry time."""

from datetime import UTC, datetime
from typing import Any

from blazar_sandbox.errors import bad_request, not_found
from blazar_sandbox.identity.model import Role
from blazar_sandbox.identity.state import Identity


def parse_role(identity: Identity, item: Any) -> Role:
    """Return the role that an object ``{"id": ...}`` or ``{"name": ...}`` names; raise 404 without one."""
    data = item if isinstance(item, dict) else {}
    role = None
    if isinstance(data.get("id"), str):
        role = identity.roles.get(data["id"])
    elif isinstance(data.get("name"), str):
        role = identity.role_named(data["name"])
    if role is None:
        raise not_found(f"Could not find role: {data.get('id') or data.get('name')}.")
    return role


def parse_expiry(value: Any, now: datetime) -> datetime | None:
    """Parse ``expires_at``, which must lie in the future; a time without a zone is UTC."""
    if value is None:
        return None
    try:
        instant = datetime.fromisoformat(str(value))
    except ValueError:
        raise bad_request("'expires_at' is not a date.") from None
    instant = instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)
    if instant <= now:
        raise bad_request("'expires_at' must not be before now.")
    return instant


def expired(expires_at: datetime | None, now: datetime) -> bool:
    """Return whether an expiry time has passed; None never does."""
    return expires_at is not None and expires_at <= now
