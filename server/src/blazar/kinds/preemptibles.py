"""Preemptible servers, which may be ended at any time, on hosts that begin to serve a reservation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from blazar.kinds.deletions import Deletions
from blazar.kinds.for_each import Results, for_each
from blazar.service.ports import Compute, Server
from blazar.service.ports.steps import RunSteps, one_after_another


class Preemptibles:
    """Has them make way.

    The filter in nova-scheduler lets none onto a host in the aggregate of a reservation, so they are looked
    for once the host is in it."""

    def __init__(self, make_way: bool) -> None:
        """Without ``make_way`` none are looked for: the operator has no such servers."""
        self._make_way = make_way
        self._deletions = Deletions()

    def left_on(
        self, hosts: Iterable[str], compute: Compute, run_steps: RunSteps = one_after_another
    ) -> Results[str, Sequence[Server]]:
        """Ask for the deletion of those on the hosts, and return by host those that were there."""
        found = for_each(list(hosts) if self._make_way else [], compute.preemptible_servers_on, run_steps)
        servers = [server for each in found.done.values() for server in each]
        self._deletions.ask(servers, compute, run_steps)
        return found
