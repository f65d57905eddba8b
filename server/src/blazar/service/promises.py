"""What is promised on which compute host and when, for the scheduler of the cloud: a document that says for
each host how much of it is taken in which steps of time.

It is worked out from the snapshot of the calendar, without a lock, and kept until the calendar changes. The
same promises give the same document in every manager, so its hash is its tag."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Any

import numpy as np

from blazar.domain.calendar.arrays import Ints
from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.resource import Pool
from blazar.domain.time import epoch
from blazar.service.calendars import Calendars
from blazar.service.ports import Clock

CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")
NAME = "service_name"
"""The property by which the scheduler knows a host."""
PERIOD = 600
"""Seconds after which the document reaches further, also where nothing has changed."""
FROM_A_SERVER = "5"
"""The version of UUIDs that follow from others: the ids of leases that were found by their servers."""
Amounts = tuple[int, ...] | None
"""Of ``CLASSES``; None is the whole host."""
Span = tuple[int, int, Amounts]
"""From when until when, in seconds since 1970-01-01 UTC, and how much."""


@dataclass(frozen=True, slots=True)
class PromiseSettings:
    """``ahead`` is how far the document reaches. ``margin`` is kept between the end of what the scheduler
    lets onto a host and the next promise there."""

    ahead: timedelta = timedelta(days=7)
    margin: timedelta = timedelta(minutes=10)
    cleaning: timedelta = timedelta(0)
    """What is kept free after a lease."""


@dataclass(frozen=True, slots=True)
class Promises:
    """``document`` is JSON; None where the caller has the one with this tag."""

    tag: str
    document: str | None


class PromiseUseCases:
    """The use case of the promises, as PromisesInterface names it. Threads may share it."""

    def __init__(
        self, calendars: Calendars, pools: Sequence[Pool], clock: Clock, settings: PromiseSettings
    ) -> None:
        """``pools`` are the calendars among which there are compute hosts."""
        self._calendars = calendars
        self._pools = pools
        self._clock = clock
        self._settings = settings
        self._kept: tuple[Sequence[CalendarSnapshot], int, Promises] | None = None

    def get(self, known: str) -> Promises:
        snapshots = [self._calendars.snapshot(pool) for pool in self._pools]
        first = epoch(self._clock.now()) // PERIOD * PERIOD
        kept = self._kept
        if kept is not None and first == kept[1] and all(map(_is_same, snapshots, kept[0])):
            found = kept[2]
        else:
            text = json.dumps(self._document(snapshots, first), separators=(",", ":"), sort_keys=True)
            found = Promises(hashlib.sha256(text.encode()).hexdigest()[:32], text)
            self._kept = snapshots, first, found
        return Promises(found.tag, None) if known == found.tag else found

    def _document(self, snapshots: Iterable[CalendarSnapshot], first: int) -> Mapping[str, Any]:
        until = first + PERIOD + int(self._settings.ahead.total_seconds())
        cleaning = int(self._settings.cleaning.total_seconds())
        hosts: dict[str, Any] = {}
        leases: dict[str, str] = {}
        for snapshot in snapshots:
            names = _names(snapshot)
            capacity = [snapshot.columns.capacity(each) for each in CLASSES]
            for index, name in names.items():
                hosts[name] = {"capacity": [int(each[index]) for each in capacity], "steps": []}
            for index, spans in _spans(snapshot, names, (first - cleaning, until), leases).items():
                hosts[names[index]]["steps"] = steps_of(spans)
        return {
            "classes": CLASSES,
            "margin": int(self._settings.margin.total_seconds()),
            "cleaning": cleaning,
            "until": until,
            "hosts": hosts,
            "leases": leases,
        }


def _is_same(one: CalendarSnapshot, other: CalendarSnapshot) -> bool:
    return one is other


def _names(snapshot: CalendarSnapshot) -> Mapping[int, str]:
    """Return by index the names of the hosts that can be reserved. A name that several resources have says
    nothing."""
    columns = snapshot.columns
    values, place = columns.grouped(NAME)
    there = np.flatnonzero(columns.all() & columns.reservable)
    named = [(index, values[int(place[index])]) for index in there.tolist()]
    seen: dict[str, int] = defaultdict(int)
    for _, name in named:
        seen[name] += 1
    return {index: name for index, name in named if name and seen[name] == 1}


def _spans(
    snapshot: CalendarSnapshot, names: Mapping[int, str], window: tuple[int, int], leases: dict[str, str]
) -> Mapping[int, list[Span]]:
    """Return what is on each of the hosts in the window, and add to ``leases`` where those are that were
    found by their servers."""
    occupancy = snapshot.occupancy
    rows: Ints = occupancy.overlapping(*window)
    told: list[Any] = [
        rows,
        occupancy.index[rows],
        occupancy.start[rows],
        occupancy.end[rows],
        occupancy.whole[rows],
        *(occupancy.amounts(each, rows) for each in CLASSES),
    ]
    found: dict[int, list[Span]] = defaultdict(list)
    for row, index, start, end, whole, *amounts in zip(*(each.tolist() for each in told), strict=True):
        if index not in names:
            continue
        found[index].append((start, end, None if whole else tuple(amounts)))
        allocation = occupancy.allocations[row]
        if allocation is not None and _follows(allocation.lease_id):
            leases[allocation.lease_id] = names[index]
    return found


def _follows(lease_id: str) -> bool:
    return lease_id[14:15] == FROM_A_SERVER


def steps_of(spans: Iterable[Span]) -> Sequence[tuple[int, int, Sequence[int] | None]]:
    """Return the sum of the spans as steps: one after the other, without those in which nothing is taken."""
    changes: dict[int, list[int]] = defaultdict(lambda: [0] * (1 + len(CLASSES)))
    for start, end, amounts in spans:
        for moment, sign in ((start, 1), (end, -1)):
            change = changes[moment]
            if amounts is None:
                change[0] += sign
            else:
                for place, amount in enumerate(amounts, 1):
                    change[place] += sign * amount
    steps: list[tuple[int, int, Sequence[int] | None]] = []
    level = [0] * (1 + len(CLASSES))
    moments = sorted(changes)
    for moment, following in pairwise(moments):
        level = [had + more for had, more in zip(level, changes[moment], strict=True)]
        taken = None if level[0] else tuple(level[1:])
        if taken is not None and not any(taken):
            continue
        if steps and steps[-1][1] == moment and steps[-1][2] == taken:
            steps[-1] = (steps[-1][0], following, taken)
        else:
            steps.append((moment, following, taken))
    return steps
