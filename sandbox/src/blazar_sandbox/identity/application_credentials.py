"""Application credentials: a user's own secrets, each for one project and some of the user's roles there."""

import secrets
from typing import Any

from blazar_sandbox import fields
from blazar_sandbox.errors import bad_request, conflict, forbidden, not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.identity.access import Access
from blazar_sandbox.identity.delegation import parse_expiry, parse_role
from blazar_sandbox.identity.model import ApplicationCredential, Role, hash_secret, new_id
from blazar_sandbox.identity.state import Identity


def create_application_credential(
    identity: Identity, caller: Access, user_id: str, body: Json
) -> tuple[ApplicationCredential, str]:
    """Create the application credential that a request describes; return it and its secret.

    It belongs to the project of the caller's token. Only a hash of the secret is kept, so this is the only
    time that it can be shown.
    """
    if caller.user.id != user_id:
        raise forbidden(_not_authorized("create_application_credential"))
    must_manage_delegations(caller)
    if caller.project is None:
        raise bad_request("An application credential needs a project-scoped token.")
    if body.get("access_rules"):  # openstackclient sends an empty list where there are none
        raise bad_request("Access rules are not supported by the sandbox.")
    name = fields.string(body, "name")
    if identity.application_credential_named(user_id, name) is not None:
        raise conflict(
            "Conflict occurred attempting to store application_credential - "
            f"Duplicate entry found with name {name}."
        )
    secret = fields.string_or_none(body, "secret") or secrets.token_urlsafe(64)
    row = ApplicationCredential(
        id=new_id(),
        name=name,
        user_id=user_id,
        project_id=caller.project.id,
        secret=hash_secret(secret),
        role_ids=tuple(role.id for role in _roles(identity, caller, body.get("roles"))),
        created_at=identity.clock.now(),
        expires_at=parse_expiry(body.get("expires_at"), identity.clock.now()),
        description=fields.string_or_none(body, "description"),
        unrestricted=fields.boolean({"unrestricted": body.get("unrestricted") or False}, "unrestricted"),
    )
    identity.application_credentials.put(row.id, row)
    return row, secret


def find_application_credential(
    identity: Identity, caller: Access, user_id: str, credential_id: str
) -> ApplicationCredential:
    """Return an application credential to its user or to an administrator."""
    _must_see(caller, user_id, "get_application_credential")
    row = identity.application_credentials.get(credential_id)
    if row is None or row.user_id != user_id:
        raise not_found(f"Could not find Application Credential: {credential_id}.")
    return row


def list_application_credentials(
    identity: Identity, caller: Access, user_id: str, name: str | None
) -> list[ApplicationCredential]:
    """Return the application credentials of a user, or the one with a name."""
    _must_see(caller, user_id, "list_application_credentials")
    rows = identity.application_credentials_of(user_id)
    return [row for row in rows if name in (None, row.name)]


def delete_application_credential(
    identity: Identity, caller: Access, user_id: str, credential_id: str
) -> None:
    """Delete an application credential; its tokens end with it."""
    must_manage_delegations(caller)
    row = find_application_credential(identity, caller, user_id, credential_id)
    identity.application_credentials.drop(row.id)


def must_manage_delegations(caller: Access) -> None:
    """Refuse the token of a restricted application credential.

    Otherwise a leaked credential could be used to make another one, which outlives its deletion.
    """
    if caller.application_credential is not None and not caller.application_credential.unrestricted:
        raise forbidden(
            "You are not authorized to perform the requested action: Using method "
            "'application_credential' is "
            "not allowed for managing additional application credentials or trusts."
        )


def _must_see(caller: Access, user_id: str, rule: str) -> None:
    if caller.user.id != user_id and not caller.is_admin:
        raise forbidden(_not_authorized(rule))


def _not_authorized(rule: str) -> str:
    return f"You are not authorized to perform the requested action: identity:{rule}."


def _roles(identity: Identity, caller: Access, wanted: Any) -> list[Role]:
    """Return the requested roles, all of which the caller's token must have; by default all of these."""
    if wanted is None or wanted == []:
        return list(caller.roles)
    if not isinstance(wanted, list):
        raise bad_request("Invalid input for field/attribute roles. A list of objects is required.")
    roles = [parse_role(identity, item) for item in wanted]
    held = {role.id for role in caller.roles}
    lacking = next((role for role in roles if role.id not in held), None)
    if lacking is not None:
        raise bad_request(
            "Invalid application credential: Could not find role assignment with role: "
            f"{lacking.id}, user or group: {caller.user.id}, project, domain, or system: {caller.project_id}."
        )
    return roles
