"""What may the bearer of a token do at this moment?"""

from dataclasses import dataclass

from blazar_sandbox.errors import forbidden
from blazar_sandbox.identity.model import Project, Role, ScopeKind, Token, Trust, User


@dataclass(frozen=True, slots=True)
class Access:
    """A valid token with everything it stands for."""

    token: Token
    user: User
    roles: tuple[Role, ...]
    project: Project | None = None
    trust: Trust | None = None

    @property
    def project_id(self) -> str:
        """The project in which the caller acts; empty without one."""
        return self.project.id if self.project is not None else ""

    def has(self, *names: str) -> bool:
        """Tell whether the caller has at least one of these roles."""
        return any(role.name in names for role in self.roles)

    @property
    def is_admin(self) -> bool:
        """Tell whether the caller may use administrators' calls."""
        return self.has("admin")

    @property
    def scope_kind(self) -> ScopeKind:
        """What the token is scoped to."""
        return self.token.scope.kind

    def must_be_admin(self, rule: str) -> None:
        """Refuse, as Nova words it, whoever is not an administrator."""
        if not self.is_admin:
            raise forbidden(f"Policy doesn't allow {rule} to be performed.", code="PolicyNotAuthorized")

    def owns(self, project_id: str) -> bool:
        """Tell whether something of this project is the caller's business."""
        return self.is_admin or self.project_id == project_id
