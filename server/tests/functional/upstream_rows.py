"""A database of upstream Blazar, with rows as upstream leaves them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import URL, Engine, create_engine, insert

from blazar.upstream import tables

NOW = datetime(2050, 1, 1, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)
EVENTS = {
    "PENDING": ("UNDONE", "UNDONE"),
    "STARTING": ("IN_PROGRESS", "UNDONE"),
    "ACTIVE": ("DONE", "UNDONE"),
    "TERMINATING": ("DONE", "IN_PROGRESS"),
    "TERMINATED": ("DONE", "DONE"),
    "ERROR": ("ERROR", "UNDONE"),
    "UPDATING": ("DONE", "UNDONE"),
    "DELETING": ("DONE", "IN_PROGRESS"),
}
RESERVATIONS = {"ACTIVE": "active", "UPDATING": "active", "TERMINATED": "deleted", "ERROR": "error"}
SOURCE_FLAVOR = {
    "id": "42",
    "name": "m1.tiny",
    "vcpus": 1,
    "ram": 512,
    "disk": 1,
    "OS-FLV-EXT-DATA:ephemeral": 2,
    "swap": "",
    "os-flavor-access:is_public": True,
    "extra_specs": {"hw:cpu_policy": "shared", "hw:numa_nodes": "2"},
}


class UpstreamRows:
    """Inserts rows; whatever a test does not name is usual. ``now`` is when the leases are looked at."""

    def __init__(self, url: URL, now: datetime = NOW) -> None:
        self.url = url
        self.now = now
        self._engine: Engine = create_engine(url)
        self._made = now - 100 * HOUR

    def create_tables(self) -> None:
        tables.metadata.create_all(self._engine)

    def close(self) -> None:
        self._engine.dispose()

    def put(self, table: Any, **columns: Any) -> str:
        self._made += timedelta(seconds=1)
        row = {"id": str(uuid4()), "created_at": self._made.replace(tzinfo=None), **columns}
        with self._engine.begin() as connection:
            connection.execute(insert(table), row)
        return str(row["id"])

    def host(self, number: int, name: str = "", **columns: Any) -> str:
        name = name or f"compute-0{number}"
        usual: dict[str, Any] = {
            "id": str(number),
            "vcpus": 8,
            "cpu_info": "{}",
            "hypervisor_type": "QEMU",
            "hypervisor_version": 8000000,
            "hypervisor_hostname": name,
            "service_name": name,
            "memory_mb": 16384,
            "local_gb": 200,
            "availability_zone": "nova",
            "trust_id": f"trust-of-{number}",
            "reservable": True,
        }
        return self.put(tables.hosts, **{**usual, **columns})

    def inventory(self, host: str, resource_class: str, total: int, ratio: float = 1.0) -> None:
        units = {"reserved": 0, "min_unit": 1, "max_unit": total, "step_size": 1, "allocation_ratio": ratio}
        row = {"computehost_id": host, "resource_class": resource_class, "total": total, **units}
        self.put(tables.inventories, **row)

    def trait(self, host: str, name: str) -> None:
        self.put(tables.traits, computehost_id=host, trait=name)

    def property(self, name: str, private: bool = False, resource_type: str = "physical:host") -> str:
        row = {"resource_type": resource_type, "property_name": name, "private": private}
        return self.put(tables.resource_properties, **row)

    def capability(self, host: str, property_id: str, value: str) -> None:
        row = {"computehost_id": host, "property_id": property_id, "capability_value": value}
        self.put(tables.capabilities, **row)

    def floatingip(self, address: str, network: str = "net", subnet: str = "subnet") -> str:
        row = {"floating_network_id": network, "subnet_id": subnet, "floating_ip_address": address}
        return self.put(tables.floatingips, reservable=True, **row)

    def lease(self, status: str = "PENDING", start: float = 1, end: float = 2, **columns: Any) -> str:
        """A lease with its events; start and end in hours from now."""
        events = columns.pop("events", EVENTS.get(status))
        usual: dict[str, Any] = {
            "name": status.lower(),
            "user_id": "user",
            "project_id": "project",
            "start_date": self._naive(start),
            "end_date": self._naive(end),
            "trust_id": "trust",
            "status": status,
            "degraded": False,
        }
        lease_id = self.put(tables.leases, **{**usual, **columns})
        if events:
            self.event(lease_id, "start_lease", start, events[0])
            self.event(lease_id, "end_lease", end, events[1])
        return lease_id

    def event(self, lease_id: str, event_type: str, hours: float, status: str | None) -> str:
        row = {"lease_id": lease_id, "event_type": event_type, "time": self._naive(hours), "status": status}
        return self.put(tables.events, **row)

    def reservation(self, lease_id: str, resource_type: str, status: str, id_: str = "") -> str:
        """The common row; ``status`` is the lease's."""
        row = {
            "id": id_ or str(uuid4()),
            "lease_id": lease_id,
            "resource_id": str(uuid4()),
            "resource_type": resource_type,
            "status": RESERVATIONS.get(status, "pending") if status.isupper() else status,
        }
        return self.put(tables.reservations, missing_resources=False, resources_changed=False, **row)

    def hosts_of(
        self, lease_id: str, status: str, hosts: Sequence[str], aggregate: int | None = None, **columns: Any
    ) -> str:
        """A reservation of whole hosts."""
        id_ = self.reservation(lease_id, "physical:host", status, columns.pop("id", ""))
        usual = {"count_range": f"{len(hosts)}-{len(hosts)}", "before_end": "default"}
        texts = {"hypervisor_properties": "", "resource_properties": ""}
        row = {**usual, **texts, "aggregate_id": aggregate, **columns}
        self.put(tables.host_reservations, reservation_id=id_, **row)
        self.allocate(id_, hosts)
        return id_

    def instances_of(self, lease_id: str, status: str, hosts: Sequence[str], **columns: Any) -> str:
        """A reservation of slots: each host as often as it has slots."""
        resource_type = columns.pop("resource_type", "virtual:instance")
        id_ = self.reservation(lease_id, resource_type, status, columns.pop("id", ""))
        usual: dict[str, Any] = {
            "vcpus": 1,
            "memory_mb": 512,
            "disk_gb": 1,
            "amount": len(hosts),
            "affinity": None,
            "resource_properties": "",
            "flavor_id": id_,
            "aggregate_id": 7,
            "server_group_id": None,
        }
        self.put(tables.instance_reservations, reservation_id=id_, **{**usual, **columns})
        self.allocate(id_, hosts)
        return id_

    def flavors_of(self, lease_id: str, status: str, hosts: Sequence[str], **columns: Any) -> str:
        told = {"resource_type": "flavor:instance", "resource_properties": json.dumps(SOURCE_FLAVOR)}
        return self.instances_of(lease_id, status, hosts, **{**told, **columns})

    def floatingips_of(
        self,
        lease_id: str,
        status: str,
        floatingips: Sequence[str],
        required: Sequence[str] = (),
        network: str = "net",
        amount: int | None = None,
    ) -> str:
        id_ = self.reservation(lease_id, "virtual:floatingip", status)
        row = {"network_id": network, "amount": len(floatingips) if amount is None else amount}
        own = self.put(tables.floatingip_reservations, reservation_id=id_, **row)
        for address in required:
            self.put(tables.required_floatingips, address=address, floatingip_reservation_id=own)
        for each in floatingips:
            self.put(tables.floatingip_allocations, floatingip_id=each, reservation_id=id_)
        return id_

    def allocate(self, reservation_id: str, hosts: Sequence[str]) -> None:
        for host in hosts:
            self.put(tables.host_allocations, compute_host_id=host, reservation_id=reservation_id)

    def _naive(self, hours: float) -> datetime:
        return (self.now + hours * HOUR).replace(tzinfo=None)
