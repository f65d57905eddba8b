"""Host aggregates and their rules."""

import uuid
from collections.abc import Mapping
from dataclasses import replace

from blazar_sandbox.clock import Clock
from blazar_sandbox.compute.hosts import Hosts, zone_of
from blazar_sandbox.compute.model import ZONE_KEY, Aggregate, Counter, Host
from blazar_sandbox.compute.server_table import ServerTable
from blazar_sandbox.errors import bad_request, conflict, not_found
from blazar_sandbox.table import Index, Table


class Aggregates:
    """The table of aggregates, and Nova's rules for changing them."""

    def __init__(self, clock: Clock, hosts: Hosts, servers: ServerTable) -> None:
        self._clock = clock
        self._hosts = hosts
        self._servers = servers
        self.table: Table[Aggregate] = Table("aggregates", Aggregate)
        self.by_name = Index(self.table, lambda row: (row.name,))
        self.by_zone = Index(self.table, lambda row: (row.zone,) if row.zone is not None else ())
        self.counter: Table[Counter] = Table("aggregate_counter", Counter)

    def aggregate(self, aggregate_id: str) -> Aggregate:
        """Return an aggregate; raise 404 if there is none."""
        row = self.table.get(aggregate_id)
        if row is None:
            raise not_found(f"Aggregate {aggregate_id} could not be found.")
        return row

    def hosts_in(self, aggregate: Aggregate) -> list[str]:
        """Return the names of the hosts in an aggregate."""
        return self._hosts.by_aggregate.keys(aggregate.id)

    def create(self, name: str, zone: str | None) -> Aggregate:
        """Create an aggregate."""
        if self.by_name.count(name):
            raise conflict(f"Aggregate {name} already exists.")
        metadata = {ZONE_KEY: zone} if zone is not None else {}
        row = Aggregate(self._next_id(), str(uuid.uuid4()), name, metadata, self._clock.now())
        self._put(row)
        return row

    def _next_id(self) -> int:
        before = self.counter.get("aggregates")
        number = 1 + (before.last if before is not None else max((row.id for row in self.table), default=0))
        self.counter.put("aggregates", Counter(number))
        return number

    def update(self, row: Aggregate, name: str | None, zone: str | None, *, change_zone: bool) -> Aggregate:
        """Change the name or the zone of an aggregate."""
        if name is not None and name != row.name:
            if self.by_name.count(name):
                raise conflict(f"Aggregate {name} already exists.")
            row = replace(row, name=name)
        metadata: dict[str, str | None] = {ZONE_KEY: zone} if change_zone else {}
        return self.set_metadata(row, metadata, "update aggregate")

    def set_metadata(
        self, row: Aggregate, changes: Mapping[str, str | None], action: str = "update metadata of"
    ) -> Aggregate:
        """Set metadata; None removes a key."""
        if ZONE_KEY in changes:
            self._check_zone_change(row, changes[ZONE_KEY], action)
        metadata = dict(row.metadata)
        for key, value in changes.items():
            if value is None:
                metadata.pop(key, None)
            else:
                metadata[key] = value
        row = replace(row, metadata=metadata, updated_at=self._clock.now())
        self._put(row)
        return row

    def delete(self, row: Aggregate) -> None:
        """Remove an aggregate that has no hosts."""
        if self._hosts.by_aggregate.count(row.id):
            raise bad_request(f"Cannot delete aggregate {row.id}. Reason: Host aggregate is not empty.")
        self.table.drop(str(row.id))

    def add_host(self, row: Aggregate, name: str) -> Aggregate:
        """Add a host to an aggregate."""
        host = self._hosts.host(name)
        if row.id in host.aggregates:
            raise conflict(f"Aggregate {row.id} already has host {name}.")
        if row.zone is not None:
            self._check_one_zone(row, host, row.zone)
            if row.zone != zone_of(host, self.table):
                self._check_empty(host, f"Cannot add host to aggregate {row.id}.")
        self._hosts.join(host, row)
        return self._touch(row)

    def remove_host(self, row: Aggregate, name: str) -> Aggregate:
        """Remove a host from an aggregate."""
        host = self._hosts.host(name)
        if row.id not in host.aggregates:
            raise not_found(f"Cannot remove host {name} in aggregate {row.id}: host not in aggregate")
        if row.zone is not None and not self._zone_stays(row, host):
            self._check_empty(host, f"Cannot remove host from aggregate {row.id}.")
        self._hosts.leave(host, row)
        return self._touch(row)

    def _zone_stays(self, row: Aggregate, host: Host) -> bool:
        """Return whether another aggregate keeps the host in the zone."""
        return any(self.table[str(one)].zone == row.zone for one in host.aggregates if one != row.id)

    def _touch(self, row: Aggregate) -> Aggregate:
        row = replace(row, updated_at=self._clock.now())
        self._put(row)
        return row

    def _put(self, row: Aggregate) -> None:
        self.table.put(str(row.id), row)

    def _check_one_zone(self, row: Aggregate, host: Host, zone: str) -> None:
        """Refuse a zone for a host that is in another zone already."""
        others = {self.table[str(one)].zone for one in host.aggregates if one != row.id}
        foreign = sorted(other for other in others if other not in (None, zone))
        if foreign:
            raise conflict(
                f"Cannot add host to aggregate {row.id}. "
                f"Reason: One or more hosts already in availability zone(s) {foreign}."
            )

    def _check_empty(self, host: Host, what: str) -> None:
        """Refuse to change the zone of a host with servers, which cannot change theirs."""
        if self._servers.on_host.count(host.name):
            raise conflict(f"{what} Reason: One or more hosts contain instances in this zone.")

    def _check_zone_change(self, row: Aggregate, zone: str | None, action: str) -> None:
        if zone == row.zone:
            return
        if zone is not None and not zone.strip():
            raise bad_request(f"Cannot {action} {row.id}. Reason: empty name for availability zone.")
        for name in self.hosts_in(row):
            host = self._hosts.table[name]
            if zone is not None:
                self._check_one_zone(row, host, zone)
            if self._servers.on_host.count(name):
                raise bad_request(
                    f"Cannot {action} {row.id}. Reason: One or more hosts contain instances in this zone."
                )
