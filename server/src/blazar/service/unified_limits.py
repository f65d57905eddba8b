"""The limits of projects where Keystone keeps them, as unified limits."""

from __future__ import annotations

from datetime import datetime, timedelta

from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.service.context import Caller
from blazar.service.ports import Clock, Cloud, UnifiedLimits
from blazar.service.request_cloud import within_request

KEPT = timedelta(seconds=30)
"""How long limits count that were read: a project that makes many leases does not ask Keystone for each."""


class KeystoneLimits:
    """Reads the limits of a project, outside of any transaction, and keeps them for a while.

    A failure is never taken for the absence of limits: it raises CloudUnavailable, and the change of a lease
    for which the limits were read is refused with it."""

    def __init__(self, cloud: Cloud, clock: Clock) -> None:
        self._cloud = cloud
        self._clock = clock
        self._kept: dict[str, tuple[datetime, UnifiedLimits]] = {}

    def of(self, project_id: str, caller: Caller | None = None) -> UnifiedLimits:
        """Return the limits of the project, as they were half a minute ago or later. Raises
        CloudUnavailable, TooLate."""
        now = self._clock.now()
        kept = self._kept.get(project_id)
        if kept is not None and kept[0] <= now < kept[0] + KEPT:
            return kept[1]
        found = self._read(project_id, caller)
        # What is too old is left out, so that this does not grow. Two requests at once may read in vain.
        fresh = {id_: each for id_, each in list(self._kept.items()) if now < each[0] + KEPT}
        self._kept = {**fresh, project_id: (now, found)}
        return found

    def all(self) -> UnifiedLimits:
        """Return the limits of all projects. Raises CloudUnavailable."""
        return self._read(None, None)

    def _read(self, project_id: str | None, caller: Caller | None) -> UnifiedLimits:
        try:
            return within_request(self._cloud, caller, self._clock).identity.unified_limits(project_id)
        except CloudRefused as refusal:
            reason = f"the service cannot read the limits of projects: {refusal.fields['reason']}"
            raise CloudUnavailable(service="Keystone", reason=reason) from refusal
