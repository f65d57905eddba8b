"""Trusts, by which a trustor lets a trustee act in the trustor's name."""

from typing import Any

from blazar_sandbox import fields
from blazar_sandbox.errors import bad_request, conflict, forbidden, not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.identity.access import Access
from blazar_sandbox.identity.application_credentials import must_manage_delegations
from blazar_sandbox.identity.delegation import expired, parse_expiry, parse_role
from blazar_sandbox.identity.model import Role, Scope, ScopeKind, Trust, new_id
from blazar_sandbox.identity.state import Identity


def create_trust(identity: Identity, caller: Access, body: Json) -> Trust:
    """Create the trust that a request describes."""
    trustor_id, trustee_id = fields.string(body, "trustor_user_id"), fields.string(body, "trustee_user_id")
    if caller.user.id != trustor_id:
        raise forbidden(
            "You are not authorized to perform the requested action: only the trustor may create a trust."
        )
    must_manage_delegations(caller)
    if caller.trust is not None and not caller.trust.allow_redelegation:
        raise forbidden(
            "You are not authorized to perform the requested action: redelegation is not allowed."
        )
    if trustee_id not in identity.users:
        raise not_found(f"Could not find user: {trustee_id}.")
    project_id = fields.string(body, "project_id")
    if project_id not in identity.projects:
        raise not_found(f"Could not find project: {project_id}.")
    if "impersonation" not in body:
        raise bad_request("'impersonation' is a required property")
    roles = _roles(identity, caller, project_id, body.get("roles"))
    trust = Trust(
        id=new_id(),
        trustor_user_id=trustor_id,
        trustee_user_id=trustee_id,
        project_id=project_id,
        impersonation=fields.boolean(body, "impersonation"),
        role_ids=tuple(role.id for role in roles),
        created_at=identity.clock.now(),
        expires_at=parse_expiry(body.get("expires_at"), identity.clock.now()),
        remaining_uses=_uses(body),
        allow_redelegation=fields.boolean(body, "allow_redelegation"),
        redelegation_count=fields.integer(body, "redelegation_count", default=0),
    )
    if trust.expires_at is not None:
        # Keystone keeps the rows of deleted trusts, and compares whole seconds.
        second = trust.expires_at.replace(microsecond=0)
        trust_key = (trustor_id, trustee_id, project_id, trust.impersonation, second)
        if trust_key in identity.used_trust_keys:
            raise conflict(
                f"Conflict occurred attempting to store trust - Duplicate entry found with ID {trust.id}."
            )
        identity.used_trust_keys.add(trust_key)
    identity.trusts.put(trust.id, trust)
    return trust


def find_trust(identity: Identity, caller: Access, trust_id: str) -> Trust:
    """Return a trust to its trustor, its trustee or an administrator."""
    trust = identity.trusts.get(trust_id)
    if trust is None or expired(trust.expires_at, identity.clock.now()):
        raise not_found(f"Could not find trust: {trust_id}.")
    if not caller.is_admin and caller.user.id not in (trust.trustor_user_id, trust.trustee_user_id):
        raise forbidden("You are not authorized to perform the requested action: identity:get_trust.")
    return trust


def delete_trust(identity: Identity, caller: Access, trust_id: str) -> None:
    """Delete a trust; its tokens end with it."""
    must_manage_delegations(caller)
    trust = identity.trusts.get(trust_id)
    if trust is None:
        raise not_found(f"Could not find trust: {trust_id}.")
    if not caller.is_admin and caller.user.id != trust.trustor_user_id:
        raise forbidden("You are not authorized to perform the requested action: identity:delete_trust.")
    identity.trusts.drop(trust_id)


def list_trusts(identity: Identity, caller: Access, trustor: str | None, trustee: str | None) -> list[Trust]:
    """Return the trusts of a trustor or a trustee; only an administrator may list all."""
    if not caller.is_admin and caller.user.id not in (trustor, trustee):
        raise forbidden("You are not authorized to perform the requested action: identity:list_trusts.")
    now = identity.clock.now()
    return [
        trust
        for trust in identity.trusts
        if trustor in (None, trust.trustor_user_id)
        and trustee in (None, trust.trustee_user_id)
        and not expired(trust.expires_at, now)
    ]


def _roles(identity: Identity, caller: Access, project_id: str, wanted: Any) -> list[Role]:
    if not isinstance(wanted, list) or not wanted:
        raise forbidden(
            "You are not authorized to perform the requested action: at least one role should be specified."
        )
    held = {
        role.id for role in identity.effective_roles(caller.user.id, Scope(ScopeKind.PROJECT, project_id))
    }
    if caller.trust is not None:
        held &= {role.id for role in caller.roles}
    roles = [parse_role(identity, item) for item in wanted]
    lacking = next((role for role in roles if role.id not in held), None)
    if lacking is not None:
        raise not_found(f"Could not find role: {lacking.id}.")
    return roles


def _uses(body: Json) -> int | None:
    if body.get("remaining_uses") is None:
        return None
    return fields.integer(body, "remaining_uses", minimum=1)
