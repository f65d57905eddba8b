"""JSON bodies of Neutron's objects."""

import ipaddress
from datetime import datetime

from blazar_sandbox.fields import Json
from blazar_sandbox.network.model import FixedIp, FloatingIp, Net, Port, Router, SecurityGroup, Subnet
from blazar_sandbox.network.state import Network


def moment(when: datetime) -> str:
    """Return a time in Neutron's format."""
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def _standard(tags: tuple[str, ...], created_at: datetime, updated_at: datetime | None = None) -> Json:
    return {
        "tags": list(tags),
        "created_at": moment(created_at),
        "updated_at": moment(updated_at or created_at),
        "revision_number": 1,
    }


def _owner(project_id: str) -> Json:
    return {"tenant_id": project_id, "project_id": project_id}


def net(row: Net, network: Network) -> Json:
    """Return the JSON body of a network."""
    body: Json = {
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "admin_state_up": True,
        "status": "ACTIVE",
        "subnets": network.subnets_of.keys(row.id),
        "shared": row.shared,
        "router:external": row.external,
        "is_default": False,
        "mtu": 1450,
        "port_security_enabled": True,
        "availability_zone_hints": [],
        "availability_zones": ["nova"],
        "ipv4_address_scope": None,
        "ipv6_address_scope": None,
        "provider:network_type": row.network_type,
        "provider:physical_network": row.physical_network,
        "provider:segmentation_id": row.segmentation_id,
    }
    return body | _owner(row.project_id) | _standard(row.tags, row.created_at)


def subnet(row: Subnet, _network: Network) -> Json:
    """Return the JSON body of a subnet."""
    body: Json = {
        "id": row.id,
        "name": row.name,
        "network_id": row.network_id,
        "ip_version": ipaddress.ip_network(row.cidr).version,
        "cidr": row.cidr,
        "gateway_ip": row.gateway_ip,
        "allocation_pools": [{"start": pool.start, "end": pool.end} for pool in row.pools],
        "enable_dhcp": row.enable_dhcp,
        "description": "",
        "dns_nameservers": [],
        "host_routes": [],
        "ipv6_address_mode": None,
        "ipv6_ra_mode": None,
        "service_types": [],
        "subnetpool_id": None,
        "segment_id": None,
    }
    return body | _owner(row.project_id) | _standard(row.tags, row.created_at)


def _fixed(ips: tuple[FixedIp, ...]) -> list[Json]:
    return [{"subnet_id": ip.subnet_id, "ip_address": ip.ip_address} for ip in ips]


def port(row: Port, _network: Network) -> Json:
    """Return the JSON body of a port."""
    body: Json = {
        "id": row.id,
        "name": row.name,
        "network_id": row.network_id,
        "mac_address": row.mac_address,
        "admin_state_up": True,
        "status": "ACTIVE" if row.device_id else "DOWN",
        "device_id": row.device_id,
        "device_owner": row.device_owner,
        "fixed_ips": _fixed(row.fixed_ips),
        "security_groups": list(row.security_groups),
        "description": "",
        "allowed_address_pairs": [],
        "extra_dhcp_opts": [],
        "port_security_enabled": True,
        "binding:host_id": row.host,
        "binding:vif_type": "ovs" if row.host else "unbound",
        "binding:vnic_type": "normal",
        "binding:profile": {},
        "binding:vif_details": {},
    }
    return body | _owner(row.project_id) | _standard(row.tags, row.created_at)


def router(row: Router, _network: Network) -> Json:
    """Return the JSON body of a router."""
    body: Json = {
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "admin_state_up": True,
        "status": "ACTIVE",
        "external_gateway_info": None,
        "routes": [dict(route) for route in row.routes],
        "availability_zone_hints": [],
        "availability_zones": ["nova"],
        "flavor_id": None,
    }
    return body | _owner(row.project_id) | _standard(row.tags, row.created_at)


def floating_ip(row: FloatingIp, network: Network) -> Json:
    """Return the JSON body of a floating IP."""
    target = network.ports.get(row.port_id) if row.port_id is not None else None
    body: Json = {
        "id": row.id,
        "floating_ip_address": row.floating_ip_address,
        "floating_network_id": row.floating_network_id,
        "fixed_ip_address": row.fixed_ip_address,
        "port_id": row.port_id,
        "router_id": None,
        "status": "ACTIVE" if row.port_id else "DOWN",
        "description": row.description,
        "dns_name": "",
        "dns_domain": "",
        "qos_policy_id": None,
        "port_details": None if target is None else _port_details(target),
    }
    standard = _standard(row.tags, row.created_at, row.updated_at) | {"revision_number": row.revision}
    return body | _owner(row.project_id) | standard


def _port_details(row: Port) -> Json:
    return {
        "name": row.name,
        "network_id": row.network_id,
        "mac_address": row.mac_address,
        "admin_state_up": True,
        "status": "ACTIVE",
        "device_id": row.device_id,
        "device_owner": row.device_owner,
    }


def security_group(row: SecurityGroup, _network: Network) -> Json:
    """Return the JSON body of a security group, which has no rules here."""
    body: Json = {
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "security_group_rules": [],
        "stateful": True,
        "shared": False,
    }
    return body | _owner(row.project_id) | _standard(row.tags, row.created_at)
