"""JSON bodies of Keystone's objects."""

from dataclasses import asdict
from datetime import UTC, datetime

from blazar_sandbox.fields import Json
from blazar_sandbox.identity.access import Access
from blazar_sandbox.identity.model import (
    ApplicationCredential,
    Assignment,
    CatalogService,
    Domain,
    Endpoint,
    Project,
    ProjectLimit,
    Region,
    RegisteredLimit,
    Role,
    ScopeKind,
    Trust,
    User,
)
from blazar_sandbox.identity.state import Identity
from blazar_sandbox.wsgi.request import Request


def instant(moment: datetime | None) -> str | None:
    """Return a time in Keystone's format."""
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _links(origin: str, *path: str) -> Json:
    return {"self": "/".join((origin, "v3", *path))}


def listing(request: Request, name: str, bodies: list[Json] | Json) -> Json:
    """Return the JSON body of a list, which is never paged."""
    links = {"self": f"{request.origin}/v3{request.path}", "next": None, "previous": None}
    return {name: bodies, "links": links}


def domain(row: Domain, origin: str) -> Json:
    """Return the JSON body of a domain."""
    return {
        "id": row.id,
        "name": row.name,
        "enabled": row.enabled,
        "description": row.description,
        "tags": [],
        "options": {},
        "links": _links(origin, "domains", row.id),
    }


def project(row: Project, origin: str) -> Json:
    """Return the JSON body of a project."""
    return {
        "id": row.id,
        "name": row.name,
        "domain_id": row.domain_id,
        "description": row.description,
        "enabled": row.enabled,
        "parent_id": row.parent_id,
        "is_domain": False,
        "tags": [],
        "options": {},
        "links": _links(origin, "projects", row.id),
    }


def user(row: User, origin: str) -> Json:
    """Return the JSON body of a user, without the password."""
    body: Json = {
        "id": row.id,
        "name": row.name,
        "domain_id": row.domain_id,
        "enabled": row.enabled,
        "password_expires_at": None,
        "options": {},
        "links": _links(origin, "users", row.id),
    }
    optional = {
        "default_project_id": row.default_project_id,
        "email": row.email,
        "description": row.description,
    }
    return body | {key: value for key, value in optional.items() if value is not None}


def role(row: Role, origin: str) -> Json:
    """Return the JSON body of a role."""
    return {
        "id": row.id,
        "name": row.name,
        "domain_id": row.domain_id,
        "description": row.description,
        "options": {},
        "links": _links(origin, "roles", row.id),
    }


def service(row: CatalogService, origin: str) -> Json:
    """Return the JSON body of a service."""
    return {
        "id": row.id,
        "name": row.name,
        "type": row.type,
        "description": row.description,
        "enabled": row.enabled,
        "links": _links(origin, "services", row.id),
    }


def endpoint(row: Endpoint, origin: str) -> Json:
    """Return the JSON body of an endpoint."""
    return {
        "id": row.id,
        "service_id": row.service_id,
        "interface": row.interface,
        "url": address(row, origin),
        "region": row.region_id,
        "region_id": row.region_id,
        "enabled": row.enabled,
        "links": _links(origin, "endpoints", row.id),
    }


def address(row: Endpoint, origin: str) -> str:
    """Return the full URL of an endpoint."""
    return origin + row.url if row.url.startswith("/") else row.url


def region(row: Region, origin: str) -> Json:
    """Return the JSON body of a region."""
    return {
        "id": row.id,
        "description": row.description,
        "parent_region_id": None,
        "links": _links(origin, "regions", row.id),
    }


def registered_limit(row: RegisteredLimit, origin: str) -> Json:
    """Return the JSON body of a registered limit."""
    return {**asdict(row), "links": _links(origin, "registered_limits", row.id)}


def limit(row: ProjectLimit, origin: str) -> Json:
    """Return the JSON body of a project's limit."""
    return {**asdict(row), "domain_id": None, "links": _links(origin, "limits", row.id)}


def trust(row: Trust, identity: Identity, origin: str) -> Json:
    """Return the JSON body of a trust."""
    known = [identity.roles[role_id] for role_id in row.role_ids if role_id in identity.roles]
    return {
        "id": row.id,
        "trustor_user_id": row.trustor_user_id,
        "trustee_user_id": row.trustee_user_id,
        "project_id": row.project_id,
        "impersonation": row.impersonation,
        "expires_at": instant(row.expires_at),
        "deleted_at": None,
        "remaining_uses": row.remaining_uses,
        "redelegation_count": row.redelegation_count,
        "redelegated_trust_id": None,
        "roles": [role(one, origin) for one in known],
        "roles_links": {
            "self": f"{origin}/v3/OS-TRUST/trusts/{row.id}/roles",
            "next": None,
            "previous": None,
        },
        "links": _links(origin, "OS-TRUST", "trusts", row.id),
    }


