"""Which calls does Keystone answer?"""

from blazar_sandbox.identity import auth_api, roles_api
from blazar_sandbox.identity.collections_api import COLLECTIONS
from blazar_sandbox.wsgi.routing import Route

ROUTES = [
    Route("GET", "/", auth_api.show_version, needs_token=False),
    Route("POST", "/auth/tokens", auth_api.issue_token, needs_token=False),
    Route("GET", "/auth/tokens", auth_api.validate_token),
    Route("DELETE", "/auth/tokens", auth_api.revoke_token),
    Route("GET", "/auth/catalog", auth_api.auth_catalog),
    Route("GET", "/auth/projects", auth_api.auth_projects),
    Route("GET", "/auth/domains", auth_api.auth_domains),
    Route("GET", "/auth/system", auth_api.auth_system),
    Route("GET", "/OS-TRUST/trusts", auth_api.index),
    Route("POST", "/OS-TRUST/trusts", auth_api.create),
    Route("GET", "/OS-TRUST/trusts/{trust_id}", auth_api.show),
    Route("DELETE", "/OS-TRUST/trusts/{trust_id}", auth_api.delete),
    Route("GET", "/OS-TRUST/trusts/{trust_id}/roles", auth_api.trust_roles),
    Route("GET", "/OS-TRUST/trusts/{trust_id}/roles/{role_id}", auth_api.trust_role),
    *(route for collection in COLLECTIONS for route in collection.routes()),
    *roles_api.ROUTES,
]
