"""The tables of upstream Blazar 17 and 18, as far as they are read."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, DateTime, Float, ForeignKey, Integer, MetaData, String, Table, Text
from sqlalchemy.schema import SchemaItem

metadata = MetaData()


def _table(name: str, *columns: SchemaItem) -> Table:
    moments = (Column(each, DateTime) for each in ("created_at", "updated_at"))
    return Table(name, metadata, Column("id", String(36), primary_key=True), *columns, *moments)


def _of(name: str, target: str) -> Column[str]:
    return Column(name, String(36), ForeignKey(f"{target}.id"))


leases = _table(
    "leases",
    Column("name", String(80), nullable=False),
    Column("user_id", String(255)),
    Column("project_id", String(255)),
    Column("start_date", DateTime, nullable=False),
    Column("end_date", DateTime, nullable=False),
    Column("trust_id", String(36)),
    Column("status", String(255)),
    Column("degraded", Boolean, nullable=False, default=False),
)
reservations = _table(
    "reservations",
    _of("lease_id", "leases"),
    Column("resource_id", String(36)),
    Column("resource_type", String(66)),
    Column("status", String(13)),
    Column("missing_resources", Boolean, nullable=False, default=False),
    Column("resources_changed", Boolean, nullable=False, default=False),
)
events = _table(
    "events",
    _of("lease_id", "leases"),
    Column("event_type", String(66)),
    Column("time", DateTime),
    Column("status", String(13)),
)
resource_properties = _table(
    "resource_properties",
    Column("resource_type", String(255), nullable=False),
    Column("property_name", String(255), nullable=False),
    Column("private", Boolean, nullable=False, default=False),
)
hosts = _table(
    "computehosts",
    Column("vcpus", Integer, nullable=False),
    Column("cpu_info", Text, nullable=False),
    Column("hypervisor_type", Text, nullable=False),
    Column("hypervisor_version", Integer, nullable=False),
    Column("hypervisor_hostname", String(255)),
    Column("service_name", String(255)),
    Column("memory_mb", Integer, nullable=False),
    Column("local_gb", Integer, nullable=False),
    Column("availability_zone", String(255), nullable=False),
    Column("trust_id", String(36), nullable=False),
    Column("reservable", Boolean, nullable=False, default=True),
)
capabilities = _table(
    "computehost_extra_capabilities",
    _of("computehost_id", "computehosts"),
    Column("property_id", String(255), ForeignKey("resource_properties.id"), nullable=False),
    Column("capability_value", Text, nullable=False),
)
inventories = _table(
    "computehost_resource_inventory",
    _of("computehost_id", "computehosts"),
    Column("resource_class", String(255), nullable=False),
    Column("total", Integer, nullable=False),
    Column("reserved", Integer, nullable=False),
    Column("min_unit", Integer, nullable=False),
    Column("max_unit", Integer, nullable=False),
    Column("step_size", Integer, nullable=False),
    Column("allocation_ratio", Float, nullable=False),
)
traits = _table(
    "computehost_trait",
    _of("computehost_id", "computehosts"),
    Column("trait", String(255), nullable=False),
)
host_reservations = _table(
    "computehost_reservations",
    _of("reservation_id", "reservations"),
    Column("aggregate_id", Integer),
    Column("resource_properties", Text),
    Column("hypervisor_properties", Text),
    Column("count_range", String(36)),
    Column("before_end", String(36)),
)
instance_reservations = _table(
    "instance_reservations",
    _of("reservation_id", "reservations"),
    Column("vcpus", Integer, nullable=False),
    Column("memory_mb", Integer, nullable=False),
    Column("disk_gb", Integer, nullable=False),
    Column("amount", Integer, nullable=False),
    Column("affinity", Boolean),
    Column("resource_properties", Text),
    Column("flavor_id", String(36)),
    Column("aggregate_id", Integer),
    Column("server_group_id", String(36)),
)
host_allocations = _table(
    "computehost_allocations",
    _of("compute_host_id", "computehosts"),
    _of("reservation_id", "reservations"),
)
floatingips = _table(
    "floatingips",
    Column("floating_network_id", String(255), nullable=False),
    Column("subnet_id", String(255), nullable=False),
    Column("floating_ip_address", String(255), nullable=False),
    Column("reservable", Boolean, nullable=False, default=True),
)
floatingip_reservations = _table(
    "floatingip_reservations",
    _of("reservation_id", "reservations"),
    Column("network_id", String(255), nullable=False),
    Column("amount", Integer, nullable=False),
)
required_floatingips = _table(
    "required_floatingips",
    Column("address", String(255), nullable=False),
    _of("floatingip_reservation_id", "floatingip_reservations"),
)
floatingip_allocations = _table(
    "floatingip_allocations",
    _of("floatingip_id", "floatingips"),
    _of("reservation_id", "reservations"),
)
