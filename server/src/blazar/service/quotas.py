"""Quotas: the check in the transaction that commits a lease, and what operators and users do with limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from blazar.domain import quota
from blazar.domain.errors import InvalidInput, QuotaExceeded
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.quota import LEASES, UNLIMITED, Growth, Use, UsedTime, hours_of, names_of, peak
from blazar.domain.time import HORIZON, Interval, epoch
from blazar.service.context import Caller
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import Clock, Database, UnifiedLimits, UnitOfWork
from blazar.service.ports.kind import Kinds
from blazar.service.unified_limits import KeystoneLimits

DEFAULT_LIMITS: Mapping[str, int] = {LEASES: 5000}
"""So that no project fills the calendar with a million leases."""


@dataclass(frozen=True, slots=True)
class QuotaSettings:
    """The operator's settings for quotas. What ``limits`` does not name has none."""

    limits: Mapping[str, int] = field(default_factory=lambda: DEFAULT_LIMITS)
    """Of each project that has none of its own."""
    window: timedelta = timedelta(days=30)
    """The length of the sliding window of hours."""
    are_in_keystone: bool = False
    """Whether Keystone keeps the limits of projects, and not the database."""


@dataclass(frozen=True, slots=True)
class Quota:
    """The limits of a project by name, and those of them that are its own."""

    project_id: str
    limits: Mapping[str, int]
    own: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class QuotaList:
    """The limits of projects without any of their own, and the projects that have some."""

    defaults: Mapping[str, int]
    quotas: Sequence[Quota]


@dataclass(frozen=True, slots=True)
class LimitUse:
    """The use of what a limit counts: ``now``, and the most at any time from now on."""

    name: str
    limit: int
    now: int
    peak: int


