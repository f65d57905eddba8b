"""The decision whether a caller may do something to an object, by oslo.policy's rules. The target is the
object's owner."""

from __future__ import annotations

from dataclasses import replace

from oslo_policy import policy

from blazar.domain.errors import PolicyNotAuthorized
from blazar.policies import properties
from blazar.service.context import Caller


class Authorizer:
    """Asks the policy rules."""

    def __init__(self, enforcer: policy.Enforcer) -> None:
        self._enforcer = enforcer

    def with_rights(self, caller: Caller) -> Caller:
        """Return the caller with ``is_admin`` as the rule ``admin`` says, and with what else a manager has to
        know."""
        caller = replace(caller, is_admin=self._ask("admin", caller, {}))
        sees_private = self.allows(properties.GET_PRIVATE, caller, caller.project_id, caller.user_id)
        return replace(caller, sees_private=sees_private)

    def allows(self, rule: str, caller: Caller, project_id: str | None, user_id: str | None) -> bool:
        """Return whether ``rule`` lets the caller act on what this project and user own.

        Always false without a project (a system, domain or unscoped token), for leases belong to projects.
        """
        if caller.project_id is None:
            return False
        return self._ask(rule, caller, {"project_id": project_id, "user_id": user_id})

    def require(self, rule: str, caller: Caller) -> None:
        """For what has no owner yet, or none but the cloud: the target is the caller.

        Raises PolicyNotAuthorized."""
        if not self.allows(rule, caller, caller.project_id, caller.user_id):
            raise PolicyNotAuthorized(action=rule)

    def require_project(self, rule: str, caller: Caller) -> None:
        """Refuse tokens without a project before anything is looked up. Raises PolicyNotAuthorized."""
        if caller.project_id is None:
            raise PolicyNotAuthorized(action=rule)

    def _ask(self, rule: str, caller: Caller, target: dict[str, str | None]) -> bool:
        credentials = {
            "user_id": caller.user_id,
            "project_id": caller.project_id,
            "roles": list(caller.roles),
            "is_admin": caller.is_admin,
            "system_scope": caller.system_scope,
        }
        try:
            return bool(self._enforcer.authorize(rule, target, credentials))
        except policy.InvalidScope:
            return False
