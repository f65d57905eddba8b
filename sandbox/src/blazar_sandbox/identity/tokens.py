"""How does somebody prove who they are, and is a token still good?"""

import secrets
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from blazar_sandbox.errors import ApiError, bad_request, forbidden, not_found
from blazar_sandbox.identity.access import Access
from blazar_sandbox.identity.model import Domain, Project, Role, Scope, ScopeKind, Token, Trust, User
from blazar_sandbox.identity.state import Identity
from blazar_sandbox.wsgi.message import Json

# A service may still show an expired token for so long, when it works on for a user (``allow_expired``).
ALLOW_EXPIRED = timedelta(days=2)


def unauthorized() -> ApiError:
    """Refuse without telling why, as Keystone does."""
    return ApiError(401, "The request you have made requires authentication.")


@dataclass(frozen=True, slots=True)
class _Proof:
    """Who authenticated, how, and what an earlier token limits it to."""

    user: User
    methods: tuple[str, ...]
    token: Token | None = None


class Tokens:
    """Authentication and validation."""

    def __init__(self, identity: Identity, lifetime: timedelta) -> None:
        self._identity = identity
        self.lifetime = lifetime
        self._purge_at = identity.clock.now() + ALLOW_EXPIRED

    def authenticate(self, auth: Json) -> Access:
        """Check an ``auth`` object and issue a token."""
        proof = self._prove(auth.get("identity"))
        scope, trust = self._scope(auth.get("scope"), proof)
        if trust is not None and trust.remaining_uses is not None:
            self._use_up(trust)
        token = self._issue(proof, scope, trust)
        access = self._resolve(token)
        self._identity.tokens.put(token.id, token)
        self._purge()
        return access

    def access(self, token_id: str, *, allow_expired: bool = False) -> Access:
        """Tell what a token allows now; an invalid one is refused with 401."""
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
        """End a token."""
        if self._identity.tokens.drop(token_id) is None:
            raise not_found("Could not find token.")

    def _prove(self, identity: Any) -> _Proof:
        if not isinstance(identity, dict) or not isinstance(identity.get("methods"), list):
            raise bad_request("Expecting to find identity in auth. The server could not comply with the request.")
        methods = [method for method in identity["methods"] if isinstance(method, str)]
        proof: _Proof | None = None
        for method in methods:
            one = self._by_method(method, identity.get(method))
            if proof is not None and proof.user.id != one.user.id:
                raise unauthorized()
            proof = one if proof is None or one.token is not None else proof
        if proof is None:
            raise unauthorized()
        return replace(proof, methods=tuple(dict.fromkeys((*methods, *proof.methods))))

    def _by_method(self, method: str, data: Any) -> _Proof:
        if not isinstance(data, dict):
            raise bad_request(f"Expecting to find {method} in identity.")
        if method == "password":
            return _Proof(self._by_password(data.get("user")), ("password",))
        if method == "token":
            before = self.access(str(data.get("id")))
            if before.trust is not None:
                raise forbidden(
                    "You are not authorized to perform the requested action: a trust token cannot be rescoped."
                )
            return _Proof(before.user, before.token.methods, before.token)
        raise unauthorized()

    def _by_password(self, data: Any) -> User:
        if not isinstance(data, dict):
            raise bad_request("Expecting to find user in password.")
        user = self._find_user(data)
        password = data.get("password")
        if user is None or not isinstance(password, str) or not user.knows(password) or not user.enabled:
            raise unauthorized()
        return user

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

    def _scope(self, scope: Any, proof: _Proof) -> tuple[Scope, Trust | None]:
        if scope == "unscoped":
            return Scope(), None
        if scope is None:
            return self._default_scope(proof.user), None
        if not isinstance(scope, dict):
            raise bad_request("Expecting scope to be an object.")
        if "OS-TRUST:trust" in scope:
            trust = self._usable_trust(scope["OS-TRUST:trust"], proof.user)
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
        """Scope to the user's own project, if there is a role in it; else to nothing."""
        if user.default_project_id is None or user.default_project_id not in self._identity.projects:
            return Scope()
        scope = Scope(ScopeKind.PROJECT, user.default_project_id)
        return scope if self._identity.direct_roles(user.id, scope) else Scope()

    def _usable_trust(self, data: Any, user: User) -> Trust:
        trust_id = str(data.get("id")) if isinstance(data, dict) else ""
        trust = self._identity.trusts.get(trust_id)
        if trust is None or (trust.expires_at is not None and trust.expires_at <= self._identity.clock.now()):
            raise not_found(f"Could not find trust: {trust_id}.")
        if trust.trustee_user_id != user.id:
            raise forbidden("User is not a trustee.")
        return trust

    def _use_up(self, trust: Trust) -> None:
        left = (trust.remaining_uses or 0) - 1
        if left < 0:
            raise not_found(f"Could not find trust: {trust.id}.")
        self._identity.trusts.put(trust.id, replace(trust, remaining_uses=left))

    def _issue(self, proof: _Proof, scope: Scope, trust: Trust | None) -> Token:
        now = self._identity.clock.now()
        expires_at = now + self.lifetime
        user_id = proof.user.id
        audit_ids: tuple[str, ...] = (secrets.token_urlsafe(16),)
        if proof.token is not None:
            # A new token from an old one lives no longer than that, or nobody would ever have to log in again.
            expires_at = min(expires_at, proof.token.expires_at)
            audit_ids = (*audit_ids, proof.token.audit_ids[-1])
        if trust is not None:
            user_id = trust.trustor_user_id if trust.impersonation else trust.trustee_user_id
            expires_at = min(expires_at, trust.expires_at or expires_at)
        return Token(
            id="sandbox-" + secrets.token_urlsafe(40),
            user_id=user_id,
            scope=scope,
            methods=proof.methods,
            issued_at=now,
            expires_at=expires_at,
            audit_ids=audit_ids,
            trust_id=trust.id if trust is not None else None,
        )

    def _resolve(self, token: Token) -> Access:
        """Look up what a token stands for; raise if it stands for nothing any more."""
        user = self._identity.users.get(token.user_id)
        if user is None or not user.enabled:
            raise unauthorized()
        if user.tokens_valid_from is not None and token.issued_at < user.tokens_valid_from:
            raise unauthorized()
        trust = self._identity.trusts.get(token.trust_id) if token.trust_id is not None else None
        if token.trust_id is not None and trust is None:
            raise unauthorized()
        project = None
        if token.scope.kind is ScopeKind.PROJECT:
            project = self._identity.projects.get(token.scope.id)
            if project is None or not project.enabled:
                raise unauthorized()
        roles = self._trust_roles(trust) if trust is not None else self._roles(user, token.scope)
        return Access(token, user, roles, project, trust)

    def _roles(self, user: User, scope: Scope) -> tuple[Role, ...]:
        if scope.kind is ScopeKind.NONE:
            return ()
        roles = self._identity.effective_roles(user.id, scope)
        if not roles:
            raise unauthorized()
        return roles

    def _trust_roles(self, trust: Trust) -> tuple[Role, ...]:
        """Give the roles that the trust passes on, all of which the trustor must still have."""
        identity = self._identity
        trustor = identity.users.get(trust.trustor_user_id)
        trustee = identity.users.get(trust.trustee_user_id)
        if trustor is None or trustee is None:
            raise unauthorized()
        if not (trustor.enabled and trustee.enabled):
            raise forbidden("Trustor is disabled.")
        held = {role.id for role in identity.effective_roles(trustor.id, Scope(ScopeKind.PROJECT, trust.project_id))}
        if not held.issuperset(trust.role_ids):
            raise forbidden("You are not authorized to perform the requested action.")
        return identity.with_implied(identity.roles[role_id] for role_id in trust.role_ids)

    def _purge(self) -> None:
        """Forget, now and then, tokens that nobody can use any more."""
        now = self._identity.clock.now()
        if now < self._purge_at:
            return
        self._purge_at = now + timedelta(minutes=10)
        for key, token in list(self._identity.tokens.items()):
            if token.expires_at + ALLOW_EXPIRED <= now:
                self._identity.tokens.drop(key)
