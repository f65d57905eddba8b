"""The use cases of floating IPs: operators register addresses, and give them up again."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from blazar.domain.address import canonical_address
from blazar.domain.errors import Stale
from blazar.domain.resource import Registration
from blazar.kinds.floatingip.commands import RegisterFloatingIP
from blazar.kinds.floatingip.errors import (
    CantDeleteFloatingIP,
    FloatingIPAlreadyRegistered,
    FloatingIPInUse,
    FloatingIPNetworkNotExternal,
    FloatingIPNetworkNotFound,
    FloatingIPNotFound,
    FloatingIPSubnetNotFound,
    NeutronUsesFloatingIP,
)
from blazar.kinds.floatingip.names import (
    ADDRESS,
    NETWORK_ID,
    POOL,
    SUBNET_ID,
    floating_ip_id,
    floating_ip_name,
    network_and_number,
)
from blazar.service.context import Caller
from blazar.service.pages import ResourcePage, resource_page
from blazar.service.ports import Clock, Cloud, CloudNetwork, Database, Network, Subnet, UnitOfWork
from blazar.service.request_cloud import within_request


class FloatingIPs:
    """The use cases of floating IPs. An address in our care is one that Neutron leaves alone until a lease
    starts."""

    def __init__(self, database: Database, cloud: Cloud, clock: Clock) -> None:
        self._database = database
        self._cloud = cloud
        self._clock = clock

    def get(self, floatingip_id: str) -> Registration:
        with self._database.read() as uow:
            return _existing(uow, floatingip_id)

    def list(self, page: ResourcePage | None = None) -> Sequence[Registration]:
        with self._database.read() as uow:
            if page is not None:
                return resource_page(uow, [POOL], page)
            return sorted(uow.resources.list(POOL), key=network_and_number)

    def register(self, command: RegisterFloatingIP, caller: Caller | None = None) -> Registration:
        """Register an address; nothing is made in Neutron. Raises InvalidIPFormat, FloatingIPNetworkNotFound,
        FloatingIPNetworkNotExternal, FloatingIPSubnetNotFound, NeutronUsesFloatingIP,
        FloatingIPAlreadyRegistered, FloatingIPInUse."""
        address = canonical_address(command.address)
        neutron = within_request(self._cloud, caller, self._clock).network
        network = _external_network(command.network_id, neutron)
        subnet = _subnet_of(address, neutron.subnets(network.id))
        floatingip = Registration(
            id=floating_ip_id(network.id, address),
            pool=POOL,
            name=floating_ip_name(network.id, address),
            facts={NETWORK_ID: network.id, SUBNET_ID: subnet.id, ADDRESS: address},
        )
        already = FloatingIPAlreadyRegistered(floatingip=address, network=network.id)
        with self._database.read() as uow:
            if uow.resources.get(floatingip.id) is not None:
                raise already
        if neutron.is_address_used(network.id, address):
            raise FloatingIPInUse(floatingip=address)
        now = self._clock.now()

        def commit(uow: UnitOfWork) -> Registration:
            return uow.resources.add(floatingip, now)

        try:
            return self._database.transact(commit)
        except Stale:
            raise already from None

    def unregister(self, floatingip_id: str) -> None:
        def commit(uow: UnitOfWork) -> None:
            floatingip = _existing(uow, floatingip_id)
            if uow.resources.allocations(POOL, resource_ids=[floatingip_id]):
                raise CantDeleteFloatingIP(floatingip=floatingip_id, reason="The floating IP is reserved.")
            uow.resources.remove(floatingip_id, floatingip.generation)

        self._database.transact(commit)


def _external_network(network_id: str, neutron: Network) -> CloudNetwork:
    network = neutron.network(network_id)
    if network is None:
        raise FloatingIPNetworkNotFound(network=network_id)
    if not network.is_external:
        raise FloatingIPNetworkNotExternal(network=network_id)
    return network


def _existing(uow: UnitOfWork, floatingip_id: str) -> Registration:
    floatingip = uow.resources.get(floatingip_id)
    if floatingip is None or floatingip.pool != POOL:
        raise FloatingIPNotFound(floatingip=floatingip_id)
    return floatingip


def _subnet_of(address: str, subnets: Sequence[Subnet]) -> Subnet:
    """Return the subnet in which a server could have the address, if Neutron does not give it out by itself.

    Raises FloatingIPSubnetNotFound, NeutronUsesFloatingIP."""
    number = ip_address(address)
    for subnet in subnets:
        if not _is_usable_in(number, ip_network(subnet.cidr)):
            continue
        is_gateway = subnet.gateway is not None and ip_address(subnet.gateway) == number
        if is_gateway or any(
            int(ip_address(a)) <= int(number) <= int(ip_address(b)) for a, b in subnet.pools
        ):
            raise NeutronUsesFloatingIP(floatingip=address, subnet=subnet.id)
        return subnet
    raise FloatingIPSubnetNotFound(floatingip=address)


def _is_usable_in(number: IPv4Address | IPv6Address, network: IPv4Network | IPv6Network) -> bool:
    """Return whether a machine can have the address: neither a network's own address nor a broadcast address,
    as Neutron says."""
    is_broadcast = network.version == 4 and number == network.broadcast_address
    return number in network and number != network.network_address and not is_broadcast
