"""The port to a usage filter: it may refuse a lease before it is stored, and is told what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from oslo_config import cfg

from blazar.domain.lease.lease import Lease
from blazar.service.ports.database import Report, ReportType
from blazar.service.ports.identity import Identity

Documents = Mapping[str, Any]
"""``lease``, and ``current_lease`` of a change: as ``service.usage_documents`` makes them."""


@dataclass(frozen=True)
class Proposal:
    """A lease with the resources that it is to get, as it is to be stored."""

    lease: Lease
    current: Lease | None
    """The lease as it is stored; None where it is new."""
    documents: Callable[[], Documents]
    """Reads what is known of the resources, and returns the documents of both leases."""
    identity: Identity
    """Keystone, with the service's own credentials. Each call ends when the caller stops waiting."""
    seconds_left: Callable[[], float]
    """How long the caller still waits."""

    @property
    def takes_more(self) -> bool:
        """Return whether the lease is new, longer, elsewhere in time, or asks for something else."""
        old, new = self.current, self.lease
        if old is None:
            return True
        is_within = old.interval.start <= new.interval.start and new.interval.end <= old.interval.end
        return not is_within or not new.asks_as(old)


class UsageFilter:
    """A filter of leases. Threads share it.

    It is asked inside of requests: outside of transactions, and again where what is to be stored has become
    something else meanwhile. It should limit how many of its calls are under way at once."""

    options: ClassVar[Sequence[cfg.Opt]] = ()
    """The operator's options in the group ``enforcement``. They are registered where the filter is enabled,
    before ``from_conf``."""
    reports: frozenset[ReportType] = frozenset()
    """What the filter wants to be told."""

    looks_at_start: bool = True
    """Whether it may allow at another start what it refuses at this one."""
    fails_open: bool = False
    """Whether a lease may be stored without a decision of this filter."""

    @property
    def name(self) -> str:
        """Return the name of the class, by which the operator enables it."""
        return type(self).__name__

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        """Return the filter as the operator configured it. Raises ValueError where it cannot work so."""
        return cls()

    def check_create(self, proposal: Proposal) -> None:
        """Allow a new lease, or raise UsageRefused with a sentence for the user.

        Raises CloudUnavailable and BadAnswer where there is no decision: then the lease is not stored, but
        where the filter fails open or the lease takes no more than it has."""

    def check_update(self, proposal: Proposal) -> None:
        """Allow the change of a lease. Raises as ``check_create`` does."""

    def tell(self, report: Report, documents: Documents, identity: Identity) -> None:
        """Take note of what has become of a lease: at least once, and of each lease in order.

        Raises CloudUnavailable where no lease can be told now, and CloudRefused where this report is not
        taken: it is repeated for some days, and others are told meanwhile."""
