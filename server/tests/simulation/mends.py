"""Mends of defects of order, each of which can be taken out of the service, to see that the simulation finds
the defect: ``python -m simulation.mends`` runs seeds until it does, and then until it finds the planted
defects (``simulation.defects``)."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

from blazar.adapters.memory.quotas import MemoryQuotas
from blazar.domain.errors import BlazarError
from blazar.domain.lease import change, healing, progress
from blazar.domain.lease.event import EventStatus, EventType
from blazar.domain.lease.outcome import Done
from blazar.engine.threads import LongLivedThread
from blazar.kinds.aggregates import NamedAggregate, existing_aggregate
from blazar.kinds.host.actuator import HostActuator
from blazar.kinds.host.lending import HostLending
from blazar.kinds.registered_hosts.deregistration import Deregistration
from blazar.kinds.registered_hosts.errors import HostAlreadyRegistered
from blazar.kinds.registered_hosts.hosts import Hosts
from blazar.service import events
from blazar.service.leases import update
from blazar.service.leases.confirm import LeaseConfirmation
from blazar.service.leases.store import LeaseChange
from blazar.service.leases.update import LeaseUpdate

from . import defects
from .kinds import DRAWN
from .run import NO_DEFECT, Report, draw, run

MOST = 300
"""Seeds that are run for each mend at the most."""
Search = Callable[[int, int], Report | None]
"""Looks from a seed on, in so many of them."""
Part = tuple[Any, str, Callable[[Any], Any]]
"""Where a function is, its name, and what is made of it."""


@dataclass(frozen=True)
class Mend:
    """What is replaced to take a mend out, and where the defect is found then."""

    parts: tuple[Part, ...]
    kinds: tuple[str, ...] = tuple(DRAWN)
    seed: int = 0
    """The first seed that found it when this was written."""


def _emptied_again(activate: Any) -> Any:
    def broken(self: Any, work: Any, cloud: Any) -> Any:
        aggregate = existing_aggregate(work.reservation, cloud.compute)
        for host, allocation in self._hosts(work).items():
            if aggregate is not None and host in aggregate.hosts and not allocation.bound:
                self._emptied(cloud.compute, host)
        return activate(self, work, cloud)

    return broken


def _nothing_serves(bound: Any) -> Any:
    return lambda reservation, acted, serving=None, freed=None: bound(
        reservation, acted, None if serving is None else frozenset(), freed
    )


def _a_warning_binds(settled: Any) -> Any:
    def broken(reservation: Any, acted: Any, outcome: Any, event_type: Any) -> Any:
        found = settled(reservation, acted, outcome, event_type)
        is_warning = event_type is EventType.BEFORE_END and isinstance(outcome, Done)
        return progress._bound(found, acted) if is_warning else found

    return broken


def _discarded(commit: Callable[[], Any], discard: Callable[[], object]) -> Any:
    """Discard what was made wherever the commit ends in an error, whatever became of it."""
    try:
        return commit()
    except BlazarError:
        discard()
        raise


def _discards_at_create(_: Any) -> Any:
    def broken(
        self: Any, creating: Any, task: Any, events: Any, caller: Any, settings: Any, start: Any = None
    ) -> Any:
        ready = self._preparation.make(creating, task, caller)
        confirmation = LeaseChange(creating, change.confirmed(ready, events), start=start)
        return _discarded(
            lambda: self._store.commit(confirmation, caller),
            lambda: self._preparation.discard(ready, creating),
        )

    return broken


def _discards_at_update(_: Any) -> Any:
    def broken(
        self: Any, old: Any, new: Any, task: Any, caller: Any, now: Any, check: Any, expected: Any
    ) -> Any:
        old = self._store.commit(LeaseChange(old, task.marked(old)), caller)
        ready = self._preparation.make(task.marked(new), task, caller)
        decided = self._decided(old, ready, caller, now, check)
        lease = _discarded(
            lambda: self._store.commit(decided, caller),
            lambda: self._preparation.discard(ready, old),
        )
        self._preparation.discard(old, lease)
        return lease

    return broken


def _closed_all_the_same(settle: Any) -> Any:
    def broken(lease: Any, event: Any, *rest: Any) -> Any:
        is_moved = event.status is EventStatus.UNDONE
        return settle(lease, replace(event, status=EventStatus.IN_PROGRESS) if is_moved else event, *rest)

    return broken


def _nothing_given_up(_: Any) -> Any:
    return lambda new, old, new_id: new


def _degraded_for_ever(finished: Any) -> Any:
    def broken(lease: Any, event: Any) -> Any:
        found = finished(lease, event)
        return found and replace(found, degraded=lease.degraded or found.degraded)

    return broken


def _registered_already(half_deregistered: Any) -> Any:
    def broken(self: Any, pool: Any, hypervisor: Any) -> None:
        if half_deregistered(self, pool, hypervisor) is not None:
            raise HostAlreadyRegistered(host=hypervisor.hypervisor_hostname)

    return broken


def _ends_with_what_it_does_not_know(attempt: Any) -> Any:
    def broken(self: Any, step: Callable[[], None]) -> bool:
        unknown: list[Exception] = []

        def watched() -> None:
            try:
                step()
            except BlazarError:
                raise
            except Exception as failure:  # noqa: BLE001 - it is raised again below
                unknown.append(failure)

        is_done: bool = attempt(self, watched)
        if unknown:
            raise unknown[0]
        return is_done

    return broken


def _all_of_it(settle: Any) -> Any:
    return lambda lease, event, acted, *rest: settle(lease, event, lease, *rest)


def _by_its_first_id(find: Any) -> Any:
    def broken(self: Any, compute: Any) -> Any:
        return find(self, compute) if self._id is None else compute.aggregate(self._id)

    return broken


def _all_preemptible_leave(_: Any) -> Any:
    def broken(self: Any, others: Any, work: Any, cloud: Any) -> int:
        return sum(map(len, self._preemptibles.leave(others, cloud, work.run_steps).require().values()))

    return broken


def _with_what_is_lent_already(begin: Any) -> Any:
    return lambda self, work, arriving, compute: begin(self, work, (), compute)


def _always(value: Any) -> Callable[[Any], Any]:
    return lambda function: lambda *args: value


HOST, INSTANCE = ("physical:host",), ("virtual:instance",)
MENDS: Mapping[str, Mend] = {
    "1: threads survive what they do not know": Mend(
        ((LongLivedThread, "attempt", _ends_with_what_it_does_not_know),), HOST
    ),
    "2: a host that was given is not emptied again": Mend(
        ((HostActuator, "activate", _emptied_again), (progress, "_bound", _nothing_serves)), HOST, 47
    ),
    "3: only what was acted on is settled": Mend(((progress, "settle", _all_of_it),), HOST),
    "3: the event stays open where the lease was changed meanwhile": Mend(
        ((progress, "_is_changed_meanwhile", _always(False)),), HOST
    ),
    "7: a warning binds no allocation": Mend(((progress, "_settled", _a_warning_binds),), HOST, 398),
    "8: what an unknown commit of a create refers to stays": Mend(
        ((LeaseConfirmation, "make_and_confirm", _discards_at_create),), INSTANCE, 2
    ),
    "8: what an unknown commit of an update refers to stays": Mend(
        ((LeaseUpdate, "_make_and_commit", _discards_at_update),), INSTANCE, 0
    ),
    "9: a warning that is moved stays open": Mend(((progress, "settle", _closed_all_the_same),), HOST, 35),
    "10: servers wait for the room of those before": Mend(
        ((events, "shared_with", _always(frozenset())),), INSTANCE, 95
    ),
    "11: a start that is refused is tried again": Mend(
        ((progress, "spent", _always(timedelta.max)),), HOST, 239
    ),
    "12: a lease that is whole again is not degraded": Mend(
        ((progress, "_finished", _degraded_for_ever),), HOST, 13
    ),
    "surplus: those who come after it wait": Mend(
        ((healing, "with_surplus", _nothing_given_up), (update, "with_surplus", _nothing_given_up)),
        seed=61,
    ),
    "quotas: the changes of a project take turns": Mend(
        ((MemoryQuotas, "queue_up", _always(None)),), seed=110
    ),
    "17: the freepool is found anew": Mend(((NamedAggregate, "find", _by_its_first_id),), HOST),
    "shares: a convergence goes on where they change meanwhile": Mend(
        ((progress, "_has_other_users", _always(False)),), HOST, 108
    ),
    "17: a deregistration that was cut off ends": Mend(
        ((Hosts, "_half_deregistered", _registered_already), (Deregistration, "finish_old", _always(None))),
        HOST,
        0,
    ),
    "lending: preemptible servers of the project stay": Mend(
        ((HostLending, "have_leave", _all_preemptible_leave),), HOST
    ),
    "lending: what a reservation gets is not lent at once": Mend(
        ((HostLending, "begin", _with_what_is_lent_already),), HOST
    ),
}


@contextmanager
def taken_out(mend: Mend) -> Iterator[None]:
    """Have the service run without the mend."""
    with ExitStack() as stack:
        for owner, name, broken in mend.parts:
            sound = getattr(owner, name)
            setattr(owner, name, broken(sound))
            stack.callback(setattr, owner, name, sound)
        yield


def first_found(mend: Mend, seed: int, most: int) -> Report | None:
    """Return the first run from the seed on that breaks a rule without the mend. That the service fails does
    not count: what replaces the mend may not fit the service any more."""
    with taken_out(mend):
        reports = (run(draw(each, (), mend.kinds), [NO_DEFECT]) for each in range(seed, seed + most))
        return next((report for report in reports if report.violation is not None), None)


def _first_planted(defect: defects.Defect, seed: int, most: int) -> Report | None:
    with defects.put_in(defect):
        return defects.first_found(defect, seed, most)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m simulation.mends", description=__doc__)
    parser.add_argument("--base", type=int, default=0, help="the first seed")
    parser.add_argument("--most", type=int, default=MOST, help="seeds for each of them")
    parser.add_argument("words", nargs="*", help="only those whose names begin so")
    options = parser.parse_args(arguments)
    logging.lastResort = None
    is_missing = False
    searches: Mapping[str, Search] = {
        **{name: partial(first_found, mend) for name, mend in MENDS.items()},
        **{name: partial(_first_planted, defect) for name, defect in defects.DEFECTS.items()},
    }
    for name, search in searches.items():
        if options.words and not name.startswith(tuple(options.words)):
            continue
        began = time.monotonic()
        report = search(options.base, options.most)
        violation = report.violation if report else None
        is_missing |= violation is None
        seeds = int(report.plan.seed) - options.base + 1 if report else options.most
        what = f"{violation.rule}: {violation.text[:120]}" if violation else "not found"
        print(f"{name}\n  {seeds} seeds, {time.monotonic() - began:.0f} s: {what}", flush=True)
    return 1 if is_missing else 0


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "simulation.mends", *sys.argv[1:]])
    sys.exit(main(sys.argv[1:]))
