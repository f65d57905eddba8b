"""The monitor of hosts: it asks Nova which of the registered hosts are down or disabled."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from blazar.domain.errors import Stale
from blazar.domain.failure import FailureReason, observed
from blazar.domain.lease.maintenance import lifetimes
from blazar.domain.resource import Pool, PropertyValue, Registration, database_order, region_of
from blazar.kinds.registered_hosts.pool import POOL, region_fact
from blazar.service.healing import tell_unsuitable
from blazar.service.ports import Clock, Cloud, Database, Hypervisor, Provider, UnitOfWork
from blazar.service.ports.kind import Kinds, Sighting

LOG = logging.getLogger(__name__)
AT_ONCE = timedelta(minutes=10)
"""Failures that lie no further apart are failures at once."""
IN_ONE_COMMIT = 50
ATTEMPTS = 10
REFRESHED_AT_ONCE = 50
"""Hosts whose traits and inventory are asked for at each look: three small requests each."""
STORED_AT_ONCE = 1000
"""Hosts whose facts are stored at each look. Calendars read anew what has changed of a host, and requests
wait for them: so where Nova tells something else of all hosts, this is done in many looks."""
DISABLED_TRAIT = "COMPUTE_STATUS_DISABLED"
"""Nova's own mark on a disabled host; its failure says the same."""


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """The operator's settings for the monitor of hosts."""

    interval: timedelta = timedelta(seconds=60)
    probation: timedelta = timedelta(minutes=2)
    """How long a host must be back before it can be reserved again."""
    most_at_once: int = 25
    """The percentage of the registered hosts that may fail at once; one host always may."""


class Hypervisors:
    """The hypervisors that Nova lists, as those of registered hosts."""

    def __init__(self, listed: Sequence[Hypervisor], hosts: Sequence[Registration]) -> None:
        known = {host.cloud_id for host in hosts}
        self._by_uuid = {each.uuid: each for each in listed}
        self._by_name = {each.hypervisor_hostname: each for each in listed if each.uuid not in known}

    def of(self, host: Registration) -> Hypervisor | None:
        """Return the host's hypervisor: the one with its cloud_id.

        A host that an earlier version has registered has none yet, and a hypervisor that was made anew has
        another one. Such a hypervisor is found by its name, which is unique in Placement."""
        return self._by_uuid.get(host.cloud_id or "") or self._by_name.get(host.name)


class Rotation:
    """Which hosts come next where not all of them come at once."""

    def __init__(self) -> None:
        self._last = database_order("0")

    def next_of(self, hosts: Sequence[Registration], most: int) -> Sequence[Registration]:
        """Return some of the hosts, which are in the order of the database: those after the last ones."""
        ahead = [host for host in hosts if database_order(host.id) > self._last]
        found = (ahead or hosts)[:most]
        if found:
            self._last = database_order(found[-1].id)
        return found


