"""The comparison of the database with the cloud, all of it: what differs, and how it is repaired.

A lease is read, the cloud is looked at, and the lease is read again: only where it is still the same, a
difference counts. What is in the cloud for a reservation is looked for first, then its lease, which is always
stored before anything is made for it, and then once more: a lease that ends takes what it had along."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache, partial
from typing import Any

from blazar.domain.errors import CloudRefused, CloudUnavailable, Stale
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.service.ports import Cloud, Difference, Look, MarkedObject, Repair
from blazar.service.ports.kind import Dependencies, Extension, Kind, Work
from blazar.service.works import active_works, are_enabled

AT_ONCE = 500
"""Active leases that are compared by one look at the cloud."""
FEW = 10
"""Reservations without a lease that are believed in any case."""
PRESENT, NOTHING = "is there", "nothing: no lease has it, or the lease is over"
NO_TRUST = "the lease's owner gives a new one with an update of the lease"
HELD_BACK = (
    "more than half of the reservations that the cloud has objects of are in no lease of this database: is "
    "it the right one?"
)
TOO_YOUNG = "it is removed when it has been seen for {seconds:.0f} seconds"
BY_PEOPLE = "it cannot be repaired by itself"
MOST_FAILURES = 5
"""Attempts that may fail one after another because the cloud does not answer."""
PAUSE = 1.0
"""Seconds between two signs of life while there is nothing to do but to wait."""
AFTER_OTHERS = "it is removed after the other objects of its reservation"

Check = Callable[[], None]
"""Called before each request to the cloud; raises to end the work."""
Tell = Callable[[str], None]
"""Told how far the work is."""


@dataclass(frozen=True, slots=True)
class ReconciliationSettings:
    """The operator's settings."""

    grace: timedelta = timedelta(minutes=5)
    """How long an object must have been seen without a lease before it is removed."""
    removes_many: bool = False
    """Whether objects of most reservations are removed, where most have no lease."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference, and what became of it; ``reason`` is why it stays."""

    difference: Difference
    is_repaired: bool = False
    reason: str = ""

    @property
    def sentence(self) -> str:
        """Return the difference as a line: what, of which lease, what should be there and what is."""
        d = self.difference
        owners = {"reservation": d.reservation_id, "lease": d.lease_id}
        told = " of ".join(f"{what} {owner_id}" for what, owner_id in owners.items() if owner_id)
        line = f"{d.subject}{f' ({told})' if told else ''}: expected {d.expected}, found {d.found}"
        if self.is_repaired:
            return f"repaired: {line}"
        return f"{line}; {self.reason}" if self.reason else line


@dataclass(frozen=True, slots=True)
class _Found:
    difference: Difference
    repair: Callable[[Check], str | None] | None
    """Returns why the difference stays, where it does. Without it, people have to repair it."""

    @property
    def key(self) -> tuple[str, str, str]:
        return _key(self.difference)


