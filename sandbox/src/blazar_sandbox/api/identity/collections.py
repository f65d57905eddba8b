"""The collections of Keystone's API: their fields, and how rows are created and deleted."""

from typing import Any

from blazar_sandbox import fields
from blazar_sandbox.api.identity import render
from blazar_sandbox.api.identity.collection import Collection, required
from blazar_sandbox.errors import conflict, forbidden, not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.identity.model import (
    CatalogService,
    Domain,
    Endpoint,
    Project,
    Region,
    Role,
    User,
    new_id,
)
from blazar_sandbox.identity.state import Identity


def _make_user(identity: Identity, body: Json) -> User:
    row = User(
        id=new_id(),
        name=required(body, "name"),
        domain_id=_domain(identity, body),
        enabled=fields.boolean(body, "enabled", default=True),
        default_project_id=fields.string_or_none(body, "default_project_id"),
        email=fields.string_or_none(body, "email"),
        description=fields.string_or_none(body, "description"),
    )
    return identity.add_user(row, fields.string_or_none(body, "password"))


def _change_password(identity: Identity, row: User, body: Json) -> User:
    password = fields.string_or_none(body, "password")
    return row if password is None else identity.set_password(row, password)


def _make_project(identity: Identity, body: Json) -> Project:
    domain_id = _domain(identity, body)
    row = Project(
        id=new_id(),
        name=required(body, "name"),
        domain_id=domain_id,
        enabled=fields.boolean(body, "enabled", default=True),
        description=fields.string_or_none(body, "description") or "",
        parent_id=fields.string_or_none(body, "parent_id") or domain_id,
    )
    return identity.add_project(row)


def _domain(identity: Identity, body: Json) -> str:
    domain_id = fields.string_or_none(body, "domain_id") or "default"
    if domain_id not in identity.domains:
        raise not_found(f"Could not find domain: {domain_id}.")
    return domain_id


def _make_domain(identity: Identity, body: Json) -> Domain:
    name = required(body, "name")
    if identity.domain_named(name) is not None:
        raise conflict(
            f"Conflict occurred attempting to store domain - Duplicate entry found with name {name}."
        )
    row = Domain(new_id(), name, description=fields.string_or_none(body, "description") or "")
    identity.domains.put(row.id, row)
    return row


def _remove_domain(identity: Identity, domain_id: str) -> None:
    if identity.domains[domain_id].enabled:
        raise forbidden("Cannot delete a domain that is enabled, please disable it first.")
    identity.domains.drop(domain_id)


def _make_role(identity: Identity, body: Json) -> Role:
    name = required(body, "name")
    if identity.role_named(name) is not None:
        raise conflict(
            f"Conflict occurred attempting to store role - Duplicate entry found with name {name}."
        )
    row = Role(new_id(), name, fields.string_or_none(body, "description"))
    identity.roles.put(row.id, row)
    return row


def _make_service(identity: Identity, body: Json) -> CatalogService:
    row = CatalogService(
        new_id(),
        fields.string_or_none(body, "name") or "",
        required(body, "type"),
        fields.string_or_none(body, "description") or "",
        fields.boolean(body, "enabled", default=True),
    )
    identity.services.put(row.id, row)
    return row


def _remove_service(identity: Identity, service_id: str) -> None:
    for key, endpoint in list(identity.endpoints.items()):
        if endpoint.service_id == service_id:
            identity.endpoints.drop(key)
    identity.services.drop(service_id)


def _make_endpoint(identity: Identity, body: Json) -> Endpoint:
    service_id = required(body, "service_id")
    if service_id not in identity.services:
        raise not_found(f"Could not find service: {service_id}.")
    region = fields.string_or_none(body, "region_id") or fields.string_or_none(body, "region") or "RegionOne"
    if region not in identity.regions:
        identity.regions.put(region, Region(region))
    row = Endpoint(new_id(), service_id, required(body, "interface"), required(body, "url"), region)
    identity.endpoints.put(row.id, row)
    return row


def _make_region(identity: Identity, body: Json) -> Region:
    row = Region(
        fields.string_or_none(body, "id") or new_id(), fields.string_or_none(body, "description") or ""
    )
    if row.id in identity.regions:
        raise conflict(f"Conflict occurred attempting to store region - Duplicate ID, {row.id}.")
    identity.regions.put(row.id, row)
    return row


COLLECTIONS: tuple[Collection[Any], ...] = (
    Collection(
        "user", "users", lambda identity: identity.users, render.user,
        ("name", "domain_id", "enabled"), _make_user, Identity.delete_user,
        ("name", "enabled", "default_project_id", "email", "description"), _change_password,
    ),
    Collection(
        "project", "projects", lambda identity: identity.projects, render.project,
        ("name", "domain_id", "enabled", "parent_id"), _make_project, Identity.delete_project,
        ("name", "enabled", "description"),
    ),
    Collection(
        "domain", "domains", lambda identity: identity.domains, render.domain,
        ("name", "enabled"), _make_domain, _remove_domain,
        ("name", "enabled", "description"), read_by_all=True,
    ),
    Collection(
        "role", "roles", lambda identity: identity.roles, render.role,
        ("name",), _make_role, Identity.delete_role,
        ("name", "description"), read_by_all=True,
    ),
    Collection(
        "service", "services", lambda identity: identity.services, render.service,
        ("name", "type"), _make_service, _remove_service,
        ("name", "type", "description", "enabled"),
    ),
    Collection(
        "endpoint", "endpoints", lambda identity: identity.endpoints, render.endpoint,
        ("service_id", "interface", "region_id"), _make_endpoint,
        lambda identity, key: _drop(identity.endpoints.drop(key)),
        ("url", "interface", "region_id", "enabled"),
    ),
    Collection(
        "region", "regions", lambda identity: identity.regions, render.region,
        (), _make_region, lambda identity, key: _drop(identity.regions.drop(key)),
        ("description",), read_by_all=True,
    ),
)  # fmt: skip


def _drop(_row: object) -> None:
    """Discard the removed row, so that a table's ``drop`` fits a callback without a result."""
