"""Neutron's tables, and the rules of addresses, ports and floating IPs."""

import ipaddress
import secrets
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from blazar_sandbox.clock import Clock
from blazar_sandbox.errors import ApiError, bad_request, conflict, not_found
from blazar_sandbox.network.model import (
    FixedIp,
    FloatingIp,
    Net,
    NetworkQuota,
    Port,
    Router,
    SecurityGroup,
    Subnet,
)
from blazar_sandbox.table import Index, Table

FLOATING = "network:floatingip"
INTERFACE = "network:router_interface"
_MADE_BY_NEUTRON = frozenset({"network:dhcp", "network:distributed"})
"""The owners of ports that are deleted with their network."""
PORT = "port"
_DEFAULTS = {
    "floatingip": 50,
    "network": 100,
    PORT: 500,
    "rbac_policy": 10,
    "router": 10,
    "security_group": 10,
    "security_group_rule": 100,
    "subnet": 100,
    "subnetpool": -1,
}
"""The limits of a project that has none of its own. Only that of ports holds."""
PHYSICAL_NETWORKS = ("public", "physnet1")
_HIGHEST_ID = {"vlan": 4094, "vxlan": 2**24 - 1, "geneve": 2**24 - 1, "gre": 2**32 - 1}


@dataclass(frozen=True, slots=True)
class PortRequest:
    """The request of a server for a port: an existing one, or a new one in a network."""

    network_id: str = ""
    port_id: str | None = None
    fixed_ip: str | None = None


