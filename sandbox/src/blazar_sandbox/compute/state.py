"""Nova's tables and parts."""

import hashlib
import uuid
from collections.abc import Iterator
from typing import Any

from blazar_sandbox.clock import Clock
from blazar_sandbox.compute.aggregates import Aggregates
from blazar_sandbox.compute.flavors import Flavors
from blazar_sandbox.compute.hosts import Hosts, zone_of
from blazar_sandbox.compute.model import INTERNAL_ZONE, Host, Keypair, Quota, ServerGroup
from blazar_sandbox.compute.scheduler import Scheduler
from blazar_sandbox.compute.server_table import ServerTable
from blazar_sandbox.compute.servers import Delays, Servers
from blazar_sandbox.errors import conflict, not_found
from blazar_sandbox.network.state import Network
from blazar_sandbox.placement.state import Placement
from blazar_sandbox.table import Index, Table
from blazarnova import rule


class Compute:
    """Nova's tables and parts."""

    def __init__(
        self, clock: Clock, placement: Placement, network: Network, delays: Delays, settings: rule.Settings
    ) -> None:
        self.clock = clock
        self.server_table = ServerTable()
        self.hosts = Hosts(clock, placement)
        self.aggregates = Aggregates(clock, self.hosts, self.server_table)
        self.flavors = Flavors()
        self.scheduler = Scheduler(self.hosts, self.aggregates, placement, self.server_table, settings, clock)
        self.servers = Servers(clock, self.server_table, self.scheduler, placement, network, delays)
        self.groups: Table[ServerGroup] = Table("server_groups", ServerGroup)
        self.groups_of = Index(self.groups, lambda row: (row.project_id,))
        self.keypairs: Table[Keypair] = Table("keypairs", Keypair)
        self.quotas: Table[Quota] = Table("quotas", Quota)

    @property
    def tables(self) -> Iterator[Table[Any]]:
        """Every table, for persistence."""
        yield from (
            self.hosts.table,
            self.aggregates.table,
            self.aggregates.counter,
            self.flavors.table,
            self.server_table,
        )
        yield from (self.groups, self.keypairs, self.quotas)

    def zone_of(self, host: Host) -> str:
        """Return the availability zone of a host."""
        return zone_of(host, self.aggregates.table)

    def zones(self) -> dict[str, list[Host]]:
        """Return the zones of compute hosts with their hosts."""
        zones: dict[str, list[Host]] = {}
        for membership in self.hosts.by_membership.values():
            hosts = self.hosts.by_membership.rows(membership)
            zones.setdefault(self.zone_of(hosts[0]), []).extend(hosts)
        return zones

    def has_zone(self, name: str) -> bool:
        """Return whether servers may request this zone."""
        if name == INTERNAL_ZONE:
            return False
        return name in {
            self.zone_of(self.hosts.by_membership.rows(membership)[0])
            for membership in self.hosts.by_membership.values()
        }

    def group(self, group_id: str, project_id: str | None) -> ServerGroup:
        """Return a server group of a project, or with None of any; raise 404 if there is none."""
        row = self.groups.get(group_id)
        if row is None or project_id not in (None, row.project_id):
            raise not_found(f"Instance group {group_id} could not be found.")
        return row

    def create_group(self, row: ServerGroup) -> ServerGroup:
        """Create a server group."""
        self.groups.put(row.id, row)
        return row

    def create_keypair(self, user_id: str, name: str, public_key: str | None) -> Keypair:
        """Create or import a key pair; the private key of a created one is not stored."""
        key = f"{user_id}/{name}"
        if key in self.keypairs:
            raise conflict(f"Key pair '{name}' already exists.")
        public_key = public_key or f"ssh-rsa {uuid.uuid4().hex} sandbox"
        digest = hashlib.md5(public_key.encode(), usedforsecurity=False).hexdigest()
        fingerprint = ":".join(digest[at : at + 2] for at in range(0, 32, 2))
        row = Keypair(user_id, name, public_key, fingerprint, self.clock.now())
        self.keypairs.put(key, row)
        return row
