"""Defects that are put into the service on purpose, to show that each rule can fail: what each does, and
which rule finds it.

Where that can be, they are put into the shipped in-memory adapters, for these stay when the service above
them is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from blazar.adapters.memory.compute import MemoryCompute
from blazar.adapters.memory.events import MemoryEvents
from blazar.adapters.memory.leases import MemoryLeases
from blazar.adapters.memory.mails import MemoryMails
from blazar.adapters.memory.offers import MemoryOffers
from blazar.adapters.memory.resources import MemoryResources
from blazar.adapters.memory.series import MemorySeries
from blazar.domain.failure import FailureReason
from blazar.domain.lease import change, progress
from blazar.domain.lease.event import Event, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.outcome import Done
from blazar.domain.lease.priority import Priority
from blazar.domain.lease.start_task import Need
from blazar.engine.threads import LongLivedThread
from blazar.kinds.host import actuator, lending
from blazar.kinds.host.lending import LendingLook
from blazar.kinds.network import actuator as networks
from blazar.kinds.network.kind import NetworkKind
from blazar.kinds.registered_hosts import monitor
from blazar.kinds.registered_hosts.hosts import Hosts
from blazar.kinds.registered_hosts.monitor import HostMonitor
from blazar.kinds.server.departure import Departure
from blazar.kinds.server.kind import ServerKind
from blazar.service import leases, start_tasks
from blazar.service.health import ThreadState
from blazar.service.leases import displace, late_binding
from blazar.service.series.cancel import SeriesCancellation
from blazar.service.series.store import PlannedSeries
from blazar.service.waitlist import Waitlist

from .kinds import DRAWN
from .run import Report, draw, run

QUIET = ("unforeseen error", "unforeseen cloud error", "cloud refuses")
"""Troubles that are left out, for other rules might be broken by them before."""
HOSTS = ("physical:host",)
NETWORKS = ("network",)
ALL = tuple(DRAWN)


@dataclass(frozen=True)
class Defect:
    """A method that is replaced: ``broken`` makes the new one of the old one."""

    rule: str
    owner: Any
    method: str
    broken: Callable[[Any], Any]
    kinds: tuple[str, ...] = HOSTS
    seed: int = 0
    """The first seed that found it when this was written; the search begins there."""


def _no_comparison(bump: Any) -> Any:
    return lambda self, generations, now, lease_ids=(): self.touch(sorted(generations), now, lease_ids)


def _all_bound(get: Any) -> Any:
    return lambda self, lease_id: bound(found) if (found := get(self, lease_id)) else None


def _nothing(method: Any) -> Any:
    return lambda self, *args: None


def _not_out_of_freepool(remove_host: Any) -> Any:
    return lambda self, aggregate_id, host: (
        None if aggregate_id == 1 else remove_host(self, aggregate_id, host)
    )


def _no_start(due: Any) -> Any:
    return lambda self, *asked: [e for e in due(self, *asked) if e.event_type is not EventType.START]


def _with_a_start(add: Any) -> Any:
    def added(self: Any, lease: Lease, now: Any) -> Any:
        if lease.status is LeaseStatus.WAITING:
            lease = replace(lease, events=(Event(lease.id, lease.id, EventType.START, lease.interval.start),))
        return add(self, lease, now)

    return added


def _never_promoted(promote: Any) -> Any:
    return lambda self, moved, stored, wish, ahead, caller: None


def _old_interval(save: Any) -> Any:
    return lambda self, new, old, now: save(self, replace(new, interval=old.interval), old, now)


def _all_stay(released: Any) -> Any:
    return lambda stored, acted, outcomes: stored.leaving


def _kept(save: Any) -> Any:
    def saved(self: Any, new: Lease, old: Lease, now: Any) -> Any:
        has = {r.id: r.allocations for r in old.reservations}
        over = tuple(replace(r, allocations=has[r.id]) for r in new.reservations)
        is_over = new.status is LeaseStatus.TERMINATED
        return save(self, replace(new, reservations=over) if is_over else new, old, now)

    return saved


def _without_what_goes(split: Any) -> Any:
    def halves(*asked: Any) -> tuple[Lease, Lease]:
        rest, part = split(*asked)
        return rest, replace(part, reservations=tuple(replace(r, allocations=()) for r in part.reservations))

    return halves


def _with_provider(unregister: Any) -> Any:
    def both(self: Any, host_id: str, caller: Any = None) -> None:
        unregister(self, host_id, caller)
        self._cloud.placement.remove_reservation_provider(f"host{host_id}")

    return both


def _whoever(may_be_displaced: Any) -> Any:
    return lambda lease, by, since: may_be_displaced(
        replace(lease, priority=Priority.LOW), Priority.HIGH, since
    )


def _lost(replanned: Any) -> Any:
    def lost(lease: Lease, moves: Any, new_id: Any) -> Lease:
        new = replanned(lease, moves, new_id)
        first = new.reservations[0]
        return replace(
            new, reservations=(replace(first, allocations=first.allocations[1:]), *new.reservations[1:])
        )

    return lost


def _all_well(health: Any) -> Any:
    return lambda self: replace(health(self), state=ThreadState.OK)


def _in_this_minute(end_now: Any) -> Any:
    return lambda lease, now: now


def _needed_for_ever(need_of: Any) -> Any:
    def broken(*args: Any) -> Any:
        need = need_of(*args)
        return Need.NOT_YET if need is Need.GONE else need

    return broken


def _no_rows(allocations: Any) -> Any:
    return lambda self, pool, **wanted: []


def _never_held_back(is_held_back: Any) -> Any:
    return lambda self, hosts, seen, now: False


def _always_down(reason: Any) -> Any:
    return lambda seen: FailureReason.DOWN if seen.service_name == "host1" else reason(seen)


def _never_over(observed: Any) -> Any:
    return lambda failure, *args: observed(failure, *args) or failure


def _overdue_soon(overdue: Any) -> Any:
    return lambda self, now, limit: overdue(self, now + timedelta(minutes=2), limit)


def _done(unfinished: Any) -> Any:
    return lambda failures, waiting, **known: Done(known.get("cloud_state", {}))


def _fails(_: Any) -> Any:
    def failing(*_: Any) -> Any:
        raise LookupError("a defect")

    return failing


def _without_maintenances(occupancy: Any) -> Any:
    def found(self: Any, pool: Any, ids: Any = None) -> Any:
        for registration, rows in occupancy(self, pool, ids):
            yield registration, [a for a in rows if a.lease_id not in self._state.maintenances]

    return found


def _ended(before_end: Any) -> Any:
    return lambda self, work, cloud: self.deactivate(work, cloud)


def _done_with_none(deactivate: Any) -> Any:
    return lambda self, work, cloud: Done({networks.NETWORKS: {}})


def _ports_only(clear: Any) -> Any:
    def cleared(network_id: str, network: Any) -> None:
        for port in network.ports(network_id):
            if port.owner not in networks.INTERFACES:
                network.delete_port(port.id)

    return cleared


def _forgotten(remembered: Any) -> Any:
    return lambda work: {}


def _not_compared(generations: Any) -> Any:
    return property(lambda self: {})


def _without_the_last(add: Any) -> Any:
    def added(self: Any, series: Any, now: Any, key: Any = None, request: Any = None) -> Any:
        *others, last = series.occurrences
        lacking = replace(series, occurrences=(*others, replace(last, lease_id=None)))
        return add(self, lacking, now, key, request)

    return added


def _is_gone(cancel: Any) -> Any:
    return lambda self, lease_id, caller, may: True


def _never(is_own: Any) -> Any:
    return lambda server, work: False


def _none_free(to_keep_free: Any) -> Any:
    return lambda idle, number: frozenset()


def bound(lease: Lease) -> Lease:
    """Return the lease with all of its allocations bound."""
    reservations = tuple(
        replace(r, allocations=tuple(replace(a, bound=True) for a in r.allocations))
        for r in lease.reservations
    )
    return replace(lease, reservations=reservations)


DEFECTS: Mapping[str, Defect] = {
    "a commit compares no generations": Defect(
        "never more than there is", MemoryResources, "bump", _no_comparison, seed=24
    ),
    "allocations are bound before they are taken": Defect(
        "no host is given while the last tenant's servers are on it",
        MemoryLeases,
        "get",
        _all_bound,
        ("physical:host", "virtual:instance"),
        7,
    ),
    "aggregates are never removed": Defect(
        "nothing is left behind", MemoryCompute, "delete_aggregate", _nothing
    ),
    "hosts are never taken out of the freepool": Defect(
        "the cloud has what the lease says", MemoryCompute, "remove_host", _not_out_of_freepool
    ),
    "projects that may no longer use a lease are let in": Defect(
        "the cloud lets in whom shares name", MemoryCompute, "remove_metadata", _nothing, seed=39
    ),
    "the provider goes with its host": Defect(
        "no provider is taken from nova-compute", Hosts, "unregister", _with_provider, seed=2
    ),
    "health calls dead threads alive": Defect(
        "health tells of dead threads", LongLivedThread, "health", _all_well, seed=22
    ),
    "stacks of leases that are over stay": Defect(
        "stacks go with their leases", start_tasks, "need_of", _needed_for_ever
    ),
    "an end in this minute is refused": Defect(
        "a lease that has begun can be ended", change, "end_now", _in_this_minute, seed=29
    ),
    "what forgets mail fails": Defect("no defect is met", MemoryMails, "forget", _fails),
    "properties are changed under leases": Defect(
        "what is promised is there as it was asked for", MemoryResources, "allocations", _no_rows, seed=1
    ),
    "any number of failures is believed": Defect(
        "too many failures at once are not believed", HostMonitor, "_is_held_back", _never_held_back, seed=1
    ),
    "a host that works is taken for failed": Defect(
        "no host is called failed that did not fail", monitor, "_reason", _always_down
    ),
    "a failure is never over": Defect("no host is lost", monitor, "observed", _never_over, seed=3),
    "a host at which a step failed is taken for done": Defect(
        "the cloud has what the lease says", actuator, "unfinished", _done
    ),
    "a reserved server stays on its host": Defect("nothing is left behind", Departure, "step", _nothing),
    "the warning ends the time of a reserved server": Defect(
        "no server is taken from a running lease", ServerKind, "before_end", _ended
    ),
    "a network is forgotten at its end": Defect(
        "nothing is left behind", NetworkKind, "deactivate", _done_with_none, NETWORKS
    ),
    "routers stay attached to a network": Defect(
        "nothing waits for ever", networks, "clear", _ports_only, NETWORKS
    ),
    "a network whose marks its user has changed is not known": Defect(
        "nothing is left behind", networks, "remembered", _forgotten, NETWORKS
    ),
    "the warning removes the networks": Defect(
        "no network is taken from a running lease", NetworkKind, "before_end", _ended, NETWORKS
    ),
    "segments are given up under leases": Defect(
        "what is promised is there as it was asked for", MemoryResources, "allocations", _no_rows, NETWORKS
    ),
    "a series compares no generations": Defect(
        "never more than there is", PlannedSeries, "generations", _not_compared, seed=7
    ),
    "a series is stored without its last lease": Defect(
        "a series is made with all its leases", MemorySeries, "add", _without_the_last, seed=1
    ),
    "the leases of cancelled days stay": Defect(
        "a lease of a series is one that the series has", SeriesCancellation, "_cancel", _is_gone, seed=10
    ),
    "starts are not found": Defect("nothing waits for ever", MemoryEvents, "due", _no_start),
    "offers are taken for expired before they are": Defect(
        "a claim in time succeeds", MemoryOffers, "overdue", _overdue_soon, seed=83
    ),
    "no wait ends": Defect("none waits past its deadline", Waitlist, "_end", _nothing, seed=11),
    "what waits has a start": Defect(
        "a lease that waits has nothing", MemoryLeases, "add", _with_a_start, seed=11
    ),
    "nothing is promoted": Defect(
        "the first in line waits for what is not there", Waitlist, "_promote", _never_promoted, seed=103
    ),
    "plans know nothing of maintenances": Defect(
        "nothing is given that is taken away", MemoryResources, "occupancy", _without_maintenances
    ),
    "a lease of any priority gives way": Defect(
        "only a lower lease that has not started gives way", displace, "may_be_displaced", _whoever, seed=3
    ),
    "what is planned elsewhere is lost": Defect(
        "what is planned elsewhere keeps all it had", late_binding, "replanned", _lost, kinds=ALL, seed=8
    ),
    "hosts of leases that are over stay lent": Defect(
        "only idle hosts of those who lend are lent", LendingLook, "finish", _nothing, seed=2
    ),
    "servers of the project are taken for those of others": Defect(
        "no server is taken from a running lease", lending, "is_own", _never, seed=13
    ),
    "nothing is kept free": Defect(
        "who lends hosts has those that he needs", lending, "to_keep_free", _none_free, seed=10
    ),
    "what is over keeps its allocations": Defect("what is over has nothing", MemoryLeases, "save", _kept),
    "what leaves a lease is never released": Defect(
        "what is removed from a lease leaves it", progress, "released", _all_stay, seed=111
    ),
    "what a split takes out is lost": Defect(
        "a split gives nothing and takes nothing", leases.split, "split", _without_what_goes, kinds=ALL
    ),
    "an update keeps the old dates": Defect(
        "what is acknowledged is there", MemoryLeases, "save", _old_interval, seed=1
    ),
}


def first_found(defect: Defect, seed: int, most: int) -> Report | None:
    """Return the first run from the seed on in which its rule finds the defect, which is put in; None where
    so many seeds do not."""
    for each in range(seed, seed + most):
        report = run(draw(each, QUIET, defect.kinds))
        if report.violation is not None and report.violation.rule == defect.rule:
            return report
    return None


@contextmanager
def put_in(defect: Defect) -> Iterator[None]:
    """Have the service run with the defect."""
    sound = getattr(defect.owner, defect.method)
    setattr(defect.owner, defect.method, defect.broken(sound))
    try:
        yield
    finally:
        setattr(defect.owner, defect.method, sound)
