"""The usage filter that limits how long leases are."""

from __future__ import annotations

from collections.abc import Collection

from oslo_config import cfg

from blazar.domain.errors import UsageRefused
from blazar.service.ports.enforcement import Proposal, UsageFilter

UNLIMITED = -1


class MaxLeaseDurationFilter(UsageFilter):
    """Refuses leases that are longer than ``limit`` seconds, but for those of the projects ``exempt``."""

    looks_at_start = False

    def __init__(self, limit: int = UNLIMITED, exempt: Collection[str] = ()) -> None:
        self._limit = limit
        self._exempt = exempt

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> MaxLeaseDurationFilter:
        own = conf.enforcement
        return cls(own.max_lease_duration, own.max_lease_duration_exempt_project_ids)

    def check_create(self, proposal: Proposal) -> None:
        lease = proposal.lease
        seconds = int(lease.interval.duration.total_seconds())
        if self._limit == UNLIMITED or seconds <= self._limit or lease.project_id in self._exempt:
            return
        raise UsageRefused(
            f"Lease duration of {seconds} seconds must be less than or equal to "
            f"the maximum lease duration of {self._limit} seconds."
        )

    def check_update(self, proposal: Proposal) -> None:
        """A lease that was made under a higher limit may be changed, as long as it does not become longer."""
        old = proposal.current
        if old is None or proposal.lease.interval.duration > old.interval.duration:
            self.check_create(proposal)
