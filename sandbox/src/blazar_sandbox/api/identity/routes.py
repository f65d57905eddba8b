"""Keystone's route table."""

from blazar_sandbox.api.identity import application_credentials, auth, limits, role_assignments, trusts
from blazar_sandbox.api.identity.collections import COLLECTIONS
from blazar_sandbox.wsgi.routing import Route

ROUTES = [
    Route("GET", "/", auth.show_version, needs_token=False),
    Route("POST", "/auth/tokens", auth.issue_token, needs_token=False),
    Route("GET", "/auth/tokens", auth.validate_token),
    Route("DELETE", "/auth/tokens", auth.revoke_token),
    Route("GET", "/auth/catalog", auth.auth_catalog),
    Route("GET", "/auth/projects", auth.auth_projects),
    Route("GET", "/auth/domains", auth.auth_domains),
    Route("GET", "/auth/system", auth.auth_system),
    Route("GET", "/OS-TRUST/trusts", trusts.index),
    Route("POST", "/OS-TRUST/trusts", trusts.create),
    Route("GET", "/OS-TRUST/trusts/{trust_id}", trusts.show),
    Route("DELETE", "/OS-TRUST/trusts/{trust_id}", trusts.delete),
    Route("GET", "/OS-TRUST/trusts/{trust_id}/roles", trusts.list_roles),
    Route("GET", "/OS-TRUST/trusts/{trust_id}/roles/{role_id}", trusts.show_role),
    *(route for collection in COLLECTIONS for route in collection.routes()),
    *limits.ROUTES,
    *role_assignments.ROUTES,
    *application_credentials.ROUTES,
]
