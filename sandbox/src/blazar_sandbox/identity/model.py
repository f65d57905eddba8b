"""What are the things that Keystone knows?"""

import hashlib
import hmac
import secrets
import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

_NAMESPACE = uuid.UUID("5b1f0c1a-2b7e-5c55-9a43-2f6c6ad3a1d5")


def stable_id(*words: str) -> str:
    """Give the id of a thing of the first day: the same in every sandbox and after every restart."""
    return uuid.uuid5(_NAMESPACE, "/".join(words)).hex


def stable_uuid(*words: str) -> str:
    """Give a stable id in the form with dashes, as other services than Keystone write them."""
    return str(uuid.UUID(stable_id(*words)))


def new_id() -> str:
    """Give an id as Keystone makes them: 32 hexadecimal digits."""
    return uuid.uuid4().hex


class ScopeKind(StrEnum):
    """What a token or a role assignment is about."""

    NONE = "none"
    PROJECT = "project"
    DOMAIN = "domain"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Scope:
    """A kind and the id of the project or domain."""

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
    """An account; the password is kept as salt and hash."""

    id: str
    name: str
    domain_id: str = "default"
    enabled: bool = True
    password: str = ""
    default_project_id: str | None = None
    email: str | None = None
    description: str | None = None
    tokens_valid_from: datetime | None = None
    """Tokens issued before do not count any more: the password was changed."""

    def knows(self, password: str) -> bool:
        """Tell whether this is the user's password."""
        salt, _, digest = self.password.partition("$")
        return bool(digest) and hmac.compare_digest(digest, _digest(salt, password))


def hidden(password: str) -> str:
    """Give what is kept of a password.

    One round of SHA-256 keeps it out of sight. It is no protection as a real Keystone's bcrypt is, which takes 0.3 s.
    """
    salt = secrets.token_hex(8)
    return f"{salt}${_digest(salt, password)}"


def _digest(salt: str, password: str) -> str:
    return hashlib.sha256((salt + password).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Role:
    """A named set of rights."""

    id: str
    name: str
    description: str | None = None
    domain_id: str | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """A user has a role somewhere."""

    user_id: str
    role_id: str
    scope: Scope

    @property
    def key(self) -> str:
        """Its key in the table."""
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
class Token:
    """A bearer's proof. What its roles are is looked up whenever it is used."""

    id: str
    user_id: str
    scope: Scope
    methods: tuple[str, ...]
    issued_at: datetime
    expires_at: datetime
    audit_ids: tuple[str, ...]
    trust_id: str | None = None


@dataclass(frozen=True, slots=True)
class CatalogService:
    """A kind of service in the catalog."""

    id: str
    name: str
    type: str
    description: str = ""
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address of a service. A URL that starts with ``/`` lies under the sandbox's own origin."""

    id: str
    service_id: str
    interface: str
    url: str
    region_id: str = "RegionOne"
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the cloud."""

    id: str
    description: str = ""
