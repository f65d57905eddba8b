"""The access that a valid token gives."""

from dataclasses import dataclass

from blazar_sandbox.errors import forbidden
from blazar_sandbox.identity.model import ApplicationCredential, Project, Role, ScopeKind, Token, Trust, User


@dataclass(frozen=True, slots=True)
class Access:
    """A valid token with its user, roles and project."""

    token: Token
    user: User
    roles: tuple[Role, ...]
    project: Project | None = None
    trust: Trust | None = None
    application_credential: ApplicationCredential | None = None

    @property
    def project_id(self) -> str:
        """The id of the token's project; empty without one."""
        return self.project.id if self.project is not None else ""

    def has(self, *names: str) -> bool:
        """Return whether the caller has at least one of these roles."""
        return any(role.name in names for role in self.roles)

    @property
    def is_admin(self) -> bool:
        """Return whether the caller is an administrator."""
        return self.has("admin")

    @property
    def scope_kind(self) -> ScopeKind:
        """The kind of the token's scope."""
        return self.token.scope.kind

    def must_be_admin(self, rule: str) -> None:
        """Refuse a caller who is not an administrator, in Nova's words."""
        if not self.is_admin:
            raise forbidden(f"Policy doesn't allow {rule} to be performed.", code="PolicyNotAuthorized")

    def owns(self, project_id: str) -> bool:
        """Return whether the caller may see and change objects of a project."""
        return self.is_admin or self.project_id == project_id