class Reconciliation:
    """Compares everything, and repairs what differs. One thread uses it."""

    def __init__(
        self,
        dependencies: Dependencies,
        extensions: Sequence[Extension],
        converge: Callable[[str], str | None],
        settings: ReconciliationSettings,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``converge`` has the engine repair an active lease; it returns why the lease is not repaired."""
        self._dependencies = dependencies
        self._database = dependencies.database
        self._extensions = extensions
        self._converge = converge
        self._settings = settings
        self._monotonic = monotonic
        self._since: dict[MarkedObject, float] = {}

    def compare(self, check: Check, tell: Tell) -> Sequence[Finding]:
        """Return what differs, sorted. Raises CloudUnavailable and CloudRefused where the cloud does not
        tell, and what ``check`` raises."""
        return _sorted(
            Finding(each.difference, reason=each.difference.advice) for each in self._look(check, tell)
        )

    def repair(self, check: Check, tell: Tell, waits: bool = False) -> Sequence[Finding]:
        """Compare, repair, and compare again. Return what was repaired and what differs still, sorted.

        Nothing is repaired where a part of the cloud does not tell. What has no lease is removed when it has
        been seen for long enough: in a later call of this object, or, with ``waits``, in this one. Raises as
        ``compare``."""
        before = self._look(check, tell)
        if not before:
            return []
        if waits:
            self._wait(check, tell)
        reasons = self._repaired(before, check, tell)
        tell("comparing again")
        left = {each.key: each.difference for each in before if reasons[each.key]}
        left |= {each.key: each.difference for each in self._look(check, tell)}
        repaired = [Finding(each.difference, is_repaired=True) for each in before if each.key not in left]
        stays = [Finding(d, reason=d.advice or reasons.get(key) or "") for key, d in left.items()]
        return _sorted([*repaired, *stays])

    # compare

    def _look(self, check: Check, tell: Tell) -> list[_Found]:
        cloud = self._dependencies.cloud.fenced(check)
        return [
            *self._of_active_leases(cloud, tell),
            *self._of_resources(cloud, tell),
            *self._of_orphans(cloud, tell),
        ]

    def _of_active_leases(self, cloud: Cloud, tell: Tell) -> Iterator[_Found]:
        with self._database.read() as uow:
            ids = uow.leases.ids_with_status([LeaseStatus.ACTIVE])
        for first in range(0, len(ids), AT_ONCE):
            tell(f"comparing active leases: {first} of {len(ids)}")
            yield from self._of_leases(ids[first : first + AT_ONCE], cloud)

    def _of_leases(self, ids: Sequence[str], cloud: Cloud) -> Iterator[_Found]:
        leases = self._settled(ids)
        with self._database.read() as uow:
            works = active_works(uow, self._database, self._dependencies.kinds, leases)
        looks = self._looks(cloud)
        found = {
            lease.id: [*_of_trust(lease, cloud), *_of_reservations(works[lease.id], looks)]
            for lease in leases
        }
        differing = [lease for lease in leases if found[lease.id]]
        unchanged = {(lease.id, lease.revision) for lease in self._settled([each.id for each in differing])}
        for lease in differing:
            if (lease.id, lease.revision) in unchanged:
                repair = cache(partial(self._converged, lease.id))
                yield from (_Found(d, None if d.advice else repair) for d in found[lease.id])

    def _settled(self, ids: Sequence[str]) -> list[Lease]:
        """Return those of the leases that should have in the cloud all that they were promised, but for those
        that only another version understands."""
        with self._database.read() as uow:
            leases = [lease for lease in uow.leases.get_many(ids) if lease.is_understood]
        kinds = self._dependencies.kinds
        return [lease for lease in leases if lease.is_settled and are_enabled(lease, kinds)]

    def _of_resources(self, cloud: Cloud, tell: Tell) -> Iterator[_Found]:
        for extension in self._extensions:
            tell(f"comparing {extension.name}")
            for region, look in self._looks(cloud).items():
                for difference, repair in extension.differences(self._dependencies, look):
                    told = replace(difference, subject=_subject(difference.subject, region))
                    yield _Found(told, partial(self._mended, repair, region) if repair else None)

    def _looks(self, cloud: Cloud) -> Mapping[str | None, Look]:
        """Return a look at each region."""
        regions: tuple[str | None, ...] = (None, *cloud.regions[1:])
        return {region: Look(cloud, self._database, region) for region in regions}

    def _of_orphans(self, cloud: Cloud, tell: Tell) -> Iterator[_Found]:
        tell("looking for what has no lease")
        marked = self._marked(cloud)
        owned = self._owned(marked)
        orphans = {each for each in marked if each.reservation_id not in owned}
        # Looked at once more: what a lease had that has ended since was removed with it.
        stays = [each for each in self._marked(cloud) if each in orphans] if orphans else []
        lost = {each.reservation_id for each in stays}
        is_held_back = not self._settings.removes_many and len(lost) > max(FEW, len(owned))
        now = self._monotonic()
        self._since = {} if is_held_back else {each: self._since.get(each, now) for each in stays}
        for each in stays:
            subject = _subject(each.subject, each.region)
            yield _Found(
                Difference(
                    *(each.sort, subject, NOTHING, PRESENT, "", each.reservation_id),
                    advice=HELD_BACK if is_held_back else "",
                ),
                None if is_held_back else partial(self._removed, each),
            )

    def _marked(self, cloud: Cloud) -> list[MarkedObject]:
        """Return each marked object once: kinds that share their objects all tell of them."""
        return list(
            dict.fromkeys(
                replace(each, region=region)
                for region, look in self._looks(cloud).items()
                for kind in self._dependencies.kinds.values()
                if kind.is_regional or region is None
                for each in kind.marked(look)
            )
        )

    def _owned(self, marked: Iterable[MarkedObject]) -> frozenset[str]:
        ids = sorted({each.reservation_id for each in marked})
        with self._database.read() as uow:
            return uow.leases.unfinished_reservations(ids)

    # repair

    def _repaired(
        self, found: Sequence[_Found], check: Check, tell: Tell
    ) -> Mapping[tuple[str, str, str], str | None]:
        """Repair all that can be. Return the reasons why differences stay, by key.

        Raises CloudUnavailable where one attempt after another fails: the cloud is away by now."""
        reasons: dict[tuple[str, str, str], str | None] = {}
        stuck: set[str] = set()
        failures = 0
        for number, each in enumerate(found, 1):
            difference = each.difference
            tell(f"repairing {number} of {len(found)}: {difference.subject}")
            try:
                reason = self._attempted(each, stuck, check)
                failures = 0
            except CloudUnavailable as failure:
                reason, failures = failure.message, failures + 1
                if failures > MOST_FAILURES:
                    raise
            reasons[each.key] = reason
            if reason and not difference.lease_id:
                stuck.add(difference.reservation_id)
        return reasons

    def _attempted(self, found: _Found, stuck: AbstractSet[str], check: Check) -> str | None:
        difference = found.difference
        if found.repair is None:
            return difference.advice or BY_PEOPLE
        if not difference.lease_id and difference.reservation_id and difference.reservation_id in stuck:
            return AFTER_OTHERS
        try:
            return found.repair(check)
        except (CloudRefused, Stale) as refusal:
            return refusal.message

    def _converged(self, lease_id: str, check: Check) -> str | None:
        check()
        return self._converge(lease_id)

    def _mended(self, repair: Repair, region: str | None, check: Check) -> str | None:
        return repair(self._dependencies.cloud.fenced(check).in_region(region))

    def _removed(self, orphan: MarkedObject, check: Check) -> str | None:
        """Remove the object. Before each request the database is asked whether a lease has it by now."""
        if self._age_left(orphan) > 0:
            return TOO_YOUNG.format(seconds=self._settings.grace.total_seconds())

        def check_owner() -> None:
            check()
            if self._owned([orphan]):
                raise Stale()

        return orphan.remove(self._dependencies.cloud.fenced(check_owner).in_region(orphan.region))

    def _age_left(self, orphan: MarkedObject) -> float:
        """Return for how many seconds the object is too young to be removed."""
        since = self._since.get(orphan, self._monotonic())
        return since + self._settings.grace.total_seconds() - self._monotonic()

    def _wait(self, check: Check, tell: Tell) -> None:
        """Wait until all that has no lease is old enough."""
        if self._since:
            tell(f"what has no lease is removed in {self._settings.grace.total_seconds():.0f} seconds")
        while (seconds := max(map(self._age_left, self._since), default=0)) > 0:
            check()
            self._dependencies.clock.pause(min(seconds, PAUSE))


def _of_trust(lease: Lease, cloud: Cloud) -> Iterator[Difference]:
    if lease.trust_id is not None and not cloud.identity.is_trust_valid(lease.trust_id):
        yield Difference("trust", f"trust {lease.trust_id}", "valid", "not valid", lease.id, advice=NO_TRUST)


def _subject(subject: str, region: str | None) -> str:
    return subject if region is None else f"{subject} in {region}"


def _of_reservations(
    works: Iterable[tuple[Kind[Any], Work]], looks: Mapping[str | None, Look]
) -> Iterator[Difference]:
    for kind, work in works:
        for difference in kind.differences(work, looks[work.reservation.region]):
            yield replace(difference, lease_id=work.lease.id, reservation_id=work.reservation.id)


def _key(difference: Difference) -> tuple[str, str, str]:
    return difference.sort, difference.subject, difference.reservation_id


def _sorted(findings: Iterable[Finding]) -> Sequence[Finding]:
    return sorted(findings, key=lambda finding: (finding.difference, finding.is_repaired))