class Quotas:
    """The limits of projects, and what their leases use. Each call is part of a transaction."""

    def __init__(
        self,
        kinds: Kinds,
        settings: QuotaSettings,
        metrics: Metrics = NO_METRICS,
        in_keystone: KeystoneLimits | None = None,
    ) -> None:
        """With ``in_keystone``, limits are those that Keystone keeps, and not the database."""
        self._metrics = metrics
        self.in_keystone = in_keystone
        self._kinds = kinds
        self._settings = settings
        self.quantities = tuple(sorted({name for kind in kinds.values() for name in kind.quantities}))
        self.names = names_of(self.quantities)

    def counted(self, old: Lease | None, new: Lease) -> Lease:
        """Return the new lease with what it counts as. A lease that loses resources counts as before; one
        that waits counts as nothing."""
        if new.status is LeaseStatus.WAITING:
            return replace(new, quantities={})
        if old is not None and old.quantities is not None and _asks_the_same(old, new):
            return replace(new, quantities=old.quantities)
        return replace(new, quantities=self._quantities(new))

    def asked_for(self, old: Lease | None, new: Lease | None, caller: Caller | None) -> Quota | None:
        """Return the limits for a change of a lease where Keystone keeps them and the change takes more, else
        None. To be called before the transaction, so that no other waits while Keystone is asked. Raises
        CloudUnavailable, TooLate."""
        growth = self._growth(old, new)
        if self.in_keystone is None or new is None or growth is None or not growth.is_more:
            return None
        return self._unified(new.project_id, self.in_keystone.of(new.project_id, caller))

    def admit(
        self, uow: UnitOfWork, old: Lease | None, new: Lease | None, now: datetime, asked: Quota | None = None
    ) -> None:
        """Compare the change of a lease with the project's limits, and remember what it has used where the
        stored lease will no longer tell. Raises QuotaExceeded.

        Only a change that takes more waits for the other transactions of its project, and it is to be called
        first in the transaction, so that one which waits holds nothing that others want. ``asked`` are the
        limits that ``asked_for`` has returned."""
        growth = self._growth(old, new)
        takes_more = growth is not None and growth.is_more
        if new and takes_more:
            uow.quotas.queue_up(new.project_id)
        if old is not None and old.status is not LeaseStatus.WAITING:
            self._remember(uow, old, growth.new.quantities if growth else {}, now)
        if new and growth and takes_more:
            limits = (asked or self.limits(uow, new.project_id)).limits
            with self._counting_refusals():
                self._check(uow, new.project_id, growth, now, limits)

    def admit_half(self, uow: UnitOfWork, new: Lease, now: datetime, asked: Quota | None = None) -> None:
        """Compare the number of leases with the project's limit, for a lease that was a part of another one:
        nothing else becomes more. To be called as ``admit`` is. Raises QuotaExceeded."""
        uow.quotas.queue_up(new.project_id)
        limits = (asked or self.limits(uow, new.project_id)).limits
        with self._counting_refusals():
            self._check_number(uow, new.project_id, now, limits)

    @contextmanager
    def _counting_refusals(self) -> Iterator[None]:
        try:
            yield
        except QuotaExceeded as refusal:
            self._metrics.quota_exceeded(str(refusal.fields["limit_name"]))
            raise

    def preview(
        self, uow: UnitOfWork, old: Lease | None, new: Lease, now: datetime, asked: Quota | None = None
    ) -> None:
        """Compare as ``admit`` does a change that is not to be committed. Raises QuotaExceeded."""
        growth = Growth(self._use(old) if old else None, self._use(new))
        if growth.is_more:
            limits = (asked or self.limits(uow, new.project_id)).limits
            self._check(uow, new.project_id, growth, now, limits)

    def outlook(
        self, uow: UnitOfWork, project_id: str, since: datetime, now: datetime, asked: Quota | None = None
    ) -> QuotaOutlook:
        """Read what new leases of the project, that start at ``since`` or later, are compared with. ``asked``
        are the limits where Keystone keeps them."""
        limits = (asked or self.limits(uow, project_id)).limits
        names = (name for quantity in self.quantities for name in (quantity, hours_of(quantity)))
        uses: Sequence[Use] = ()
        if any(limits[name] != UNLIMITED for name in names):
            interval = Interval(since - self._settings.window, now + HORIZON + self._settings.window)
            uses = self._uses(uow, project_id, interval, with_spent=True, now=now)
        leases = uow.quotas.leases_ahead(project_id, now) if limits[LEASES] != UNLIMITED else 0
        return QuotaOutlook(limits, leases, uses, now, self._settings.window, self._use)

    def limits(self, uow: UnitOfWork, project_id: str) -> Quota:
        """Return the limits of the project, by their names in the order in which they are shown."""
        own = {name: most for name, most in uow.quotas.limits(project_id).items() if name in self.names}
        return self._quota(project_id, own)

    def list(self, uow: UnitOfWork) -> QuotaList:
        found = uow.quotas.all_limits().items()
        own = {id_: {name: n for name, n in of.items() if name in self.names} for id_, of in found}
        return QuotaList(self._defaults(), [self._quota(id_, of) for id_, of in own.items() if of])

    def read(self, project_id: str, caller: Caller | None = None) -> Quota | None:
        """Return the limits of the project where Keystone keeps them. Raises CloudUnavailable, TooLate."""
        if self.in_keystone is None:
            return None
        return self._unified(project_id, self.in_keystone.of(project_id, caller))

    def read_all(self) -> QuotaList | None:
        """Return the limits of all projects where Keystone keeps them. Raises CloudUnavailable."""
        if self.in_keystone is None:
            return None
        found = self.in_keystone.all()
        quotas = [self._unified(id_, found) for id_ in sorted(found.own)]
        return QuotaList(self._unified("", found).limits, [quota for quota in quotas if quota.own])

    def usage(
        self, uow: UnitOfWork, project_id: str, now: datetime, asked: Quota | None = None
    ) -> Sequence[LimitUse]:
        """Return the use of everything that a limit counts, limited or not. ``asked`` are the limits where
        Keystone keeps them."""
        limits = (asked or self.limits(uow, project_id)).limits
        leases = uow.quotas.leases_ahead(project_id, now)
        window = self._settings.window
        uses = self._uses(uow, project_id, Interval(now - window, now + HORIZON), with_spent=True, now=now)
        ahead = Interval(now, now + HORIZON)
        found = [LimitUse(LEASES, limits[LEASES], leases, leases)]
        for name in self.quantities:
            at_present = sum(use.amount(name) for use in uses if use.interval.contains(now))
            found.append(LimitUse(name, limits[name], at_present, peak(uses, name, ahead)))
        for name in self.quantities:
            time, end = UsedTime(uses, name), epoch(now)
            past = time.within(epoch(now - window), end)
            later = (time.within(*each) for each in quota.windows(time.moments, window) if each[1] >= end)
            limited = hours_of(name)
            hours = map(quota.in_hours, (past, max([past, *later])))
            found.append(LimitUse(limited, limits[limited], *hours))
        return found

    def forget_spent(self, uow: UnitOfWork, now: datetime) -> None:
        """Forget what no window of hours sees any more."""
        uow.quotas.forget_spent(now - self._settings.window)

    def _growth(self, old: Lease | None, new: Lease | None) -> Growth | None:
        """Return the change of what the project uses; None where the lease is removed. A lease that another
        project has had is new to it."""
        if new is None or new.status is LeaseStatus.DELETING:
            return None
        before = old if old is not None and old.project_id == new.project_id else None
        return Growth(self._use(before) if before else None, self._use(new))

    def _check(
        self, uow: UnitOfWork, project_id: str, growth: Growth, now: datetime, limits: Mapping[str, int]
    ) -> None:
        if growth.old is None:
            self._check_number(uow, project_id, now, limits)
        others = self._others(uow, project_id, growth.new, limits, now)
        quota.check(limits, growth, others, now, self._settings.window)

    def _check_number(
        self, uow: UnitOfWork, project_id: str, now: datetime, limits: Mapping[str, int]
    ) -> None:
        if limits[LEASES] != UNLIMITED:
            leases = uow.quotas.leases_ahead(project_id, now)
            if leases >= limits[LEASES]:
                raise QuotaExceeded(LEASES, limits[LEASES], leases, 1)

    def _others(
        self, uow: UnitOfWork, project_id: str, new: Use, limits: Mapping[str, int], now: datetime
    ) -> Sequence[Use]:
        """Return what the project's other leases use, as far as a limit counts it."""
        counts_hours = any(limits[hours_of(name)] != UNLIMITED for name in new.quantities)
        if not counts_hours and all(limits[name] == UNLIMITED for name in new.quantities):
            return ()
        interval = new.interval.widened(self._settings.window) if counts_hours else new.interval
        uses = self._uses(uow, project_id, interval, counts_hours, now)
        # What this lease has used and no longer tells is remembered under another id.
        return [use for use in uses if use.lease_id != new.lease_id]

    def _uses(
        self, uow: UnitOfWork, project_id: str, interval: Interval, with_spent: bool, now: datetime
    ) -> Sequence[Use]:
        known, unknown = uow.quotas.uses(project_id, interval, now)
        counted = [self._use(lease) for lease in uow.leases.get_many(unknown)] if unknown else []
        spent = uow.quotas.spent(project_id, interval) if with_spent else ()
        return [*known, *counted, *(replace(use, lease_id="") for use in spent)]

    def _remember(self, uow: UnitOfWork, old: Lease, left: Mapping[str, int], now: datetime) -> None:
        """Remember what a lease that has begun has used more than it says from now on, in the time that is
        over; or less, if it has grown."""
        if old.interval.start >= now:
            return
        used = self._use(old).quantities
        more = {name: used.get(name, 0) - left.get(name, 0) for name in {*used, *left}}
        if any(more.values()):
            interval = Interval(old.interval.start, min(old.interval.end, now))
            uow.quotas.spend(old.project_id, Use(old.id, interval, more))

    def _use(self, lease: Lease) -> Use:
        counted = lease.quantities
        return Use(lease.id, lease.interval, self._quantities(lease) if counted is None else counted)

    def _quantities(self, lease: Lease) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for reservation in lease.reservations:
            kind = self._kinds.get(reservation.resource_type)
            for name, amount in kind.counted(reservation).items() if kind else ():
                found[name] = found.get(name, 0) + amount
        return found

    def _defaults(self) -> Mapping[str, int]:
        return {name: self._settings.limits.get(name, UNLIMITED) for name in self.names}

    def _unified(self, project_id: str, found: UnifiedLimits) -> Quota:
        """Return the limits that we know of those in Keystone. Where it has none registered, ours count."""
        known = {name: most for name, most in found.registered.items() if name in self.names}
        own = {name: n for name, n in found.own.get(project_id, {}).items() if name in self.names}
        return Quota(project_id, {**self._defaults(), **known, **own}, own)

    def _quota(self, project_id: str, own: Mapping[str, int]) -> Quota:
        return Quota(project_id, {**self._defaults(), **own}, own)