def application_credential(row: ApplicationCredential, identity: Identity, origin: str) -> Json:
    """Return the JSON body of an application credential, without its secret."""
    known = [identity.roles[role_id] for role_id in row.role_ids if role_id in identity.roles]
    return {
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "user_id": row.user_id,
        "project_id": row.project_id,
        "roles": [{"id": one.id, "name": one.name, "domain_id": one.domain_id} for one in known],
        "expires_at": _microseconds(row.expires_at),
        "unrestricted": row.unrestricted,
        "system": None,
        "links": _links(origin, "users", row.user_id, "application_credentials", row.id),
    }


def _microseconds(moment: datetime | None) -> str | None:
    """Return a time in Keystone's format for application credentials, which has no zone."""
    return None if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


def assignment(row: Assignment, identity: Identity, role_row: Role, *, names: bool, origin: str) -> Json:
    """Return the JSON body of a role assignment, with names if ``names`` is set."""
    user_body: Json = {"id": row.user_id}
    role_body: Json = {"id": role_row.id}
    scope_body: Json = {"id": row.scope.id}
    if names:
        owner = identity.users.get(row.user_id)
        user_body |= {
            "name": owner.name if owner else "",
            "domain": domain_ref(identity, owner.domain_id if owner else ""),
        }
        role_body["name"] = role_row.name
        if row.scope.kind is ScopeKind.PROJECT and row.scope.id in identity.projects:
            where = identity.projects[row.scope.id]
            scope_body |= {"name": where.name, "domain": domain_ref(identity, where.domain_id)}
        elif row.scope.kind is ScopeKind.DOMAIN:
            scope_body = domain_ref(identity, row.scope.id)
    scope: Json = (
        {"system": {"all": True}}
        if row.scope.kind is ScopeKind.SYSTEM
        else {row.scope.kind.value: scope_body}
    )
    where_from = "system" if row.scope.kind is ScopeKind.SYSTEM else f"{row.scope.kind.value}s/{row.scope.id}"
    links = {"assignment": f"{origin}/v3/{where_from}/users/{row.user_id}/roles/{row.role_id}"}
    return {"role": role_body, "user": user_body, "scope": scope, "links": links}


def domain_ref(identity: Identity, domain_id: str) -> Json:
    """Return the id and the name of a domain."""
    row = identity.domains.get(domain_id)
    return {"id": domain_id, "name": row.name if row is not None else domain_id}


OF_PROJECT = "%(project_id)s"
"""In the URL of an endpoint: the project of the token."""


def catalog(identity: Identity, origin: str, project_id: str = "") -> list[Json]:
    """Return the catalog of all services with their endpoints: those of projects, where the token is for
    one."""
    by_service: dict[str, list[Json]] = {}
    for row in identity.endpoints:
        if row.enabled and (project_id or OF_PROJECT not in row.url):
            by_service.setdefault(row.service_id, []).append(
                {
                    "id": row.id,
                    "interface": row.interface,
                    "region": row.region_id,
                    "region_id": row.region_id,
                    "url": address(row, origin).replace(OF_PROJECT, project_id),
                }
            )
    return [
        {"id": row.id, "name": row.name, "type": row.type, "endpoints": by_service.get(row.id, [])}
        for row in identity.services
        if row.enabled
    ]


def token(access: Access, identity: Identity, origin: str, *, with_catalog: bool = True) -> Json:
    """Return the JSON body of a token."""
    issued, owner = access.token, access.user
    body: Json = {
        "methods": list(issued.methods),
        "user": {
            "id": owner.id,
            "name": owner.name,
            "domain": domain_ref(identity, owner.domain_id),
            "password_expires_at": None,
        },
        "audit_ids": list(issued.audit_ids),
        "issued_at": instant(issued.issued_at),
        "expires_at": instant(issued.expires_at),
    }
    if access.trust is not None:
        body["OS-TRUST:trust"] = {
            "id": access.trust.id,
            "impersonation": access.trust.impersonation,
            "trustor_user": {"id": access.trust.trustor_user_id},
            "trustee_user": {"id": access.trust.trustee_user_id},
        }
    credential = access.application_credential
    if credential is not None:
        restricted = not credential.unrestricted
        body["application_credential"] = {
            "id": credential.id,
            "name": credential.name,
            "restricted": restricted,
        }
    if issued.scope.kind is ScopeKind.NONE:
        return {"token": body}
    body["roles"] = [{"id": one.id, "name": one.name} for one in access.roles]
    if access.project is not None:
        body["project"] = {
            "id": access.project.id,
            "name": access.project.name,
            "domain": domain_ref(identity, access.project.domain_id),
        }
        body["is_domain"] = False
    elif issued.scope.kind is ScopeKind.DOMAIN:
        body["domain"] = domain_ref(identity, issued.scope.id)
    else:
        body["system"] = {"all": True}
    if with_catalog:
        body["catalog"] = catalog(identity, origin, access.project_id)
    return {"token": body}
