"""Preemptible servers on hosts that begin to serve a reservation: they make way, as their flavors say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from blazar.kinds.deletions import Deletions, being_deleted, first_names
from blazar.kinds.for_each import Results, for_each
from blazar.kinds.shelving import NEEDED_BY, Shelving, being_shelved
from blazar.service.moves import Moves
from blazar.service.ports import Cloud, MakesWay, Server
from blazar.service.ports.kind import Work
from blazar.service.ports.steps import RunSteps, one_after_another

PREEMPTED = "blazar_preempted"
"""The key of the reason in the metadata of a server that was shelved."""


@dataclass(frozen=True, slots=True)
class Leaving:
    """The preemptible servers that are still on a host."""

    deleted: Sequence[Server] = ()
    shelved: Sequence[Server] = ()
    moved: Sequence[Server] = ()

    def __len__(self) -> int:
        return len(self.deleted) + len(self.shelved) + len(self.moved)

    @property
    def kept(self) -> Sequence[Server]:
        """Those that are not deleted."""
        return (*self.shelved, *self.moved)


def _any(server: Server) -> bool:
    return True


class Preemptibles:
    """Has them make way.

    The filter in nova-scheduler lets none onto a host in the aggregate of a reservation, so they are looked
    for once the host is in it."""

    def __init__(self, make_way: bool, needed_by: str = NEEDED_BY) -> None:
        """Without ``make_way`` none are looked for: the operator has no such servers. ``needed_by`` says for
        their metadata who needs the host."""
        self._make_way = make_way
        self._deletions = Deletions()
        self._moves = Moves()
        self._shelving = Shelving(PREEMPTED, needed_by=needed_by)

    def leave(
        self,
        hosts: Iterable[str],
        cloud: Cloud,
        run_steps: RunSteps = one_after_another,
        has_to: Callable[[Server], bool] = _any,
    ) -> Results[str, Leaving]:
        """Have those on the hosts leave that have to, and return by host those that are there."""

        def leave(host: str) -> Leaving:
            leaving = self._leaving(host, cloud, has_to)
            self._deletions.ask(leaving.deleted, cloud.compute)
            return leaving

        return for_each(list(hosts) if self._make_way else [], leave, run_steps)

    def kept_on(self, host: str, cloud: Cloud) -> Sequence[Server]:
        """Have those on the host leave that are not deleted, and return those to wait for."""
        return self._leaving(host, cloud).kept if self._make_way else ()

    def _leaving(self, host: str, cloud: Cloud, has_to: Callable[[Server], bool] = _any) -> Leaving:
        """Have those on the host leave that have to and are not deleted, and return all that have to. One
        that cannot be moved is shelved, and one that cannot be shelved deleted."""
        there = cloud.compute.preemptible_servers_on(host)
        found = {way: [each for each in servers if has_to(each)] for way, servers in there.items()}
        moved = self._moves.make_way(found[MakesWay.MIGRATED], host, cloud.compute)
        to_shelve = [
            *found[MakesWay.SHELVED],
            *(each for each in found[MakesWay.MIGRATED] if each not in moved),
        ]
        shelved = self._shelving.make_way(to_shelve, host, cloud)
        others = (each for each in to_shelve if each not in shelved)
        return Leaving([*found[MakesWay.DELETED], *others], shelved, moved)


def hosts_of(work: Work) -> Sequence[str]:
    """Return the compute service hosts on which the reservation is planned, sorted."""
    return sorted({str(each.facts["service_name"]) for each in work.resources.values()})


def making_way(leaving: Iterable[Leaving]) -> Sequence[str]:
    """Return what is waited for: a sentence for each way, or none."""
    found = list(leaving)
    return [
        *being_deleted([server for each in found for server in each.deleted]),
        *being_shelved([server for each in found for server in each.shelved]),
        *being_moved([server for each in found for server in each.moved]),
    ]


def being_moved(servers: Sequence[Server]) -> Sequence[str]:
    """Return what is waited for: a sentence, or none."""
    return [f"{len(servers)} servers are being moved: {first_names(servers)}"] if servers else []