def _asks_the_same(old: Lease, new: Lease) -> bool:
    return new.asks_as(old) and [r.allocations for r in old.reservations] == [
        r.allocations for r in new.reservations
    ]


TRIES = 256
"""How many later starts are compared with quotas, at the most."""


@dataclass(frozen=True, slots=True)
class QuotaOutlook:
    """The limits of a project, and what its leases use, at one moment: to look at leases that need not come
    to be, without a transaction."""

    limits: Mapping[str, int]
    leases: int
    uses: Sequence[Use]
    now: datetime
    window: timedelta
    use_of: Callable[[Lease], Use]

    @property
    def counts(self) -> bool:
        """Return whether any limit counts what leases use."""
        return any(most != UNLIMITED for name, most in self.limits.items() if name not in quota.OF_LEASES)

    def with_lease(self, lease: Lease) -> QuotaOutlook:
        """Return what the next new lease is compared with where this one is made before it."""
        return replace(self, leases=self.leases + 1, uses=[*self.uses, self.use_of(lease)])

    def check(self, lease: Lease) -> None:
        """Compare a new lease as its commit would. Raises QuotaExceeded."""
        most = self.limits[LEASES]
        if most != UNLIMITED and self.leases >= most:
            raise QuotaExceeded(LEASES, most, self.leases, 1)
        self._check(self.use_of(lease))

    def check_change(self, old: Lease, new: Lease) -> None:
        """Compare a change of a lease as its commit would. Raises QuotaExceeded."""
        growth = Growth(self.use_of(old), self.use_of(new))
        if growth.is_more:
            others = [use for use in self.uses if use.lease_id != old.id]
            quota.check(self.limits, growth, others, self.now, self.window)

    @property
    def steps(self) -> int:
        """Return what one comparison costs, in steps of a search: some passes over the leases ahead."""
        return 1 + len(self.uses)

    def later(
        self, lease: Lease, exceeded: QuotaExceeded, spend: Callable[[int], None]
    ) -> tuple[datetime | None, bool]:
        """Return the next start at which the lease would keep within the limits, and whether that is
        certain. None where there is none.

        A later start helps only where another lease has ended. With hours, what counts changes at every
        moment, so that an earlier start may do as well."""
        name = exceeded.fields.get("limit_name")
        if name in quota.OF_LEASES:
            return None, True
        use, moments = self.use_of(lease), {other.interval.end for other in self.uses}
        counts_hours = name not in use.quantities
        if counts_hours:
            moments |= {moment + self.window for moment in moments}
        starts = sorted(moment for moment in moments if moment > use.interval.start)
        for start in starts[:TRIES]:
            spend(self.steps)
            try:
                self._check(replace(use, interval=Interval(start, start + use.interval.duration)))
            except QuotaExceeded:
                continue
            return start, not counts_hours
        return None, not counts_hours and len(starts) <= TRIES

    def _check(self, use: Use) -> None:
        quota.check(self.limits, Growth(None, use), self.uses, self.now, self.window)


