"""The capacity over time: how much of each quantity there is, is reserved and can be reserved, and how many
units of a size fit.

The answer is worked out from snapshots of the calendars, without a lock. It takes a turn of the project, as a
plan does (see ``service.turns``), and has the budget of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.errors import InvalidInput, UnsupportedResourceType
from blazar.domain.planning.budget import Budget, CutShort
from blazar.domain.planning.candidate import candidate_for
from blazar.domain.planning.demand import Demand
from blazar.domain.planning.skyline import Fit, Skyline
from blazar.domain.planning.steps import Curve, Curves, Steps, count, length_for, stepped
from blazar.domain.requirement.comparison import Operator, term_of
from blazar.domain.requirement.language import Comparison, Requirement
from blazar.domain.requirement.language import parse as parse_requirement
from blazar.domain.resource import WHOLE, Pool, Usage
from blazar.domain.subscription import CapacityCondition
from blazar.domain.time import HORIZON, Interval, floor_minute
from blazar.service.calendars import Calendars
from blazar.service.context import Caller
from blazar.service.ports import Clock, Cloud
from blazar.service.ports.kind import Kind, Kinds, Measure, RequestContext
from blazar.service.private_properties import PrivateProperties
from blazar.service.request_cloud import within_request

DEFAULT_WINDOW = timedelta(days=7)
LONGEST_WINDOW = timedelta(days=366)
MOST_STEPS = 4000
"""Of all curves of an answer together: some hundred kilobytes in one message of the broker."""
MOST_QUANTITIES = 24
"""The quantities of an answer; clouds may have many resource classes."""


@dataclass(frozen=True, slots=True)
class CapacityQuestion:
    """The question of a user: which time, which resources, which quantities.

    ``step`` is the minutes of a step; None for the shortest with which the answer is not too long. ``unit``
    is the size of what is to fit, by the names that kinds know. ``tells_reserved`` asks for what is reserved,
    too."""

    start: datetime | None = None
    """None for now, which is also what a moment in the past counts as."""
    end: datetime | None = None
    step: int | None = None
    resource_type: str | None = None
    quantity: str | None = None
    """Its name, or its resource class."""
    resource_properties: str = ""
    required_traits: tuple[str, ...] = ()
    forbidden_traits: tuple[str, ...] = ()
    zone: str | None = None
    unit: Mapping[str, int | str] = field(default_factory=dict)
    tells_reserved: bool = False


@dataclass(frozen=True, slots=True)
class QuantityCapacity:
    """The capacity in one quantity. The steps tell ``total`` and ``available``, and where it was asked for
    ``reserved`` and ``in_use``."""

    name: str
    resource_types: tuple[str, ...]
    minimum: int
    """The least that is available at any time."""
    throughout: int
    """What is available from the start to the end on the same resources."""
    steps: Steps


@dataclass(frozen=True, slots=True)
class Density:
    """How many units of a size fit. The steps tell ``fits``."""

    resource_type: str
    minimum: int
    throughout: int
    steps: Steps


@dataclass(frozen=True, slots=True)
class CapacityReport:
    """The answer. Steps count minutes from ``start``; a step lasts at least ``step`` minutes."""

    start: datetime
    end: datetime
    step: int
    quantities: tuple[QuantityCapacity, ...]
    density: Density | None = None
    left_out: tuple[str, ...] = ()
    """The quantities that there are besides."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A quantity of a pool, and the kinds that measure in it."""

    pool: Pool
    measure: Measure
    resource_types: tuple[str, ...]


