"""Preemptible servers on hosts that begin to serve a reservation: they make way, as their flavors say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from blazar.kinds.deletions import Deletions, being_deleted
from blazar.kinds.for_each import Results, for_each
from blazar.kinds.shelving import NEEDED_BY, Shelving, being_shelved
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

    def __bool__(self) -> bool:
        return bool(self.deleted or self.shelved)


class Preemptibles:
    """Has them make way.

    The filter in nova-scheduler lets none onto a host in the aggregate of a reservation, so they are looked
    for once the host is in it."""

    def __init__(self, make_way: bool, needed_by: str = NEEDED_BY) -> None:
        """Without ``make_way`` none are looked for: the operator has no such servers. ``needed_by`` says for
        their metadata who needs the host."""
        self._make_way = make_way
        self._deletions = Deletions()
        self._shelving = Shelving(PREEMPTED, needed_by=needed_by)

    def leave(
        self, hosts: Iterable[str], cloud: Cloud, run_steps: RunSteps = one_after_another
    ) -> Results[str, Leaving]:
        """Have those on the hosts leave, and return by host those that are there."""

        def leave(host: str) -> Leaving:
            found = cloud.compute.preemptible_servers_on(host)
            to_shelve = found[MakesWay.SHELVED]
            shelved = self._shelving.make_way(to_shelve, host, cloud)
            deleted = [*found[MakesWay.DELETED], *(each for each in to_shelve if each not in shelved)]
            self._deletions.ask(deleted, cloud.compute)
            return Leaving(deleted, shelved)

        return for_each(list(hosts) if self._make_way else [], leave, run_steps)

    def shelved_on(self, host: str, cloud: Cloud) -> Sequence[Server]:
        """Have those on the host leave that are shelved, and return those to wait for."""
        if not self._make_way:
            return ()
        servers = cloud.compute.preemptible_servers_on(host)[MakesWay.SHELVED]
        return self._shelving.make_way(servers, host, cloud)


def hosts_of(work: Work) -> Sequence[str]:
    """Return the compute service hosts on which the reservation is planned, sorted."""
    return sorted({str(each.facts["service_name"]) for each in work.resources.values()})


def making_way(leaving: Iterable[Leaving]) -> Sequence[str]:
    """Return what is waited for: a sentence for each way, or none."""
    found = list(leaving)
    return [
        *being_deleted([server for each in found for server in each.deleted]),
        *being_shelved([server for each in found for server in each.shelved]),
    ]
