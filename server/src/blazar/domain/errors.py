"""What can go wrong, as one tree: each class has a stable code, fields and a sentence; none knows HTTP.

The sentences of errors that API 1.0 clients know are those of the wire specification (chapter 1.7).
"""

from __future__ import annotations

from typing import ClassVar

FieldValue = str | int | float | bool | None | list[str]


class BlazarError(Exception):
    """The root. ``code`` names the class across processes; ``template`` makes the sentence from ``fields``."""

    code: ClassVar[str] = "error"
    template: ClassVar[str] = "{message}"
    _by_code: ClassVar[dict[str, type[BlazarError]]] = {}

    def __init__(self, message: str | None = None, /, **fields: FieldValue) -> None:
        if message is not None:
            fields["message"] = message
        self.fields: dict[str, FieldValue] = fields
        super().__init__(self.message)

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        known = cls._by_code.setdefault(cls.code, cls)
        if known is not cls and "code" in cls.__dict__:
            raise TypeError(f"error code {cls.code!r} is taken by {known.__name__}")

    @property
    def message(self) -> str:
        return self.template.format(**self.fields)

    @staticmethod
    def revive(code: str, fields: dict[str, FieldValue]) -> BlazarError:
        """The error that another process described by its code and fields."""
        cls = BlazarError._by_code.get(code)
        if cls is None:
            return Internal(f"The service reported an unknown error {code!r}")
        error = cls.__new__(cls)
        BlazarError.__init__(error, None, **fields)
        return error


class Internal(BlazarError):
    """A defect or an unforeseen condition; its details belong in the log, not in the answer."""

    code = "internal"


# What the caller sent is wrong.


class InvalidInput(BlazarError):
    code = "invalid_input"


class MissingParameter(InvalidInput):
    code = "missing_parameter"
    template = "Missing parameter {param}"


class MalformedParameter(InvalidInput):
    code = "malformed_parameter"
    template = "Malformed parameter {param}"


class MalformedRequirements(InvalidInput):
    """A requirement that does not follow the grammar; ``reason`` says where."""

    code = "malformed_requirements"
    template = "Malformed requirements {requirements}: {reason}"


class InvalidDate(InvalidInput):
    code = "invalid_date"
    template = "{date} is an invalid date. Required format: %Y-%m-%d %H:%M"


class InvalidRange(InvalidInput):
    code = "invalid_range"
    template = "Invalid values for min/max of hosts. Max must be equal to or larger than min."


class UnsupportedResourceType(InvalidInput):
    code = "unsupported_resource_type"
    template = "The {resource_type} resource type is not supported"


class InvalidIPFormat(InvalidInput):
    code = "invalid_ip_format"
    template = "IP address {ip} is invalid form."


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
    """Neutron might give the address to anybody, or uses it itself."""

    code = "neutron_uses_floatingip"
    template = "The floating IP {floatingip} is used in allocation_pools or gateway_ip in subnet {subnet} ."


class CantUpdateFloatingIPReservation(InvalidInput):
    code = "cant_update_floatingip_reservation"
    template = "Floating IP reservation cannot be updated with requested parameters. {reason}"


# The caller may not, or there is no such thing.


class NotAuthorized(BlazarError):
    code = "not_authorized"
    template = "Not authorized"


class PolicyNotAuthorized(NotAuthorized):
    code = "policy_not_authorized"
    template = "Policy doesn't allow {action} to be performed"


class NotFound(BlazarError):
    """``object`` is the text that API 1.0 shows, such as ``{'lease_id': 'x'}``."""

    code = "not_found"
    template = "Object with {object} not found"


class HostNotFound(NotFound):
    code = "host_not_found"
    template = "Host '{host}' not found!"


class PropertyNotFound(NotFound):
    code = "property_not_found"
    template = "Resource property {name} not found"


class FlavorNotFound(NotFound):
    code = "flavor_not_found"
    template = "Flavor {flavor} could not be found."


class FloatingIPNotFound(NotFound):
    code = "floatingip_not_found"
    template = "Floating IP {floatingip} not found."


class FloatingIPSubnetNotFound(NotFound):
    code = "floatingip_subnet_not_found"
    template = "Valid subnet for the floating IP {floatingip} is not found."


class NoFreePool(NotFound):
    code = "no_freepool"
    template = "No Freepool found"


# What is asked for collides with the state of things.


class Conflict(BlazarError):
    code = "conflict"


class InvalidStatus(Conflict):
    code = "invalid_status"
    template = "Invalid lease status: {reason}"


class CantUpdateParameter(Conflict):
    code = "cant_update_parameter"
    template = "{param} cannot be updated"


class NotEnoughResources(Conflict):
    """A shortage; ``reason`` tells how many matched, how many are free, and when the request would fit."""

    code = "not_enough_resources"
    template = "Not enough {noun} available: {reason}"


class NotEnoughFloatingIPs(NotEnoughResources):
    """The same of floating IPs, which API 1.0 answers with another status."""

    code = "not_enough_floatingips"


class FloatingIPAlreadyRegistered(Conflict):
    code = "floatingip_already_registered"
    template = "Floating IP {floatingip} on network {network} is already registered."


class FloatingIPInUse(Conflict):
    """Somebody has the address already, outside of any reservation."""

    code = "floatingip_in_use"
    template = "The floating IP {floatingip} is in use in Neutron."


class CantDeleteFloatingIP(Conflict):
    code = "cant_delete_floatingip"
    template = "Can't delete floating IP {floatingip}. {reason}"


class CantDeleteHost(Conflict):
    code = "cant_delete_host"
    template = "Can't delete host {host}. {reason}"


class HostHavingServers(Conflict):
    code = "host_having_servers"
    template = "Servers [{servers}] found for host {host}"


class HostAlreadyRegistered(Conflict):
    code = "host_already_registered"
    template = "Host {host} is already registered."


class MultipleHostsFound(Conflict):
    code = "multiple_hosts_found"
    template = "Multiple Hosts found for pattern '{host}'"


class CantAddExtraCapability(Conflict):
    code = "cant_add_extra_capability"
    template = "Can't add extracapabilities {keys} to Host {host}: {reason}"


class Busy(BlazarError):
    """Too many others changed the same resources meanwhile; nothing was stored, asking again helps."""

    code = "busy"
    template = "The resources are being changed by too many requests at once. Please try again."


class CloudUnavailable(BlazarError):
    """Another service (Nova, Placement, Keystone, the database ...) failed or did not answer in time."""

    code = "cloud_unavailable"
    template = "{service} is not available: {reason}"


class CloudRefused(BlazarError):
    """Another service understood our request and refused it; repeating the same request won't help."""

    code = "cloud_refused"
    template = "{service} refused the request: {reason}"