class CapacityUseCases:
    """The use case of the capacity, as CapacityInterface names it. ``cleaning`` is kept between leases."""

    def __init__(
        self,
        calendars: Calendars,
        kinds: Kinds,
        private: PrivateProperties,
        cloud: Cloud,
        clock: Clock,
        cleaning: timedelta = timedelta(0),
    ) -> None:
        self._calendars = calendars
        self._kinds = kinds
        self._private = private
        self._cloud = cloud
        self._clock = clock
        self._cleaning = cleaning

    def get(self, question: CapacityQuestion, caller: Caller) -> CapacityReport:
        try:
            return self._worked_out(question, caller)
        except CutShort:
            raise InvalidInput(
                "This is too much work: ask for a shorter time, for one quantity, or with fewer comparisons."
            ) from None

    def least(self, condition: CapacityCondition, caller: Caller) -> int | None:
        """Return the least that is available at any time of the next days; None where that is too much work.

        Where no resource has the property, or there is no such quantity any more, nothing is available."""
        end = floor_minute(self._clock.now()) + timedelta(days=condition.days)
        try:
            found = self._worked_out(question_of(condition, end), caller).quantities
        except CutShort:
            return None
        except (InvalidInput, UnsupportedResourceType):
            return 0
        return min((each.minimum for each in found), default=0)

    def _worked_out(self, question: CapacityQuestion, caller: Caller) -> CapacityReport:
        """Raises CutShort where the budget is spent."""
        now = self._clock.now()
        interval = _interval(question, now)
        kinds = self._chosen(question.resource_type)
        requirement = parse_requirement(question.resource_properties)
        hidden = self._private.hidden(requirement.names, caller)
        unit = self._unit(question, kinds, caller)

        def answer(budget: Budget) -> CapacityReport:
            pools = dict.fromkeys(kind.pool for kind in kinds.values())
            snapshots = {pool: self._calendars.snapshot(pool) for pool in pools}
            _require_known(requirement, hidden, snapshots.values())
            asked = _Asked(question, requirement, interval, self._cleaning, now, budget)
            views = {pool: _View(snapshots[pool], asked, _zone_property(kinds, pool)) for pool in pools}
            return _report(asked, views, kinds, unit)

        return self._calendars.examine(caller, answer)

    def _chosen(self, resource_type: str | None) -> Kinds:
        if resource_type is None:
            return self._kinds
        if resource_type not in self._kinds:
            raise UnsupportedResourceType(resource_type=resource_type)
        return {resource_type: self._kinds[resource_type]}

    def _unit(self, question: CapacityQuestion, kinds: Kinds, caller: Caller) -> tuple[str, Demand] | None:
        """Return the demand of one unit of the size, and the kind that has such units."""
        if not question.unit:
            return None
        request = RequestContext(caller, within_request(self._cloud, caller, self._clock))
        for resource_type, kind in kinds.items():
            demand = kind.unit(question.unit, request)
            if demand is not None:
                return resource_type, demand
        names = ", ".join(sorted(question.unit))
        raise InvalidInput(f"No kind of resources that is asked for has units of a size given by {names}.")


def question_of(condition: CapacityCondition, end: datetime) -> CapacityQuestion:
    """Return the question whether the condition is met up to ``end``."""
    return CapacityQuestion(
        end=end,
        resource_type=condition.resource_type,
        quantity=condition.quantity,
        resource_properties=condition.resource_properties,
    )


def _interval(question: CapacityQuestion, now: datetime) -> Interval:
    """Return the time that is asked about. Raises InvalidInput."""
    present = floor_minute(now)
    start = max(floor_minute(question.start), present) if question.start else present
    if start > present + HORIZON:
        raise InvalidInput("The start is more than a hundred years ahead.")
    interval = Interval(start, floor_minute(question.end) if question.end else start + DEFAULT_WINDOW)
    if interval.duration > LONGEST_WINDOW:
        raise InvalidInput(f"The time is longer than {LONGEST_WINDOW.days} days.")
    return interval


def _require_known(
    requirement: Requirement, hidden: frozenset[str], snapshots: Iterable[CalendarSnapshot]
) -> None:
    """Refuse a property that no resource has, and in the same words one that the caller may not see."""
    known = {name for each in snapshots for name in requirement.names if each.columns.knows(name)}
    unknown = sorted(requirement.names - (known - hidden))
    if unknown:
        raise InvalidInput(f"No resource has the property {', '.join(unknown)[:200]}.")


