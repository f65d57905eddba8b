"""Authentication, and validation of tokens."""

import secrets
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from blazar_sandbox.errors import ApiError, bad_request, forbidden, not_found
from blazar_sandbox.fields import Json
from blazar_sandbox.identity.access import Access
from blazar_sandbox.identity.delegation import expired
from blazar_sandbox.identity.model import (
    ApplicationCredential,
    Domain,
    Project,
    Role,
    Scope,
    ScopeKind,
    Token,
    Trust,
    User,
)
from blazar_sandbox.identity.state import Identity

# Time after its expiry during which a service may still use a token for its user (``allow_expired``).
ALLOW_EXPIRED = timedelta(days=2)


def unauthorized() -> ApiError:
    """Return the error for failed authentication, which does not give the reason."""
    return ApiError(401, "The request you have made requires authentication.")


@dataclass(frozen=True, slots=True)
class _Login:
    """The result of authentication: the user, the methods, and the token or application credential used."""

    user: User
    methods: tuple[str, ...]
    token: Token | None = None
    application_credential: ApplicationCredential | None = None


class Tokens:
    """Authentication of users, and validation of tokens."""

    def __init__(self, identity: Identity, lifetime: timedelta) -> None:
        self._identity = identity
        self.lifetime = lifetime
        self._purge_at = identity.clock.now() + ALLOW_EXPIRED

    def authenticate(self, auth: Json) -> Access:
        """Check an ``auth`` object and issue a token."""
        login = self._log_in(auth.get("identity"))
        if login.application_credential is not None and "scope" in auth:
            raise unauthorized()  # an application credential has a scope of its own
        scope, trust = self._scope(auth.get("scope"), login)
        if trust is not None and trust.remaining_uses is not None:
            self._use_up(trust)
        token = self._issue(login, scope, trust)
        access = self._resolve(token)
        self._identity.tokens.put(token.id, token)
        self._purge()
        return access

    def access(self, token_id: str, *, allow_expired: bool = False) -> Access:
        """Return the access that a token gives now; raise 401 for an invalid token."""
        token = self._identity.tokens.get(token_id)
        if token is None:
            raise unauthorized()
        grace = ALLOW_EXPIRED if allow_expired else timedelta()
        if token.expires_at + grace <= self._identity.clock.now():
            raise unauthorized()
        try:
            return self._resolve(token)
        except ApiError:
            raise unauthorized() from None

    def revoke(self, token_id: str) -> None:
        """Revoke a token."""
        if self._identity.tokens.drop(token_id) is None:
            raise not_found("Could not find token.")

    def _log_in(self, identity: Any) -> _Login:
        if not isinstance(identity, dict) or not isinstance(identity.get("methods"), list):
            raise bad_request(
                "Expecting to find identity in auth. The server could not comply with the request."
            )
        methods = [method for method in identity["methods"] if isinstance(method, str)]
        if "application_credential" in methods and len(methods) > 1:
            raise unauthorized()
        login: _Login | None = None
        for method in methods:
            one = self._by_method(method, identity.get(method))
            if login is not None and login.user.id != one.user.id:
                raise unauthorized()
            login = one if login is None or one.token is not None else login
        if login is None:
            raise unauthorized()
        return replace(login, methods=tuple(dict.fromkeys((*methods, *login.methods))))

    def _by_method(self, method: str, data: Any) -> _Login:
        if not isinstance(data, dict):
            raise bad_request(f"Expecting to find {method} in identity.")
        if method == "password":
            return _Login(self._by_password(data.get("user")), ("password",))
        if method == "token":
            before = self.access(str(data.get("id")))
            if before.trust is not None or before.application_credential is not None:
                raise forbidden(
                    "You are not authorized to perform the requested action: "
                    "the token of a trust or of an application credential cannot be rescoped."
                )
            return _Login(before.user, before.token.methods, before.token)
        if method == "application_credential":
            return self._by_application_credential(data)
        raise unauthorized()

    def _by_password(self, data: Any) -> User:
        if not isinstance(data, dict):
            raise bad_request("Expecting to find user in password.")
        user = self._find_user(data)
        password = data.get("password")
        if (
            user is None
            or not isinstance(password, str)
            or not user.has_password(password)
            or not user.enabled
        ):
            raise unauthorized()
        return user

    def _by_application_credential(self, data: Json) -> _Login:
        """Check the secret of an application credential, which is named by id or by name and user."""
        row = self._find_application_credential(data)
        secret = data.get("secret")
        if row is None or not isinstance(secret, str) or not row.has_secret(secret):
            raise unauthorized()
        user = self._identity.users.get(row.user_id)
        if user is None or expired(row.expires_at, self._identity.clock.now()):
            raise unauthorized()
        return _Login(user, ("application_credential",), application_credential=row)

    def _find_application_credential(self, data: Json) -> ApplicationCredential | None:
        if isinstance(data.get("id"), str):
            return self._identity.application_credentials.get(data["id"])
        name, user_data = data.get("name"), data.get("user")
        user = self._find_user(user_data) if isinstance(user_data, dict) else None
        if not isinstance(name, str) or user is None:
            return None
        return self._identity.application_credential_named(user.id, name)

    def _find_user(self, data: Json) -> User | None:
        if isinstance(data.get("id"), str):
            return self._identity.users.get(data["id"])
        name = data.get("name")
        domain = self._find_domain(data.get("domain"))
        if not isinstance(name, str) or domain is None:
            return None
        return self._identity.user_named(name, domain.id)

    def _find_domain(self, data: Any) -> Domain | None:
        if not isinstance(data, dict):
            return None
        if isinstance(data.get("id"), str):
            return self._identity.domains.get(data["id"])
        name = data.get("name")
        return self._identity.domain_named(name) if isinstance(name, str) else None

    def _find_project(self, data: Any) -> Project | None:
        if not isinstance(data, dict):
            return None
        if isinstance(data.get("id"), str):
            return self._identity.projects.get(data["id"])
        name, domain = data.get("name"), self._find_domain(data.get("domain"))
        if not isinstance(name, str) or domain is None:
            return None
        return self._identity.project_named(name, domain.id)

    def _scope(self, scope: Any, login: _Login) -> tuple[Scope, Trust | None]:
        if login.application_credential is not None:
            return Scope(ScopeKind.PROJECT, login.application_credential.project_id), None
        if scope == "unscoped":
            return Scope(), None
        if scope is None:
            return self._default_scope(login.user), None
        if not isinstance(scope, dict):
            raise bad_request("Expecting scope to be an object.")
        if "OS-TRUST:trust" in scope:
            trust = self._usable_trust(scope["OS-TRUST:trust"], login.user)
            return Scope(ScopeKind.PROJECT, trust.project_id), trust
        if "system" in scope:
            return Scope(ScopeKind.SYSTEM, "all"), None
        if "project" in scope:
            project = self._find_project(scope["project"])
            if project is None or not project.enabled:
                raise unauthorized()
            return Scope(ScopeKind.PROJECT, project.id), None
        domain = self._find_domain(scope.get("domain"))
        if domain is None or not domain.enabled:
            raise unauthorized()
        return Scope(ScopeKind.DOMAIN, domain.id), None

    def _default_scope(self, user: User) -> Scope:
        """Return the scope of the user's default project, or none if the user has no role in it."""
        if user.default_project_id is None or user.default_project_id not in self._identity.projects:
            return Scope()
        scope = Scope(ScopeKind.PROJECT, user.default_project_id)
        return scope if self._identity.direct_roles(user.id, scope) else Scope()

    def _usable_trust(self, data: Any, user: User) -> Trust:
        trust_id = str(data.get("id")) if isinstance(data, dict) else ""
        trust = self._identity.trusts.get(trust_id)
        if trust is None or expired(trust.expires_at, self._identity.clock.now()):
            raise not_found(f"Could not find trust: {trust_id}.")
        if trust.trustee_user_id != user.id:
            raise forbidden("User is not a trustee.")
        return trust

    def _use_up(self, trust: Trust) -> None:
        left = (trust.remaining_uses or 0) - 1
        if left < 0:
            raise not_found(f"Could not find trust: {trust.id}.")
        self._identity.trusts.put(trust.id, replace(trust, remaining_uses=left))

    def _issue(self, login: _Login, scope: Scope, trust: Trust | None) -> Token:
        now = self._identity.clock.now()
        expires_at = now + self.lifetime
        user_id = login.user.id
        audit_ids: tuple[str, ...] = (secrets.token_urlsafe(16),)
        if login.token is not None:
            # A token from a token lives no longer, or a user would never have to authenticate again.
            expires_at = min(expires_at, login.token.expires_at)
            audit_ids = (*audit_ids, login.token.audit_ids[-1])
        credential = login.application_credential
        if credential is not None:
            expires_at = min(expires_at, credential.expires_at or expires_at)
        if trust is not None:
            user_id = trust.trustor_user_id if trust.impersonation else trust.trustee_user_id
            expires_at = min(expires_at, trust.expires_at or expires_at)
        return Token(
            id="sandbox-" + secrets.token_urlsafe(40),
            user_id=user_id,
            scope=scope,
            methods=login.methods,
            issued_at=now,
            expires_at=expires_at,
            audit_ids=audit_ids,
            trust_id=trust.id if trust is not None else None,
            application_credential_id=credential.id if credential is not None else None,
        )

    def _resolve(self, token: Token) -> Access:
        """Return the access that a token gives; raise if its user, project, trust or roles are gone."""
        user = self._identity.users.get(token.user_id)
        if user is None or not user.enabled:
            raise unauthorized()
        if user.tokens_valid_from is not None and token.issued_at < user.tokens_valid_from:
            raise unauthorized()
        trust = self._identity.trusts.get(token.trust_id) if token.trust_id is not None else None
        if token.trust_id is not None and trust is None:
            raise unauthorized()
        credential = None
        if token.application_credential_id is not None:
            credential = self._identity.application_credentials.get(token.application_credential_id)
            if credential is None:
                raise unauthorized()
        project = None
        if token.scope.kind is ScopeKind.PROJECT:
            project = self._identity.projects.get(token.scope.id)
            if project is None or not project.enabled:
                raise unauthorized()
        roles = self._trust_roles(trust) if trust is not None else self._roles(user, token.scope)
        if credential is not None:
            roles = self._credential_roles(credential, roles)
        return Access(token, user, roles, project, trust, credential)

    def _roles(self, user: User, scope: Scope) -> tuple[Role, ...]:
        if scope.kind is ScopeKind.NONE:
            return ()
        roles = self._identity.effective_roles(user.id, scope)
        if not roles:
            raise unauthorized()
        return roles

    def _credential_roles(
        self, credential: ApplicationCredential, held: tuple[Role, ...]
    ) -> tuple[Role, ...]:
        """Return the roles of an application credential that its user still holds, and the implied ones."""
        roles = self._identity.with_implied(role for role in held if role.id in credential.role_ids)
        if not roles:
            raise unauthorized()
        return roles

    def _trust_roles(self, trust: Trust) -> tuple[Role, ...]:
        """Return the roles that a trust delegates, all of which the trustor must still have."""
        identity = self._identity
        trustor = identity.users.get(trust.trustor_user_id)
        trustee = identity.users.get(trust.trustee_user_id)
        if trustor is None or trustee is None:
            raise unauthorized()
        if not (trustor.enabled and trustee.enabled):
            raise forbidden("Trustor is disabled.")
        held = {
            role.id
            for role in identity.effective_roles(trustor.id, Scope(ScopeKind.PROJECT, trust.project_id))
        }
        if not held.issuperset(trust.role_ids):
            raise forbidden("You are not authorized to perform the requested action.")
        return identity.with_implied(identity.roles[role_id] for role_id in trust.role_ids)

    def _purge(self) -> None:
        """Delete, every ten minutes, the tokens that have expired for good."""
        now = self._identity.clock.now()
        if now < self._purge_at:
            return
        self._purge_at = now + timedelta(minutes=10)
        for key, token in list(self._identity.tokens.items()):
            if token.expires_at + ALLOW_EXPIRED <= now:
                self._identity.tokens.drop(key)