class HostMonitor:
    """The Monitor of the hosts in our care. One thread uses it."""

    def __init__(
        self,
        database: Database,
        cloud: Cloud,
        kinds: Kinds,
        clock: Clock,
        settings: MonitorSettings,
        pool: Pool = POOL,
    ) -> None:
        """``pool`` has the hosts of one region."""
        self.pool = pool
        self._database = database
        self._cloud = cloud.in_region(region_of(pool))
        self._region = region_fact(region_of(pool), cloud)
        self._kinds = kinds
        self._clock = clock
        self._settings = settings
        self._was_held_back = False
        self._unknown: frozenset[str] = frozenset()
        self._refreshed, self._stored = Rotation(), Rotation()

    @property
    def interval(self) -> timedelta:
        return self._settings.interval

    def look(self, check: Callable[[], None]) -> Sighting:
        now = self._clock.now()
        hypervisors = self._cloud.compute.hypervisors()
        with self._database.read() as uow:
            hosts = uow.resources.list(self.pool)
            away = _away(uow, now)
        seen = Hypervisors(hypervisors, hosts)
        expected = [host for host in hosts if host.id not in away]
        is_held_back = self._is_held_back(expected, seen, now)
        self._tell_unknown(frozenset(host.name for host in expected if seen.of(host) is None))

        def after(host: Registration) -> Registration:
            # Whether a host works that is not there yet, or is there no more, says nothing.
            if host.id in away:
                return replace(host, failure=None)
            return self._after(host, seen, now, is_held_back)

        changed = self._to_store(hosts, after)
        for first in range(0, len(changed), IN_ONE_COMMIT):
            ids = [host.id for host in changed[first : first + IN_ONE_COMMIT]]
            check()
            self._store(ids, after)
        with self._database.read() as uow:
            failed = len(uow.resources.failed(self.pool))
        return Sighting(failed, len(self._unknown), is_held_back)

    # decide

    def _to_store(
        self, hosts: Sequence[Registration], after: Callable[[Registration], Registration]
    ) -> Sequence[Registration]:
        """Return the hosts of which something is stored now: all that fail or work again, or have another
        hypervisor, and then some of which only the facts have changed."""
        pairs = [(host, new) for host in hosts if (new := after(host)) != host]
        urgent = [host for host, new in pairs if _is_urgent(host, new)]
        others = [host for host, new in pairs if not _is_urgent(host, new)]
        some = self._stored.next_of(others, STORED_AT_ONCE)
        if len(some) < len(others):
            LOG.info("%d hosts have changed in Nova, of which %d are stored now", len(others), len(some))
        return [*urgent, *some]

    def _after(
        self, host: Registration, seen: Hypervisors, now: datetime, is_held_back: bool
    ) -> Registration:
        """Return the host after this look. One that Nova does not list stays as it is: it says nothing."""
        hypervisor = seen.of(host)
        if hypervisor is None:
            return host
        reason = _reason(hypervisor)
        if reason is not None and is_held_back:
            return host
        failure = observed(host.failure, reason, now, self._settings.probation)
        facts = {**_refreshed(host.facts, hypervisor), **self._region}
        return replace(host, failure=failure, facts=facts, cloud_id=hypervisor.uuid)

    def _is_held_back(self, hosts: Sequence[Registration], seen: Hypervisors, now: datetime) -> bool:
        """Return whether so many hosts fail at once, or are not listed, that Nova must be wrong."""
        most = max(1, len(hosts) * self._settings.most_at_once // 100)
        found = [(host, seen.of(host)) for host in hosts]
        failing = [host for host, at in found if at and _reason(at) and _is_recent(host, now)]
        missing = [host for host, at in found if at is None]
        is_held_back = max(len(failing), len(missing)) > most
        if is_held_back and not self._was_held_back:
            LOG.error(
                "Of %d registered hosts %d fail at once, and Nova does not list %d. More than %d is taken "
                "for a failure of Nova: nothing is healed. Look at Nova's services and its message broker, "
                "or raise [physical:host] max_failed_percent.",
                *(len(hosts), len(failing), len(missing), most),
                extra={"action": "heal"},
            )
        if self._was_held_back and not is_held_back:
            LOG.warning("What Nova tells of the hosts is believed again", extra={"action": "heal"})
        self._was_held_back = is_held_back
        return is_held_back

    def _tell_unknown(self, unknown: frozenset[str]) -> None:
        if unknown - self._unknown:
            names = ", ".join(sorted(unknown)[:10])
            LOG.warning("Nova does not list %d registered hosts: %s", len(unknown), names)
        self._unknown = unknown

    # store

    def _store(self, ids: Sequence[str], after: Callable[[Registration], Registration]) -> None:
        """Write what has changed. A host that a request has changed meanwhile is read again."""
        for _ in range(ATTEMPTS):
            try:
                changed = self._database.transact(lambda uow: self._write(uow, ids, after))
            except Stale:
                self._clock.pause(0.01)
                continue
            for old, new in changed:
                _tell(old, new)
            return

    def _write(
        self, uow: UnitOfWork, ids: Sequence[str], after: Callable[[Registration], Registration]
    ) -> list[tuple[Registration, Registration]]:
        pairs = [(old, after(old)) for old in uow.resources.list(self.pool, ids)]
        changed = [(old, new) for old, new in pairs if new != old]
        for old, new in changed:
            self._save(uow, old, new)
        return changed

    def _save(self, uow: UnitOfWork, old: Registration, new: Registration) -> None:
        """Store the host, and tell the leases that lose something by what has changed."""
        now = self._clock.now()
        stored = uow.resources.save(new, now)
        if replace(old, failure=new.failure, cloud_id=new.cloud_id) == new:
            return
        told = tell_unsuitable(uow, self._kinds, stored, now)
        LOG.log(
            logging.WARNING if told else logging.INFO,
            "Host %s has changed: %s. It no longer suits %d leases",
            *(new.name, _differences(old, new), told),
            extra={"action": "monitor", "host": new.name},
        )

    # traits and inventory

    def refresh(self, check: Callable[[], None]) -> None:
        """Compare traits and inventory of some hosts with Placement, which is asked host by host. After some
        looks it is the turn of each."""
        with self._database.read() as uow:
            hosts = [host for host in uow.resources.list(self.pool) if host.can_be_reserved]
        for host in self._refreshed.next_of(hosts, REFRESHED_AT_ONCE):
            check()
            provider = self._cloud.placement.provider(host.name)
            if provider is None or not provider.inventory:
                continue  # a node that is being set up, or cleaned: it says nothing
            after = partial(_with_provider, provider=provider)
            if after(host) != host:
                self._store([host.id], after)


def store_cloud_ids(
    database: Database, cloud: Cloud, clock: Clock, unlisted: frozenset[str]
) -> frozenset[str]:
    """Store the cloud_id of hosts that an earlier version has registered, as the monitor does by the way.

    Return the ids of those that Nova does not list: as ``unlisted`` they are not looked for again, for Nova
    takes long to list all hypervisors. Raises CloudUnavailable, CloudRefused."""
    with database.read() as uow:
        hosts = uow.resources.list(POOL)
    wanted = [host for host in hosts if host.cloud_id is None and host.id not in unlisted]
    if not wanted:
        return unlisted
    seen, now = Hypervisors(cloud.compute.hypervisors(), hosts), clock.now()
    found = [(host, at) for host in wanted if (at := seen.of(host))]
    for first in range(0, len(found), IN_ONE_COMMIT):
        new = [replace(host, cloud_id=at.uuid) for host, at in found[first : first + IN_ONE_COMMIT]]
        with suppress(Stale):  # a request has changed one of them: the next time
            database.transact(partial(_save_all, hosts=new, now=now))
    return frozenset(host.id for host in hosts if host.cloud_id is None and seen.of(host) is None)


def _save_all(uow: UnitOfWork, hosts: Sequence[Registration], now: datetime) -> None:
    for host in hosts:
        uow.resources.save(host, now)


def _refreshed(facts: Mapping[str, PropertyValue], seen: Hypervisor) -> Mapping[str, PropertyValue]:
    """Return the facts as Nova tells them now.

    The zone is that of the time of the registration: a reservation puts its hosts into a zone of its own. A
    host that cannot serve, or has no size, as a bare-metal node that is cleaned, says nothing of itself."""
    if _reason(seen) is not None or not seen.facts.get("vcpus"):
        return facts
    kept = {"availability_zone": facts.get("availability_zone")}
    if _parsed(facts.get("cpu_info")) == _parsed(seen.facts.get("cpu_info")):
        kept["cpu_info"] = facts.get("cpu_info")  # only spelled in another way
    return {**facts, **seen.facts, **kept}


def _parsed(text: PropertyValue) -> object:
    try:
        return json.loads(str(text))
    except ValueError:
        return text


def _with_provider(host: Registration, provider: Provider) -> Registration:
    traits = frozenset(provider.traits) - {DISABLED_TRAIT}
    return replace(host, traits=traits, inventory=dict(provider.inventory))


def _differences(old: Registration, new: Registration) -> str:
    facts = [name for name in new.facts if old.facts.get(name) != new.facts[name]]
    classes = [c for c in {**old.inventory, **new.inventory} if old.inventory.get(c) != new.inventory.get(c)]
    return ", ".join(sorted([*facts, *classes, *(old.traits ^ new.traits)]))


def _is_urgent(old: Registration, new: Registration) -> bool:
    return (old.failure, old.cloud_id) != (new.failure, new.cloud_id)


def _reason(hypervisor: Hypervisor) -> FailureReason | None:
    if not hypervisor.is_up:
        return FailureReason.DOWN
    return None if hypervisor.is_enabled else FailureReason.DISABLED


def _away(uow: UnitOfWork, now: datetime) -> frozenset[str]:
    """Return the ids of the hosts that are not there now."""
    found = lifetimes(uow.maintenances.list(), now)
    return frozenset(id_ for id_, each in found.items() if any(a.contains(now) for a in each.away(now)))


def _is_recent(host: Registration, now: datetime) -> bool:
    return host.failure is None or now - host.failure.since < AT_ONCE


def _tell(old: Registration, new: Registration) -> None:
    before, after, name = old.failure, new.failure, new.name
    about = {"action": "monitor", "host": name}
    if after is None and before is not None:
        LOG.info("Host %s can be reserved again", name, extra=about)
    elif after is not None and (before is None or before.reason is not after.reason):
        LOG.warning("Nova says that host %s is %s; it cannot be reserved", name, after.reason, extra=about)
    elif after is not None and before is not None and before.is_present != after.is_present:
        LOG.info("Host %s %s", name, "fails again" if after.is_present else "is on probation", extra=about)