class QuotaUseCases:
    """The use cases of quotas in this process, as QuotasInterface names them."""

    def __init__(self, database: Database, quotas: Quotas, clock: Clock) -> None:
        self._database = database
        self._quotas = quotas
        self._clock = clock

    def list(self) -> QuotaList:
        if (found := self._quotas.read_all()) is not None:
            return found
        with self._database.read() as uow:
            return self._quotas.list(uow)

    def get(self, project_id: str) -> Quota:
        if (found := self._quotas.read(project_id)) is not None:
            return found
        with self._database.read() as uow:
            return self._quotas.limits(uow, project_id)

    def get_usage(self, project_id: str) -> Sequence[LimitUse]:
        asked = self._quotas.read(project_id)
        with self._database.read() as uow:
            return self._quotas.usage(uow, project_id, self._clock.now(), asked)

    def set(self, project_id: str, limits: Mapping[str, int | None]) -> Quota:
        self._require_own()
        unknown = sorted(limits.keys() - set(self._quotas.names))
        if unknown:
            known = ", ".join(self._quotas.names)
            raise InvalidInput(f"There is no limit {unknown[0][:64]}. The limits are: {known}.")

        def commit(uow: UnitOfWork) -> Quota:
            uow.quotas.queue_up(project_id)
            uow.quotas.unset(project_id, [name for name, most in limits.items() if most is None])
            uow.quotas.set(project_id, {name: n for name, n in limits.items() if n is not None})
            return self._quotas.limits(uow, project_id)

        return self._database.transact(commit)

    def unset(self, project_id: str) -> None:
        self._require_own()
        self._database.transact(lambda uow: uow.quotas.unset(project_id))

    def _require_own(self) -> None:
        if self._quotas.in_keystone is not None:
            raise InvalidInput("Keystone keeps the limits of projects: change them there.")

    def forget_spent(self) -> None:
        """Forget what is used up long ago. Every manager calls it from time to time."""
        self._database.transact(lambda uow: self._quotas.forget_spent(uow, self._clock.now()))
