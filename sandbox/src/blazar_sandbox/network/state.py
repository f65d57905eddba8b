"""Neutron's tables, and the rules of addresses, ports and floating IPs."""

import ipaddress
import secrets
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from blazar_sandbox.clock import Clock
from blazar_sandbox.errors import bad_request, conflict, not_found
from blazar_sandbox.network.model import FixedIp, FloatingIp, Net, Port, SecurityGroup, Subnet
from blazar_sandbox.table import Index, Table

FLOATING = "network:floatingip"


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
        self.subnets_of = Index(self.subnets, lambda row: (row.network_id,))
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
        """Create a port."""
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
