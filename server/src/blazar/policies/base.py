"""The personas that the rules of all nouns are made of."""

from __future__ import annotations

from oslo_policy import policy

ADMIN = "rule:admin"
READER_OR_ADMIN = "rule:project_reader_or_admin"
MEMBER_OR_ADMIN = "rule:project_member_or_admin"
PROJECT_SCOPE = ["project"]

_SINCE = "15.0.0"
_REASON = "Blazar follows OpenStack's secure default roles: reader, member and admin of a project."

_ADMIN_OR_OWNER = policy.RuleDefault(
    name="admin_or_owner",
    check_str="rule:admin or project_id:%(project_id)s",
    description="An administrator, or a user with a role in the project that owns the object.",
    deprecated_for_removal=True,
    deprecated_reason=_REASON,
    deprecated_since=_SINCE,
)


def _persona(name: str, check: str, description: str) -> policy.RuleDefault:
    """Return a persona of the secure defaults; with enforce_new_defaults switched off, admin_or_owner passes
    too."""
    return policy.RuleDefault(
        name=name,
        check_str=check,
        description=description,
        deprecated_rule=policy.DeprecatedRule(
            name="admin_or_owner",
            check_str="rule:admin or project_id:%(project_id)s",
            deprecated_reason=_REASON,
            deprecated_since=_SINCE,
        ),
    )


def documented(
    name: str, check: str, description: str, method: str, *paths: str
) -> policy.DocumentedRuleDefault:
    """Return the rule of one method on these paths."""
    return policy.DocumentedRuleDefault(
        name=name,
        check_str=check,
        description=description,
        operations=[{"method": method, "path": path} for path in paths],
        scope_types=PROJECT_SCOPE,
    )


RULES: tuple[policy.RuleDefault, ...] = (
    policy.RuleDefault(
        name="admin",
        check_str="is_admin:True or role:admin",
        description="An administrator: sees and changes what belongs to any project.",
    ),
    _ADMIN_OR_OWNER,
    _persona(
        "project_member_api",
        "role:member and project_id:%(project_id)s",
        "A member of the project that owns the object.",
    ),
    _persona(
        "project_reader_api",
        "role:reader and project_id:%(project_id)s",
        "A reader of the project that owns the object.",
    ),
    _persona(
        "project_member_or_admin",
        "rule:project_member_api or rule:admin",
        "A member of the project that owns the object, or an administrator.",
    ),
    _persona(
        "project_reader_or_admin",
        "rule:project_reader_api or rule:admin",
        "A reader of the project that owns the object, or an administrator.",
    ),
)
