"""The errors about the registered hosts."""

from __future__ import annotations

from blazar.domain.errors import Conflict, NotFound


class HostNotFound(NotFound):
    code = "host_not_found"
    template = "Host '{host}' not found!"


class PropertyNotFound(NotFound):
    code = "property_not_found"
    template = "Resource property {name} not found"


class NoFreePool(NotFound):
    code = "no_freepool"
    template = "No Freepool found"


class CantDeleteHost(Conflict):
    code = "cant_delete_host"
    template = "Can't delete host {host}. {reason}"


class HostHavingServers(Conflict):
    code = "host_having_servers"
    template = "Servers [{servers}] found for host {host}"


class HostAlreadyRegistered(Conflict):
    code = "host_already_registered"
    template = "Host {host} is already registered."


class CantAddExtraCapability(Conflict):
    code = "cant_add_extra_capability"
    template = "Can't add extracapabilities {keys} to Host {host}: {reason}"
