"""Hosts, their properties and their allocations over HTTP."""

from __future__ import annotations

from blazar.api.authorization import Authorizer
from blazar.api.routing import Request
from blazar.api.schemas.fields import validated
from blazar.api.schemas.hosts import MAX_KEY, HostCreate, HostUpdate, PropertyPatch, is_key
from blazar.api.views import hosts as views
from blazar.domain.errors import PropertyNotFound
from blazar.policies import oshosts as rules
from blazar.service.interface import AllocationsInterface, HostsInterface


class HostActions:
    """What can be done with the hosts in our care."""

    def __init__(self, hosts: HostsInterface, authorizer: Authorizer) -> None:
        self._hosts = hosts
        self._authorizer = authorizer

    def list(self, request: Request) -> views.HostsReply:
        """List the registered hosts."""
        self._authorizer.require(rules.GET, request.caller)
        return views.hosts_reply(self._hosts.list(request.caller))

    def create(self, request: Request) -> views.HostReply:
        """Register a hypervisor without servers; it moves to the freepool."""
        self._authorizer.require(rules.POST, request.caller)
        command = validated(HostCreate, request.body).command()
        return views.host_reply(self._hosts.register(command, request.caller))

    def show(self, request: Request) -> views.HostReply:
        """Show a host."""
        self._authorizer.require(rules.GET, request.caller)
        return views.host_reply(self._hosts.get(request.id("host_id"), request.caller))

    def update(self, request: Request) -> views.HostReply:
        """Set resource properties of a host; null removes one."""
        self._authorizer.require(rules.PUT, request.caller)
        host_id = request.id("host_id")
        capabilities = validated(HostUpdate, request.body).capabilities()
        return views.host_reply(self._hosts.set_capabilities(host_id, capabilities, request.caller))

    def delete(self, request: Request) -> None:
        """Give a host without reservations and servers back to the cloud."""
        self._authorizer.require(rules.DELETE, request.caller)
        self._hosts.unregister(request.id("host_id"), request.caller)

    def properties(self, request: Request) -> views.PropertiesReply:
        """List the resource properties in use; private ones only with `all`, and only for administrators."""
        self._authorizer.require(rules.GET_RESOURCE_PROPERTIES, request.caller)
        detail, everything = request.query_flag("detail"), request.query_flag("all")
        found = self._hosts.properties(request.caller, include_private=everything and request.caller.is_admin)
        return views.properties_reply(found, detail)

    def patch_property(self, request: Request) -> views.PropertyReply:
        """Make a resource property private or public."""
        self._authorizer.require(rules.UPDATE_RESOURCE_PROPERTIES, request.caller)
        name = request.path["property_name"]
        if not is_key(name):
            raise PropertyNotFound(name=ascii(name[:MAX_KEY]))
        patch = validated(PropertyPatch, request.body)
        return views.property_reply(self._hosts.set_property_private(name, patch.private, request.caller))


class AllocationActions:
    """Which reservations occupy which hosts."""

    def __init__(self, allocations: AllocationsInterface, authorizer: Authorizer) -> None:
        self._allocations = allocations
        self._authorizer = authorizer

    def list(self, request: Request) -> views.AllocationsReply:
        """List all hosts, each with its reservations: those that end now or later, or those of the query."""
        self._authorizer.require(rules.GET_ALLOCATIONS, request.caller)
        return views.allocations_reply(
            self._allocations.list_for_hosts(
                request.caller, request.query_id("lease_id"), request.query_id("reservation_id")
            )
        )

    def show(self, request: Request) -> views.AllocationReply:
        """Show the reservations of one host."""
        self._authorizer.require(rules.GET_ALLOCATIONS, request.caller)
        return views.allocation_reply(
            self._allocations.get_for_host(
                request.id("host_id"),
                request.caller,
                request.query_id("lease_id"),
                request.query_id("reservation_id"),
            )
        )
