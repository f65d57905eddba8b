"""The errors about floating IPs and their reservations."""

from __future__ import annotations

from blazar.domain.errors import Conflict, InvalidInput, NotEnoughResources, NotFound


class TooManyRequiredFloatingIPs(InvalidInput):
    code = "too_many_required_floatingips"
    template = "The {required} required_floatingips are more than the amount of {amount}."


class FloatingIPNetworkNotFound(InvalidInput):
    code = "floatingip_network_not_found"
    template = "Failed to find network {network}"


class FloatingIPNetworkNotExternal(InvalidInput):
    code = "floatingip_network_not_external"
    template = "Network {network} is not external: there are no floating IPs on it."


class NeutronUsesFloatingIP(InvalidInput):
    """Neutron might give the address to any project, or uses it itself."""

    code = "neutron_uses_floatingip"
    template = "The floating IP {floatingip} is used in allocation_pools or gateway_ip in subnet {subnet} ."


class CantUpdateFloatingIPReservation(InvalidInput):
    code = "cant_update_floatingip_reservation"
    template = "Floating IP reservation cannot be updated with requested parameters. {reason}"


class FloatingIPNotFound(NotFound):
    code = "floatingip_not_found"
    template = "Floating IP {floatingip} not found."


class FloatingIPSubnetNotFound(NotFound):
    code = "floatingip_subnet_not_found"
    template = "Valid subnet for the floating IP {floatingip} is not found."


class NotEnoughFloatingIPs(NotEnoughResources):
    """The same of floating IPs."""

    code = "not_enough_floatingips"


class FloatingIPAlreadyRegistered(Conflict):
    code = "floatingip_already_registered"
    template = "Floating IP {floatingip} on network {network} is already registered."


class FloatingIPInUse(Conflict):
    """The address is in use already, outside of any reservation."""

    code = "floatingip_in_use"
    template = "The floating IP {floatingip} is in use in Neutron."


class CantDeleteFloatingIP(Conflict):
    code = "cant_delete_floatingip"
    template = "Can't delete floating IP {floatingip}. {reason}"
