"""Keystone: trusts, by which a user lets the service act in the user's name."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from keystoneauth1 import exceptions as ks_exceptions
from keystoneauth1.session import Session

from blazar.adapters.openstack.credentials import in_the_system, trustee
from blazar.adapters.openstack.session import ServiceApi
from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.service.ports import UnifiedLimits

SERVICE_TYPE = "reservation"
TRUSTS = "/OS-TRUST/trusts"
SPREAD_SECONDS = 24 * 60 * 60
ATTEMPTS = 10


class KeystoneIdentity:
    """The Identity port over Keystone's HTTP API. ``session`` is the service's own."""

    def __init__(self, session: Session, api: ServiceApi, region: str | None = None) -> None:
        self._region = region
        self._session = session
        self._api = api

    def endpoint(self) -> str:
        return self._api.endpoint()

    def own_token(self) -> str:
        try:
            with self._api.in_time():
                return str(self._session.get_token())
        except ks_exceptions.ClientException as failure:
            raise CloudUnavailable(service="Keystone", reason=str(failure)) from failure

    def create_trust(
        self,
        trustor_id: str,
        project_id: str,
        roles: Sequence[str],
        expires_at: datetime,
        may_be_passed_on: bool = False,
    ) -> str:
        body: dict[str, Any] = {
            "trustor_user_id": trustor_id,
            "trustee_user_id": self._own_user_id(),
            "project_id": project_id,
            "roles": [{"name": name} for name in roles],
            "impersonation": True,
        }
        if may_be_passed_on:
            body["allow_redelegation"] = True
        for _ in range(ATTEMPTS):
            # Keystone takes a trust of the same people to the same second for the same trust, even one that
            # was deleted, and answers 409.
            later = expires_at + timedelta(seconds=random.randrange(SPREAD_SECONDS))  # noqa: S311 - no secret
            body["expires_at"] = later.strftime("%Y-%m-%dT%H:%M:%SZ")
            answer = self._api.post(TRUSTS, {"trust": body}, absent=(409,))
            if answer:
                return str(answer["trust"]["id"])
        raise CloudUnavailable(service="Keystone", reason="no trust was made")

    def is_trust_valid(self, trust_id: str) -> bool:
        try:
            return self._by_trust(trust_id).find(f"{TRUSTS}/{trust_id}") is not None
        except CloudRefused:
            return False

    def delete_trust(self, trust_id: str) -> None:
        path = f"{TRUSTS}/{trust_id}"
        if self._api.delete(path, absent=(403, 404)):
            return
        # By default only the user who made it may delete it: by the trust itself, we are that user. Where it
        # is dead there is nothing that could be done, nor needs to be.
        with contextlib.suppress(CloudRefused):
            self._by_trust(trust_id).delete(path, absent=(401, 403, 404))

    def unified_limits(self, project_id: str | None = None) -> UnifiedLimits:
        with self._api.in_time():  # our own token may have to be renewed
            api = self._api.acting(in_the_system(self._session))
        services = api.get("/services", type=SERVICE_TYPE)["services"]
        if not services:
            raise CloudUnavailable(service="Keystone", reason=f"it knows no service {SERVICE_TYPE}")
        of_service = {"service_id": services[0]["id"]}
        registered = api.get("/registered_limits", **of_service)["registered_limits"]
        of_project = {} if project_id is None else {"project_id": project_id}
        own: dict[str, dict[str, int]] = {}
        for limit in self._of_region(api.get("/limits", **of_service, **of_project)["limits"]):
            if limit.get("project_id"):
                own.setdefault(limit["project_id"], {})[limit["resource_name"]] = limit["resource_limit"]
        found = {limit["resource_name"]: limit["default_limit"] for limit in self._of_region(registered)}
        return UnifiedLimits(found, own)

    def email(self, user_id: str) -> str | None:
        found = self._api.find(f"/users/{quote(user_id, safe='')}", is_secret=True)
        if found is None or not found["user"].get("enabled", True):
            return None
        return str(found["user"].get("email") or "") or None

    def _of_region(self, limits: Sequence[Any]) -> list[Any]:
        """Return the limits of all regions, then those of ours, which count more."""
        everywhere = [limit for limit in limits if limit["region_id"] is None]
        return everywhere + [limit for limit in limits if limit["region_id"] in {self._region} - {None}]

    def _by_trust(self, trust_id: str) -> ServiceApi:
        with self._api.in_time():  # our own token may have to be renewed
            return self._api.acting(trustee(self._session, trust_id))

    def _own_user_id(self) -> str | None:
        try:
            with self._api.in_time():
                return self._session.get_user_id()
        except ks_exceptions.ClientException as failure:
            raise CloudUnavailable(service="Keystone", reason=str(failure)) from failure
