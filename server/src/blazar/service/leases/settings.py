"""The operator's settings for leases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from blazar.domain.lease.unclaimed import WARNING


@dataclass(frozen=True, slots=True)
class WaitSettings:
    """The operator's settings for leases that wait in line."""

    most: int = 5
    """Leases of a project that may wait at once; 0 for none."""
    longest: timedelta = timedelta(hours=168)
    """How long a lease may wait."""
    places: int = 200
    """Leases of all projects that may wait at once: as many are planned again and again."""


@dataclass(frozen=True, slots=True)
class DisplacementSettings:
    """The operator's settings for leases that give way to those of higher priorities."""

    is_allowed: bool = True
    notice: timedelta = timedelta(minutes=60)
    """A lease that starts sooner than this is not displaced."""


@dataclass(frozen=True, slots=True)
class LateBindingSettings:
    """The operator's settings for leases that may get other resources before they begin."""

    is_on: bool = True
    lead: timedelta = timedelta(minutes=15)
    """What starts sooner than this keeps its resources."""
    leads: Mapping[str, timedelta | None] = field(default_factory=dict)
    """The same by kind, where it is another one; None where a kind always keeps its resources."""

    def lead_of(self, resource_type: str) -> timedelta | None:
        return self.leads.get(resource_type, self.lead)


@dataclass(frozen=True, slots=True)
class ClaimBySettings:
    """The operator's settings for leases that are unused."""

    after: Mapping[str, timedelta] = field(default_factory=dict)
    """How soon after its start a lease has to be used, by kind; never where a kind is not there."""
    exempt: frozenset[str] = frozenset()
    """The projects for which ``after`` is not."""
    warning: timedelta = WARNING
    """How long before its release a lease is warned of."""


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    """The operator's settings for leases."""

    notification: timedelta = timedelta(minutes=60)
    """How long before the end users are warned by default; zero for never."""
    delete_wait: timedelta = timedelta(seconds=10)
    """How long a deletion waits for the cloud to be clean before it answers; it goes on afterwards."""
    claim_by: ClaimBySettings = field(default_factory=ClaimBySettings)
