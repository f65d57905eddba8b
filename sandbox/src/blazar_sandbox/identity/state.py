"""Which users, projects, roles and assignments are there?"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from blazar_sandbox.clock import Clock
from blazar_sandbox.errors import conflict, not_found
from blazar_sandbox.identity.model import (
    Assignment,
    CatalogService,
    Domain,
    Endpoint,
    Project,
    Region,
    Role,
    Scope,
    ScopeKind,
    Token,
    Trust,
    User,
    hidden,
)
from blazar_sandbox.table import Index, Table

# A role on the left brings the ones on the right, as a new Keystone is set up.
IMPLIED = {"admin": ("member",), "member": ("reader",)}


class Identity:
    """Keystone's tables and the questions asked of them."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.domains: Table[Domain] = Table("domains", Domain)
        self.projects: Table[Project] = Table("projects", Project)
        self.users: Table[User] = Table("users", User)
        self.roles: Table[Role] = Table("roles", Role)
        self.assignments: Table[Assignment] = Table("assignments", Assignment)
        self.trusts: Table[Trust] = Table("trusts", Trust)
        self.spent_trusts: set[tuple[object, ...]] = set()
        """Between whom, and to when, there is or was a trust, so that there will be no second one; forgotten at a
        restart."""
        self.tokens: Table[Token] = Table("tokens", Token)
        self.services: Table[CatalogService] = Table("services", CatalogService)
        self.endpoints: Table[Endpoint] = Table("endpoints", Endpoint)
        self.regions: Table[Region] = Table("regions", Region)
        self._users_by_name = Index(self.users, lambda user: ((user.domain_id, user.name.lower()),))
        self._projects_by_name = Index(self.projects, lambda project: ((project.domain_id, project.name.lower()),))
        self._domains_by_name = Index(self.domains, lambda domain: (domain.name.lower(),))
        self._roles_by_name = Index(self.roles, lambda role: (role.name.lower(),))
        self._assigned = Index(self.assignments, lambda given: ((given.user_id, given.scope), given.user_id))
        self._assigned_in = Index(self.assignments, lambda given: (given.scope, given.role_id))
        self._tokens_of = Index(self.tokens, lambda token: (token.user_id,))

    @property
    def tables(self) -> Iterator[Table[object]]:
        """Every table, for keeping them on disk."""
        for table in vars(self).values():
            if isinstance(table, Table):
                yield table

    def domain_named(self, name: str) -> Domain | None:
        """Find a domain by its name."""
        return self._domains_by_name.first(name.lower())

    def user_named(self, name: str, domain_id: str = "default") -> User | None:
        """Find a user by name and domain."""
        return self._users_by_name.first((domain_id, name.lower()))

    def project_named(self, name: str, domain_id: str = "default") -> Project | None:
        """Find a project by name and domain."""
        return self._projects_by_name.first((domain_id, name.lower()))

    def role_named(self, name: str) -> Role | None:
        """Find a role by name."""
        return self._roles_by_name.first(name.lower())

    def add_user(self, user: User, password: str | None) -> User:
        """Create an account."""
        if self.user_named(user.name, user.domain_id) is not None:
            raise conflict(f"Conflict occurred attempting to store user - Duplicate entry found with name {user.name}.")
        if password is not None:
            user = replace(user, password=hidden(password))
        self.users.put(user.id, user)
        return user

    def set_password(self, user: User, password: str) -> User:
        """Change a password; the user's tokens end with the old one."""
        user = replace(user, password=hidden(password), tokens_valid_from=self.clock.now())
        self.users.put(user.id, user)
        return user

    def add_project(self, project: Project) -> Project:
        """Create a project."""
        if self.project_named(project.name, project.domain_id) is not None:
            raise conflict(
                "Conflict occurred attempting to store project - "
                f"it is not permitted to have two projects with the same name in the same domain: {project.name}."
            )
        self.projects.put(project.id, project)
        return project

    def assign(self, user_id: str, role_id: str, scope: Scope) -> None:
        """Give a role."""
        given = Assignment(user_id, role_id, scope)
        self.assignments.put(given.key, given)

    def unassign(self, user_id: str, role_id: str, scope: Scope) -> None:
        """Take a role away; it must have been given."""
        if self.assignments.drop(Assignment(user_id, role_id, scope).key) is None:
            raise not_found("Could not find role assignment with role, user or group, and project or domain.")

    def delete_user(self, user_id: str) -> None:
        """Remove an account with its assignments and tokens; its trusts stay and are dead."""
        for key in self._assigned.keys(user_id):
            self.assignments.drop(key)
        for key in self._tokens_of.keys(user_id):
            self.tokens.drop(key)
        self.users.drop(user_id)

    def delete_project(self, project_id: str) -> None:
        """Remove a project with the assignments and trusts in it."""
        for key in self._assigned_in.keys(Scope(ScopeKind.PROJECT, project_id)):
            self.assignments.drop(key)
        for key, trust in list(self.trusts.items()):
            if trust.project_id == project_id:
                self.trusts.drop(key)
        self.projects.drop(project_id)

    def delete_role(self, role_id: str) -> None:
        """Remove a role and whatever was given with it."""
        for key in self._assigned_in.keys(role_id):
            self.assignments.drop(key)
        self.roles.drop(role_id)

    def direct_roles(self, user_id: str, scope: Scope) -> list[Role]:
        """Give the roles that were assigned just there."""
        return [self.roles[given.role_id] for given in self._assigned.rows((user_id, scope))]

    def effective_roles(self, user_id: str, scope: Scope) -> tuple[Role, ...]:
        """Give the assigned roles and those that they imply."""
        return self.with_implied(self.direct_roles(user_id, scope))

    def with_implied(self, roles: Iterable[Role]) -> tuple[Role, ...]:
        """Add the roles that the given ones imply."""
        found: dict[str, Role] = {}
        waiting = list(roles)
        while waiting:
            role = waiting.pop(0)
            if role.id in found:
                continue
            found[role.id] = role
            for name in IMPLIED.get(role.name, ()):
                implied = self.role_named(name)
                if implied is not None:
                    waiting.append(implied)
        return tuple(found.values())

    def projects_of(self, user_id: str) -> list[Project]:
        """Give the projects in which a user has some role."""
        ids = dict.fromkeys(
            given.scope.id for given in self._assigned.rows(user_id) if given.scope.kind is ScopeKind.PROJECT
        )
        return [self.projects[project_id] for project_id in ids if project_id in self.projects]