class Network:
    """Neutron's tables and rules."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.networks: Table[Net] = Table("networks", Net)
        self.subnets: Table[Subnet] = Table("subnets", Subnet)
        self.ports: Table[Port] = Table("ports", Port)
        self.floating_ips: Table[FloatingIp] = Table("floating_ips", FloatingIp)
        self.security_groups: Table[SecurityGroup] = Table("security_groups", SecurityGroup)
        self.routers: Table[Router] = Table("routers", Router)
        self.quotas: Table[NetworkQuota] = Table("network_quotas", NetworkQuota)
        self.segments = Index(self.networks, lambda row: (_segment(row),))
        self.subnets_of = Index(self.subnets, lambda row: (row.network_id,))
        self.ports_of = Index(self.ports, lambda row: (row.project_id,))
        self.ports_in = Index(self.ports, lambda row: (row.network_id,))
        self.ports_of_device = Index(self.ports, lambda row: (row.device_id,) if row.device_id else ())
        self.taken = Index(self.ports, lambda row: ((ip.subnet_id, ip.ip_address) for ip in row.fixed_ips))
        self.floating_by_address = Index(self.floating_ips, lambda row: (row.floating_ip_address,))
        self.floating_by_port = Index(self.floating_ips, lambda row: (row.port_id,) if row.port_id else ())
        self.groups_of = Index(self.security_groups, lambda row: (row.project_id,))

    @property
    def tables(self) -> Iterator[Table[Any]]:
        """Every table, for persistence."""
        for table in vars(self).values():
            if isinstance(table, Table):
                yield table

    def network(self, network_id: str) -> Net:
        """Return a network; raise 404 if there is none."""
        row = self.networks.get(network_id)
        if row is None:
            raise not_found(f"Network {network_id} could not be found.", "NetworkNotFound")
        return row

    def create_network(self, row: Net) -> Net:
        """Create a network on the segment that it names, or on a free one of type vxlan."""
        if row.network_type != "flat" and row.segmentation_id is None:
            row = replace(row, segmentation_id=self._free_segment(row))
        if self.segments.count(_segment(row)):
            raise _segment_in_use(row)
        self.networks.put(row.id, row)
        return row

    def _free_segment(self, row: Net) -> int:
        numbers = range(1, _HIGHEST_ID[row.network_type] + 1)
        taken = self.segments.count
        return next(each for each in numbers if not taken(_segment(replace(row, segmentation_id=each))))

    def delete_network(self, row: Net) -> None:
        """Delete a network on which no port is in use."""
        ports = self.ports_in.rows(row.id)
        if any(port.device_owner not in _MADE_BY_NEUTRON for port in ports):
            raise conflict(
                f"Unable to complete operation on network {row.id}. There are one or more ports still in "
                "use on the network.",
                "NetworkInUse",
            )
        for port in ports:
            self.delete_port(port.id)
        for key in self.subnets_of.keys(row.id):
            self.subnets.drop(key)
        self.networks.drop(row.id)

    def default_group(self, project_id: str) -> SecurityGroup:
        """Return a project's security group ``default``, which is created at the first use."""
        for row in self.groups_of.rows(project_id):
            if row.name == "default":
                return row
        row = SecurityGroup(
            str(uuid.uuid4()), "default", project_id, self.clock.now(), "Default security group"
        )
        self.security_groups.put(row.id, row)
        return row

    # --- addresses

    def pick_address(self, network: Net, wanted: str | None, subnet_id: str | None) -> FixedIp:
        """Return a free address: the wanted one, or the first one of the pools."""
        subnets = self.subnets_of.rows(network.id)
        if subnet_id is not None:
            subnets = [row for row in subnets if row.id == subnet_id]
            if subnet_id not in self.subnets:
                raise not_found(f"Subnet {subnet_id} could not be found.", "SubnetNotFound")
            if not subnets:
                raise bad_request(
                    f"Invalid input for operation: Failed to create port on network {network.id}, "
                    "because fixed_ips "
                    f"included invalid subnet {subnet_id}.",
                    "InvalidInput",
                )
        if wanted is not None:
            return self._requested_address(network, subnets, wanted)
        for subnet in subnets:
            for address in self._free(subnet):
                return FixedIp(subnet.id, address)
        raise conflict(
            f"No more IP addresses available on network {network.id}.", "IpAddressGenerationFailure"
        )

    def _requested_address(self, network: Net, subnets: list[Subnet], wanted: str) -> FixedIp:
        try:
            address = ipaddress.ip_address(wanted)
        except ValueError:
            raise bad_request(
                f"Invalid input for floating_ip_address. Reason: '{wanted}' is not a valid IP address.",
                "HTTPBadRequest",
            ) from None
        for subnet in subnets:
            if address not in ipaddress.ip_network(subnet.cidr):
                continue
            if self.taken.count((subnet.id, str(address))):
                raise conflict(
                    f"Unable to complete operation for network {network.id}. The IP address {address} "
                    "is in use.",
                    "IpAddressInUse",
                )
            return FixedIp(subnet.id, str(address))
        raise bad_request(
            f"IP address {wanted} is not a valid IP for any of the subnets on the specified network.",
            "InvalidIpForNetwork",
        )

    def _free(self, subnet: Subnet) -> Iterator[str]:
        for pool in subnet.pools:
            first, last = int(ipaddress.ip_address(pool.start)), int(ipaddress.ip_address(pool.end))
            for number in range(first, last + 1):
                address = str(ipaddress.ip_address(number))
                if not self.taken.count((subnet.id, address)):
                    yield address

    # --- ports

    def create_port(
        self,
        network: Net,
        project_id: str,
        fixed_ips: tuple[FixedIp, ...],
        *,
        name: str = "",
        device_id: str = "",
        device_owner: str = "",
        host: str = "",
    ) -> Port:
        """Create a port; one of no project counts in no quota."""
        if project_id and not self.has_room(project_id):
            raise conflict("Quota exceeded for resources: ['port'].", "OverQuota")
        row = Port(
            id=str(uuid.uuid4()),
            network_id=network.id,
            project_id=project_id,
            mac_address="fa:16:3e:" + ":".join(f"{byte:02x}" for byte in secrets.token_bytes(3)),
            created_at=self.clock.now(),
            name=name,
            device_id=device_id,
            device_owner=device_owner,
            host=host,
            fixed_ips=fixed_ips,
        )
        self.ports.put(row.id, row)
        return row

    def delete_port(self, port_id: str) -> None:
        """Delete a port and dissociate its floating IPs."""
        for row in self.floating_by_port.rows(port_id):
            self.put_floating(replace(row, port_id=None, fixed_ip_address=None))
        self.ports.drop(port_id)

    def plug(self, request: PortRequest, device_id: str, project_id: str, host: str) -> None:
        """Attach a port to a server."""
        owner = f"compute:{host}"
        if request.port_id is not None:
            port = self.ports[request.port_id]
            self.ports.put(port.id, replace(port, device_id=device_id, device_owner=owner, host=host))
            return
        network = self.network(request.network_id)
        fixed = (
            (self.pick_address(network, request.fixed_ip, None),) if self.subnets_of.count(network.id) else ()
        )
        port = self.create_port(
            network, project_id, fixed, device_id=device_id, device_owner=owner, host=host
        )
        groups = (self.default_group(project_id).id,)
        self.ports.put(port.id, replace(port, security_groups=groups))

    def unplug(self, device_id: str) -> None:
        """Delete the ports of a deleted server."""
        for port_id in self.ports_of_device.keys(device_id):
            self.delete_port(port_id)

    # --- quotas

    def defaults(self) -> dict[str, int]:
        """Return the limits of a project that has none of its own."""
        return dict(_DEFAULTS)

    def limits(self, project_id: str) -> dict[str, int]:
        """Return the limits of a project."""
        row = self.quotas.get(project_id)
        return {**_DEFAULTS, **(row.limits if row is not None else {})}

    def set_limits(self, project_id: str, wanted: Mapping[str, int]) -> None:
        """Set limits of a project, also to less than it uses."""
        unknown = sorted(wanted.keys() - _DEFAULTS.keys())
        if unknown:
            raise bad_request(f"Unrecognized attribute(s) '{', '.join(unknown)}'", "HTTPBadRequest")
        row = self.quotas.get(project_id)
        self.quotas.put(project_id, NetworkQuota({**(row.limits if row is not None else {}), **wanted}))

    def in_use(self, project_id: str) -> dict[str, int]:
        """Return what a project uses, by the names of the limits."""
        tables: dict[str, Table[Any]] = {
            "floatingip": self.floating_ips,
            "network": self.networks,
            "router": self.routers,
            "security_group": self.security_groups,
            "subnet": self.subnets,
        }
        counted = {name: sum(row.project_id == project_id for row in rows) for name, rows in tables.items()}
        return {**dict.fromkeys(_DEFAULTS, 0), **counted, PORT: self.ports_of.count(project_id)}

    def has_room(self, project_id: str, ports: int = 1) -> bool:
        """Return whether a project may have so many more ports."""
        limit = self.limits(project_id)[PORT]
        return limit < 0 or self.ports_of.count(project_id) + ports <= limit

    # --- routers

    def interfaces(self, router: Router) -> list[Port]:
        """Return the ports of a router's interfaces."""
        return [port for port in self.ports_of_device.rows(router.id) if port.device_owner == INTERFACE]

    def add_interface(self, router: Router, subnet: Subnet) -> Port:
        """Let a router have the gateway address of a subnet."""
        net = self.networks[subnet.network_id]
        if subnet.gateway_ip is None:
            raise bad_request(f"Bad router request: Subnet {subnet.id} has no gateway.", "BadRequest")
        address = self.pick_address(net, subnet.gateway_ip, subnet.id)
        return self.create_port(
            net, router.project_id, (address,), device_id=router.id, device_owner=INTERFACE
        )

    def remove_interface(self, router: Router, port: Port) -> None:
        """Remove an interface, unless floating IPs or routes need it."""
        for subnet_id in {ip.subnet_id for ip in port.fixed_ips}:
            refusal = (
                f"Router interface for subnet {subnet_id} on router {router.id} cannot be deleted, as it is "
                "required by one or more"
            )
            if any(self._is_behind(row, subnet_id) for row in self.floating_ips):
                raise conflict(f"{refusal} floating IPs.", "RouterInterfaceInUseByFloatingIP")
            cidr = ipaddress.ip_network(self.subnets[subnet_id].cidr)
            if any(ipaddress.ip_address(route["nexthop"]) in cidr for route in router.routes):
                raise conflict(f"{refusal} routes.", "RouterInterfaceInUseByRoute")
        self.delete_port(port.id)

    def _is_behind(self, floating: FloatingIp, subnet_id: str) -> bool:
        port = self.ports.get(floating.port_id) if floating.port_id else None
        return port is not None and any(
            (ip.subnet_id, ip.ip_address) == (subnet_id, floating.fixed_ip_address) for ip in port.fixed_ips
        )

    # --- floating IPs

    def create_floating(
        self, network: Net, project_id: str, wanted: str | None, subnet_id: str | None, description: str
    ) -> FloatingIp:
        """Create a floating IP."""
        if not network.external:
            raise bad_request(
                f"Bad floatingip request: Network {network.id} is not a valid external network.", "BadRequest"
            )
        fixed = self.pick_address(network, wanted, subnet_id)
        now, floating_id = self.clock.now(), str(uuid.uuid4())
        port = self.create_port(network, "", (fixed,), device_id=floating_id, device_owner=FLOATING)
        row = FloatingIp(
            floating_id, project_id, network.id, fixed.ip_address, port.id, now, now, description=description
        )
        self.put_floating(row)
        return row

    def associate(self, row: FloatingIp, port_id: str | None, fixed_ip: str | None) -> FloatingIp:
        """Associate a floating IP with a port, or with None dissociate it."""
        if port_id is None:
            return self.put_floating(replace(row, port_id=None, fixed_ip_address=None))
        port = self.ports.get(port_id)
        if port is None:
            raise not_found(f"Port {port_id} could not be found.", "PortNotFound")
        addresses = [ip.ip_address for ip in port.fixed_ips]
        target = fixed_ip or next(iter(addresses), None)
        if target is None or target not in addresses:
            raise bad_request(
                f"Bad floatingip request: Port {port_id} does not have fixed ip {target}.", "BadRequest"
            )
        for other in self.floating_by_port.rows(port_id):
            if other.id != row.id and other.fixed_ip_address == target:
                raise conflict(
                    f"Cannot associate floating IP {row.floating_ip_address} with port {port_id} "
                    "using fixed IP "
                    f"{target}, as that fixed IP already has a floating IP.",
                    "FloatingIPPortAlreadyAssociated",
                )
        return self.put_floating(replace(row, port_id=port_id, fixed_ip_address=target))

    def put_floating(self, row: FloatingIp) -> FloatingIp:
        """Store a changed floating IP."""
        row = replace(row, updated_at=self.clock.now(), revision=row.revision + 1)
        self.floating_ips.put(row.id, row)
        return row

    def delete_floating(self, row: FloatingIp) -> None:
        """Delete a floating IP."""
        self.ports.drop(row.port_of_address)
        self.floating_ips.drop(row.id)


