"""Keystone's tables: users, projects, roles, role assignments and the rest."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from blazar_sandbox.clock import Clock
from blazar_sandbox.errors import conflict, not_found
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
    Scope,
    ScopeKind,
    Token,
    Trust,
    User,
    hash_secret,
)
from blazar_sandbox.table import Index, Table

# The roles that a role implies, as in a new Keystone.
IMPLIED = {"admin": ("member",), "member": ("reader",)}


class Identity:
    """Keystone's tables, with queries and changes of several tables."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.domains: Table[Domain] = Table("domains", Domain)
        self.projects: Table[Project] = Table("projects", Project)
        self.users: Table[User] = Table("users", User)
        self.roles: Table[Role] = Table("roles", Role)
        self.assignments: Table[Assignment] = Table("assignments", Assignment)
        self.trusts: Table[Trust] = Table("trusts", Trust)
        self.used_trust_keys: set[tuple[object, ...]] = set()
        """Parties, project and expiry of every trust so far: Keystone refuses a second trust with the same.

        A restart forgets them.
        """
        self.application_credentials: Table[ApplicationCredential] = Table(
            "application_credentials", ApplicationCredential
        )
        self.tokens: Table[Token] = Table("tokens", Token)
        self.services: Table[CatalogService] = Table("services", CatalogService)
        self.endpoints: Table[Endpoint] = Table("endpoints", Endpoint)
        self.regions: Table[Region] = Table("regions", Region)
        self.registered_limits: Table[RegisteredLimit] = Table("registered_limits", RegisteredLimit)
        self.limits: Table[ProjectLimit] = Table("limits", ProjectLimit)
        self._users_by_name = Index(self.users, lambda user: ((user.domain_id, user.name.lower()),))
        self._projects_by_name = Index(
            self.projects, lambda project: ((project.domain_id, project.name.lower()),)
        )
        self._domains_by_name = Index(self.domains, lambda domain: (domain.name.lower(),))
        self._roles_by_name = Index(self.roles, lambda role: (role.name.lower(),))
        self._assigned = Index(self.assignments, lambda given: ((given.user_id, given.scope), given.user_id))
        self._assigned_in = Index(self.assignments, lambda given: (given.scope, given.role_id))
        self._application_credentials_of = Index(
            self.application_credentials,
            lambda row: (row.user_id, (row.user_id, row.name), Scope(ScopeKind.PROJECT, row.project_id)),
        )
        self._tokens_of = Index(self.tokens, lambda token: (token.user_id,))

    @property
    def tables(self) -> Iterator[Table[object]]:
        """Every table, for persistence."""
        for table in vars(self).values():
            if isinstance(table, Table):
                yield table

    def domain_named(self, name: str) -> Domain | None:
        """Return a domain by its name, or None."""
        return self._domains_by_name.first(name.lower())

    def user_named(self, name: str, domain_id: str = "default") -> User | None:
        """Return a user by name and domain, or None."""
        return self._users_by_name.first((domain_id, name.lower()))

    def project_named(self, name: str, domain_id: str = "default") -> Project | None:
        """Return a project by name and domain, or None."""
        return self._projects_by_name.first((domain_id, name.lower()))

    def role_named(self, name: str) -> Role | None:
        """Return a role by its name, or None."""
        return self._roles_by_name.first(name.lower())

    def application_credential_named(self, user_id: str, name: str) -> ApplicationCredential | None:
        """Return the application credential of a user by its name, or None."""
        return self._application_credentials_of.first((user_id, name))

    def application_credentials_of(self, user_id: str) -> list[ApplicationCredential]:
        """Return the application credentials of a user, oldest first."""
        return self._application_credentials_of.rows(user_id)

    def add_user(self, user: User, password: str | None) -> User:
        """Create a user."""
        if self.user_named(user.name, user.domain_id) is not None:
            raise conflict(
                f"Conflict occurred attempting to store user - Duplicate entry found with name {user.name}."
            )
        if password is not None:
            user = replace(user, password=hash_secret(password))
        self.users.put(user.id, user)
        return user

    def set_password(self, user: User, password: str) -> User:
        """Change a user's password, which invalidates the user's tokens."""
        user = replace(user, password=hash_secret(password), tokens_valid_from=self.clock.now())
        self.users.put(user.id, user)
        return user

    def add_project(self, project: Project) -> Project:
        """Create a project."""
        if self.project_named(project.name, project.domain_id) is not None:
            raise conflict(
                "Conflict occurred attempting to store project - "
                "it is not permitted to have two projects with the same name in the same domain: "
                f"{project.name}."
            )
        self.projects.put(project.id, project)
        return project

    def assign(self, user_id: str, role_id: str, scope: Scope) -> None:
        """Assign a role."""
        given = Assignment(user_id, role_id, scope)
        self.assignments.put(given.key, given)

    def unassign(self, user_id: str, role_id: str, scope: Scope) -> None:
        """Remove a role assignment, which must exist.

        As in Keystone, the user's application credentials of the project are deleted, whatever their roles.
        """
        if self.assignments.drop(Assignment(user_id, role_id, scope).key) is None:
            raise not_found("Could not find role assignment with role, user or group, and project or domain.")
        for row in self.application_credentials_of(user_id):
            if scope == Scope(ScopeKind.PROJECT, row.project_id):
                self.application_credentials.drop(row.id)

    def delete_user(self, user_id: str) -> None:
        """Delete a user with all role assignments, tokens and application credentials.

        The user's trusts are kept and give no more tokens.
        """
        for key in self._application_credentials_of.keys(user_id):
            self.application_credentials.drop(key)
        for key in self._assigned.keys(user_id):
            self.assignments.drop(key)
        for key in self._tokens_of.keys(user_id):
            self.tokens.drop(key)
        self.users.drop(user_id)

    def delete_project(self, project_id: str) -> None:
        """Delete a project with its role assignments, trusts and application credentials."""
        for key in self._application_credentials_of.keys(Scope(ScopeKind.PROJECT, project_id)):
            self.application_credentials.drop(key)
        for key in self._assigned_in.keys(Scope(ScopeKind.PROJECT, project_id)):
            self.assignments.drop(key)
        for key, trust in list(self.trusts.items()):
            if trust.project_id == project_id:
                self.trusts.drop(key)
        for key, limit in list(self.limits.items()):
            if limit.project_id == project_id:
                self.limits.drop(key)
        self.projects.drop(project_id)

    def delete_role(self, role_id: str) -> None:
        """Delete a role and all of its assignments."""
        for key in self._assigned_in.keys(role_id):
            self.assignments.drop(key)
        self.roles.drop(role_id)

    def direct_roles(self, user_id: str, scope: Scope) -> list[Role]:
        """Return the roles that are assigned in exactly this scope."""
        return [self.roles[given.role_id] for given in self._assigned.rows((user_id, scope))]

    def effective_roles(self, user_id: str, scope: Scope) -> tuple[Role, ...]:
        """Return the assigned roles and the roles that they imply."""
        return self.with_implied(self.direct_roles(user_id, scope))

    def with_implied(self, roles: Iterable[Role]) -> tuple[Role, ...]:
        """Return the given roles and the roles that they imply."""
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
        """Return the projects in which a user has a role."""
        ids = dict.fromkeys(
            given.scope.id for given in self._assigned.rows(user_id) if given.scope.kind is ScopeKind.PROJECT
        )
        return [self.projects[project_id] for project_id in ids if project_id in self.projects]
