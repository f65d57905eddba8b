"""All use cases in this process: those of leases and of health, and those that kinds contribute."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from blazar.service.admission import Admission, PlanningSettings
from blazar.service.calendars import Calendars
from blazar.service.context import Caller
from blazar.service.enforcement import Enforcement
from blazar.service.health import HealthUseCases, ThreadHealth
from blazar.service.leases import Leases, LeaseSettings
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports.enforcement import UsageFilter
from blazar.service.ports.kind import Extension, Parts
from blazar.service.preparation import Preparation
from blazar.service.private_properties import PrivateProperties
from blazar.service.usage_reports import UsageReports


class UseCases:
    """The Service interface, in this process.

    ``nudge`` wakes the event engine after a commit that gives it work; ``threads`` tells how those of this
    process are. ``filters`` are asked about leases, but for those of the projects ``exempt``."""

    def __init__(
        self,
        parts: Parts,
        extensions: Iterable[Extension],
        calendars: Calendars,
        planning: PlanningSettings,
        settings: LeaseSettings,
        nudge: Callable[[], None],
        threads: Callable[[], Sequence[ThreadHealth]] = tuple,
        metrics: Metrics = NO_METRICS,
        filters: Sequence[UsageFilter] = (),
        exempt: Collection[str] = (),
    ) -> None:
        admission = Admission(calendars, parts.kinds, planning, parts.clock, metrics)
        private = PrivateProperties(parts.database, parts.kinds)
        preparation = Preparation(parts.cloud, parts.kinds, private, parts.clock)
        self.leases = Leases(
            parts.database,
            admission,
            preparation,
            parts.kinds,
            parts.clock,
            nudge,
            settings,
            Enforcement(filters, parts, exempt, metrics),
            UsageReports(filters, parts.kinds, exempt),
        )
        self.health = HealthUseCases(parts.database, parts.clock, threads)
        contributed = {
            noun: made for extension in extensions for noun, made in extension.use_cases(parts).items()
        }
        self._nouns = {"leases": self.leases, "health": self.health, **contributed}

    def called_by(self, caller: Caller) -> UseCases:
        return self

    def noun(self, name: str) -> Any:
        return self._nouns[name]
