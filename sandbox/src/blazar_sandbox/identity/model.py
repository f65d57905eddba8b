"""The values that Keystone keeps."""

import hashlib
import hmac
import secrets
import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

_NAMESPACE = uuid.UUID("5b1f0c1a-2b7e-5c55-9a43-2f6c6ad3a1d5")


def stable_id(*words: str) -> str:
    """Return the id of an object of the initial content, which is the same in every sandbox."""
    return uuid.uuid5(_NAMESPACE, "/".join(words)).hex


def stable_uuid(*words: str) -> str:
    """Return a stable id with dashes, as services other than Keystone write ids."""
    return str(uuid.UUID(stable_id(*words)))


def new_id() -> str:
    """Return a new id in Keystone's format, which is 32 hexadecimal digits."""
    return uuid.uuid4().hex


class ScopeKind(StrEnum):
    """The kind of the scope of a token or a role assignment."""

    NONE = "none"
    PROJECT = "project"
    DOMAIN = "domain"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope of a token or a role assignment: a kind, and the id of the project or domain."""

    kind: ScopeKind = ScopeKind.NONE
    id: str = ""


@dataclass(frozen=True, slots=True)
class Domain:
    """A container of users and projects."""

    id: str
    name: str
    enabled: bool = True
    description: str = ""


@dataclass(frozen=True, slots=True)
class Project:
    """A tenant."""

    id: str
    name: str
    domain_id: str = "default"
    enabled: bool = True
    description: str = ""
    parent_id: str = "default"


@dataclass(frozen=True, slots=True)
class User:
    """An account; the password is stored as salt and hash."""

    id: str
    name: str
    domain_id: str = "default"
    enabled: bool = True
    password: str = ""
    default_project_id: str | None = None
    email: str | None = None
    description: str | None = None
    tokens_valid_from: datetime | None = None
    """Tokens issued earlier are invalid; set when the password changes."""

    def has_password(self, password: str) -> bool:
        """Return whether this is the user's password."""
        return matches_hash(self.password, password)


def matches_hash(kept: str, secret: str) -> bool:
    """Return whether a salt and hash, as ``hash_secret`` returns them, belong to this secret."""
    salt, _, digest = kept.partition("$")
    return bool(digest) and hmac.compare_digest(digest, _digest(salt, secret))


def hash_secret(password: str) -> str:
    """Return a new salt and the hash of a password or a secret.

    One round of SHA-256 keeps it out of snapshots and files, but does not protect it as Keystone's bcrypt
    does, which takes 0.3 s.
    """
    salt = secrets.token_hex(8)
    return f"{salt}${_digest(salt, password)}"


def _digest(salt: str, password: str) -> str:
    return hashlib.sha256((salt + password).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Role:
    """A named set of permissions."""

    id: str
    name: str
    description: str | None = None
    domain_id: str | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """The role of a user in a scope."""

    user_id: str
    role_id: str
    scope: Scope

    @property
    def key(self) -> str:
        """The key in the table of assignments."""
        return f"{self.user_id}/{self.scope.kind}/{self.scope.id}/{self.role_id}"


@dataclass(frozen=True, slots=True)
class Trust:
    """The trustor lets the trustee act with some of the trustor's roles in a project."""

    id: str
    trustor_user_id: str
    trustee_user_id: str
    project_id: str
    impersonation: bool
    role_ids: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None
    remaining_uses: int | None = None
    allow_redelegation: bool = False
    redelegation_count: int = 0


@dataclass(frozen=True, slots=True)
class ApplicationCredential:
    """A secret with which a user's programs get tokens of one project; it is stored as salt and hash."""

    id: str
    name: str
    user_id: str
    project_id: str
    secret: str
    role_ids: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None
    description: str | None = None
    unrestricted: bool = False
    """Its tokens may create and delete application credentials and trusts."""

    def has_secret(self, secret: str) -> bool:
        """Return whether this is the credential's secret."""
        return matches_hash(self.secret, secret)


@dataclass(frozen=True, slots=True)
class Token:
    """A token. Its roles are looked up at each use."""

    id: str
    user_id: str
    scope: Scope
    methods: tuple[str, ...]
    issued_at: datetime
    expires_at: datetime
    audit_ids: tuple[str, ...]
    trust_id: str | None = None
    application_credential_id: str | None = None


@dataclass(frozen=True, slots=True)
class CatalogService:
    """A service in the catalog."""

    id: str
    name: str
    type: str
    description: str = ""
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint of a service. A URL that starts with ``/`` belongs to the sandbox's own origin."""

    id: str
    service_id: str
    interface: str
    url: str
    region_id: str = "RegionOne"
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Region:
    """A region of the cloud."""

    id: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class RegisteredLimit:
    """The limit of all projects that have none of their own, for a resource of a service; -1 for none."""

    id: str
    service_id: str
    region_id: str | None
    resource_name: str
    default_limit: int
    description: str = ""


@dataclass(frozen=True, slots=True)
class ProjectLimit:
    """The limit of one project."""

    id: str
    service_id: str
    region_id: str | None
    resource_name: str
    resource_limit: int
    project_id: str
    description: str = ""