def _segment(row: Net) -> tuple[str, str | None, int | None]:
    return row.network_type, row.physical_network, row.segmentation_id


def check_segment(network_type: str, physical_network: str | None, segmentation_id: int | None) -> None:
    """Refuse what can be no segment, with 400."""
    if network_type == "flat":
        problem = "segmentation_id prohibited for flat provider network." if segmentation_id else ""
    elif network_type not in _HIGHEST_ID:
        problem = f"network_type '{network_type}' not supported."
    elif segmentation_id is not None and not 1 <= segmentation_id <= _HIGHEST_ID[network_type]:
        problem = f"segmentation_id out of range (1 through {_HIGHEST_ID[network_type]})."
    else:
        problem = ""
    is_physical = network_type in ("flat", "vlan")
    if not problem and is_physical and physical_network not in PHYSICAL_NETWORKS:
        problem = f"physical_network '{physical_network}' unknown for {network_type} provider network."
    if not problem and not is_physical and physical_network is not None:
        problem = f"provider:physical_network specified for {network_type} network."
    if problem:
        raise bad_request(f"Invalid input for operation: {problem}", "InvalidInput")


def _segment_in_use(row: Net) -> ApiError:
    start = "Unable to create the"
    if row.network_type == "flat":
        return conflict(
            f"{start} flat network. Physical network {row.physical_network} is in use.", "FlatNetworkInUse"
        )
    if row.network_type == "vlan":
        return conflict(
            f"{start} network. The VLAN {row.segmentation_id} on physical network {row.physical_network} is "
            "in use.",
            "VlanIdInUse",
        )
    return conflict(f"{start} network. The tunnel ID {row.segmentation_id} is in use.", "TunnelIdInUse")
