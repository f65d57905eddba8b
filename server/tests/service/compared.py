"""A world whose database is compared with its cloud."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.engine.claims import Claims
from blazar.engine.convergence import converge_now
from blazar.kinds.floatingip.extension import FloatingIPExtension
from blazar.kinds.registered_hosts.extension import HostsExtension
from blazar.service.commands import ReservationRequest
from blazar.service.events import Events
from blazar.service.ports import Aggregate
from blazar.service.ports.kind import Dependencies
from blazar.service.reconciliation import Finding, Reconciliation, ReconciliationSettings

from .world import CLAIM, World, floating_ips, instances, whole_hosts

GRACE = timedelta(minutes=5)
KINDS = {
    "host": whole_hosts,
    "instances": lambda: instances(amount=2, affinity=False),
    "floating IP": floating_ips,
    "server": lambda: ReservationRequest("instance:server", {"server_id": WEB, "on_end": ["shelve"]}),
}
WEB = "11111111-1111-4111-8111-111111111111"
"""A server of 2 VCPUs, 2 GiB and 10 GiB, on a host that is not registered."""


class Compared(World):
    """A world whose database is compared with its cloud."""

    def __init__(self, **more: Any) -> None:
        super().__init__(floating_ips=2, **more)
        self.cloud.add_hypervisor("9", "ordinary")
        self.cloud.boot(WEB, "ordinary")
        self.cloud.state.flavor_of[WEB] = "small"
        self.told: list[str] = []
        self.converged: list[str] = []
        self.new_process()

    def new_process(self, **settings: Any) -> None:
        """Compare as a process does that knows nothing of the comparisons before."""
        extensions = (HostsExtension(), FloatingIPExtension())

        def passed() -> float:
            return self.clock.now().timestamp()

        self.claims = Claims(self.database, self.clock, CLAIM, monotonic=passed)
        self.reconciliation = Reconciliation(
            Dependencies(self.database, self.cloud, self.kinds, self.clock),
            extensions,
            self.converge,
            ReconciliationSettings(GRACE, **settings),
            monotonic=passed,
        )

    def converge(self, lease_id: str) -> str | None:
        self.converged.append(lease_id)
        events = Events(self.database, self.cloud, self.kinds, self.clock)
        return converge_now(lease_id, self.claims, events, self.database, self.clock)

    def compare(self) -> Sequence[Finding]:
        return self.reconciliation.compare(lambda: None, self.told.append)

    def repair(self, waits: bool = False) -> Sequence[Finding]:
        return self.reconciliation.repair(lambda: None, self.told.append, waits)

    def sorts(self) -> list[str]:
        return [finding.difference.sort for finding in self.compare()]

    def active(self, *kinds: str) -> Lease:
        """A lease of these kinds, which has begun."""
        lease = self.reserve(*(KINDS[kind]() for kind in kinds))
        self.advance(seconds=10) if "server" in kinds else self.run_due()
        assert self.lease(lease).status is LeaseStatus.ACTIVE
        return self.lease(lease)

    def aggregate_of(self, lease: Lease) -> Aggregate:
        name = lease.reservations[0].id
        return next(a for a in self.cloud.state.aggregates.values() if a.name == name)

    def forget(self, lease: Lease) -> None:
        """Remove the lease from the database only."""
        self.database.transact(lambda u: u.leases.remove(self.lease(lease)))

    def put(self, aggregate: Aggregate) -> None:
        self.cloud.state.aggregates[aggregate.id] = aggregate

    def contents(self) -> dict[str, Any]:
        """All that is in the cloud."""
        state = self.cloud.state
        aggregates = {
            a.name: replace(a, id=0, hosts=tuple(sorted(a.hosts))) for a in state.aggregates.values()
        }
        inventories, access = dict(state.slots), {k: frozenset(v) for k, v in state.access.items()}
        addresses = {f.address: replace(f, id="") for f in state.floating_ips.values()}
        return {
            "aggregates": aggregates,
            "flavors": dict(state.flavors),
            "access": access,
            "classes": set(state.classes),
            "inventories": inventories,
            "groups": set(state.groups),
            "providers": set(state.providers),
            "addresses": addresses,
            "servers": set(state.servers),
        }