def _zone_property(kinds: Kinds, pool: Pool) -> str | None:
    found = (kind.zone_property for kind in kinds.values() if kind.pool == pool)
    return next((name for name in found if name is not None), None)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked of each pool."""

    question: CapacityQuestion
    requirement: Requirement
    interval: Interval
    cleaning: timedelta
    now: datetime
    budget: Budget


class _View:
    """The resources of a pool that are asked about."""

    def __init__(self, snapshot: CalendarSnapshot, asked: _Asked, zone_property: str | None) -> None:
        self.snapshot = snapshot
        self._budget = asked.budget
        question, requirement = asked.question, asked.requirement
        if question.zone is not None:
            # Resources that lie in no zone have no property of an empty name.
            zone = Comparison(zone_property or "", Operator.EQUAL, (term_of(question.zone),))
            requirement = requirement.joined(Requirement(zone))
        self._asked = Demand(
            "",
            0,
            1,
            requirement=requirement,
            required_traits=frozenset(question.required_traits),
            forbidden_traits=frozenset(question.forbidden_traits),
        )
        matching = candidate_for(snapshot, self._asked, asked.budget).matching
        self._skyline = Skyline(snapshot, asked.interval, asked.cleaning, matching, asked.now, asked.budget)

    def quantity(self, resource_class: str | None, tells_reserved: bool) -> tuple[Fit, Curves]:
        """Return how much of the class can be reserved, and all curves about it."""
        usage = WHOLE if resource_class is None else Usage({resource_class: 1})
        fit = self._fit(replace(self._asked, usage=usage))
        skyline = self._skyline
        total = np.full(len(fit.values), skyline.total(resource_class))
        curves = {"total": Curve(total), "available": Curve(fit.values)}
        if tells_reserved:
            in_use = skyline.reserved(resource_class, in_use=True)
            curves["reserved"] = Curve(skyline.reserved(resource_class), tells_most=True)
            curves["in_use"] = Curve(in_use, tells_most=True)
            buffer = np.full(len(fit.values), skyline.buffer(resource_class))
            curves["buffer"] = Curve(buffer)
        return fit, Curves(skyline.axis, curves)

    def density(self, unit: Demand) -> tuple[Fit, Curves]:
        """Return how many units fit."""
        joined = replace(
            unit,
            requirement=unit.requirement.joined(self._asked.requirement),
            required_traits=unit.required_traits | self._asked.required_traits,
            forbidden_traits=unit.forbidden_traits | self._asked.forbidden_traits,
        )
        fit = self._fit(joined)
        return fit, Curves(self._skyline.axis, {"fits": Curve(fit.values)})

    def _fit(self, demand: Demand) -> Fit:
        return self._skyline.fit(candidate_for(self.snapshot, demand, self._budget))


def _report(
    asked: _Asked, views: Mapping[Pool, _View], kinds: Kinds, unit: tuple[str, Demand] | None
) -> CapacityReport:
    question = asked.question
    rows = _named(_rows(views, kinds), question.quantity)
    told, left_out = rows[:MOST_QUANTITIES], rows[MOST_QUANTITIES:]
    found = [views[r.pool].quantity(r.measure.resource_class, question.tells_reserved) for r in told]
    dense = views[kinds[unit[0]].pool].density(unit[1]) if unit else None
    several = [curves for _, curves in (*found, *((dense,) if dense else ()))]
    step = _step(question.step, several, asked.budget)
    return CapacityReport(
        asked.interval.start,
        asked.interval.end,
        step,
        tuple(_quantity(row, *each, step) for row, each in zip(told, found, strict=True)),
        _density(unit[0], *dense, step) if unit and dense else None,
        tuple(row.measure.name for row in left_out),
    )


def _quantity(row: _Row, fit: Fit, curves: Curves, step: int) -> QuantityCapacity:
    minimum, steps = int(fit.values.min()), stepped(curves, step)
    return QuantityCapacity(row.measure.name, row.resource_types, minimum, fit.throughout, steps)


def _density(resource_type: str, fit: Fit, curves: Curves, step: int) -> Density:
    return Density(resource_type, int(fit.values.min()), fit.throughout, stepped(curves, step))


def _rows(views: Mapping[Pool, _View], kinds: Kinds) -> Sequence[_Row]:
    """Return the quantities that the kinds name, those of kinds that share resources once."""
    found: dict[tuple[Pool, Measure], list[str]] = {}
    for resource_type, kind in kinds.items():
        for measure in _measures(kind, views[kind.pool].snapshot):
            found.setdefault((kind.pool, measure), []).append(resource_type)
    return [_Row(pool, measure, tuple(types)) for (pool, measure), types in found.items()]


def _measures(kind: Kind[Any], snapshot: CalendarSnapshot) -> Sequence[Measure]:
    return kind.measures(snapshot.columns.resource_classes)


def _named(rows: Sequence[_Row], name: str | None) -> Sequence[_Row]:
    """Return the rows of this name or resource class. Raises InvalidInput where there is none."""
    if name is None:
        return rows
    found = [row for row in rows if name in (row.measure.name, row.measure.resource_class)]
    if not found:
        names = ", ".join(dict.fromkeys(row.measure.name for row in rows))
        raise InvalidInput(f"There is no quantity {name}; there are {names}."[:500])
    return found


def _step(wanted: int | None, several: Sequence[Curves], budget: Budget) -> int:
    """Return the length of a step. Raises InvalidInput where those of the wanted length are too many."""
    if wanted is None:
        return length_for(several, MOST_STEPS, budget)
    steps = count(several, wanted, budget)
    if steps > MOST_STEPS:
        raise InvalidInput(
            f"With a step of {wanted} minutes these are {steps} steps, and at most {MOST_STEPS} are told: "
            "ask for a shorter time, for longer steps, or for one quantity."
        )
    return wanted
