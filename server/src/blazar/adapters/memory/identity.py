"""Keystone in memory: trusts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from blazar.adapters.memory.cloud_state import Actor, Called, CloudState, Trust
from blazar.domain.errors import CloudRefused
from blazar.service.ports import UnifiedLimits


class MemoryIdentity:
    """The Identity port."""

    def __init__(self, state: CloudState, called: Called) -> None:
        self._state = state
        self._called = called

    def endpoint(self) -> str:
        self._called("identity_endpoint")
        return "http://keystone.example/v3"

    def own_token(self) -> str:
        self._called("own_token")
        return "own-token"

    def create_trust(
        self,
        trustor_id: str,
        project_id: str,
        roles: Sequence[str],
        expires_at: datetime,
        may_be_passed_on: bool = False,
    ) -> str:
        actor = self._called("create_trust")
        if actor is None or actor.user_id != trustor_id or actor.project_id != project_id:
            raise CloudRefused(service="Keystone", reason="only the trustor may create a trust (HTTP 403)")
        if not roles or not set(roles) <= set(actor.roles):
            raise CloudRefused(service="Keystone", reason="the trustor lacks a role (HTTP 403)")
        with self._state.lock:
            trust_id = f"trust-{self._state.next_id()}"
            self._state.trusts[trust_id] = Trust(Actor(trustor_id, project_id, tuple(roles)), expires_at)
            return trust_id

    def is_trust_valid(self, trust_id: str) -> bool:
        self._called("is_trust_valid")
        return (
            trust_id in self._state.trusts
            and self._state.trusts[trust_id].trustor.user_id not in self._state.gone_users
        )

    def unified_limits(self, project_id: str | None = None) -> UnifiedLimits:
        self._called("unified_limits")
        own = self._state.project_limits
        seen = own if project_id is None else {project_id: own.get(project_id, {})}
        return UnifiedLimits(
            dict(self._state.registered_limits), {id_: dict(of) for id_, of in seen.items() if of}
        )

    def email(self, user_id: str) -> str | None:
        self._called("email")
        return None if user_id in self._state.gone_users else self._state.emails.get(user_id)

    def delete_trust(self, trust_id: str) -> None:
        self._called("delete_trust")
        self._state.trusts.pop(trust_id, None)


def actor_by_trust(state: CloudState, trust_id: str) -> Actor:
    """Return the user who made the trust. Raises CloudRefused where it is not valid any more."""
    trust = state.trusts.get(trust_id)
    if trust is None or trust.trustor.user_id in state.gone_users:
        raise CloudRefused(service="Keystone", reason=f"Could not find trust: {trust_id}. (HTTP 404)")
    return trust.trustor
