"""Hosts, their properties and their allocations over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blazar.api.authorization import Authorizer
from blazar.api.paging import in_pages
from blazar.api.routing import PagedList, Request
from blazar.api.schemas.fields import validated
from blazar.domain.resource import Registration, database_order
from blazar.kinds.hosts import policies as rules
from blazar.kinds.hosts import replies as views
from blazar.kinds.hosts.bodies import (
    MAX_KEY,
    AllocationsQuery,
    HostCreate,
    HostUpdate,
    PropertiesQuery,
    PropertyPatch,
    is_key,
)
from blazar.kinds.hosts.errors import PropertyNotFound
from blazar.kinds.hosts.interface import AllocationsInterface, HostsInterface
from blazar.kinds.hosts.views import (
    AllocationRow,
    AllocationsPage,
    ResourceAllocations,
    of_rows,
    to_rows,
)
from blazar.service.context import Caller
from blazar.service.interface import Service
from blazar.service.pages import ResourcePage

PAGE = 200
"""Hosts that are asked of a manager at once: some hundred kilobytes in one message of the broker."""
ALLOCATIONS_PAGE = 1000
"""Allocations that are asked of a manager at once."""


def host_pages(hosts: HostsInterface, caller: Caller) -> Iterator[Sequence[Registration]]:
    """Return the hosts that the caller may see, in the order of their ids, page by page."""

    def ask(last: Registration | None) -> Sequence[Registration]:
        return hosts.list(caller, ResourcePage(PAGE, last.id if last else None))

    return in_pages(ask, lambda host: database_order(host.id), PAGE)


def allocation_pages(
    allocations: AllocationsInterface, lease_id: str | None, reservation_id: str | None
) -> Iterator[Sequence[ResourceAllocations]]:
    """Return the hosts with their allocations, page by page.

    A page of the manager may end in the middle of a host, so each is kept until the next one tells how
    it goes on."""

    def ask(last: AllocationRow | None) -> Sequence[AllocationRow]:
        page = _page_after(last)
        return list(to_rows(allocations.list_for_hosts(lease_id, reservation_id, page)))

    kept: list[AllocationRow] = []
    for page in in_pages(ask, lambda row: row.key, ALLOCATIONS_PAGE):
        last = kept[-1].resource_id if kept else None
        kept += (row for row in page if row.resource_id == last)
        others = [row for row in page if row.resource_id != last]
        if kept and others:
            yield list(of_rows(kept))
            kept = []
        kept += others
    yield list(of_rows(kept))


def _page_after(last: AllocationRow | None) -> AllocationsPage:
    if last is None:
        return AllocationsPage(ALLOCATIONS_PAGE)
    found = last.allocation
    if found is None:
        return AllocationsPage(ALLOCATIONS_PAGE, last.resource_id)
    return AllocationsPage(ALLOCATIONS_PAGE, last.resource_id, found.interval.start, found.id)


class HostActions:
    """The actions on registered hosts."""

    def __init__(self, service: Service, authorizer: Authorizer) -> None:
        self._service = service
        self._authorizer = authorizer

    def _hosts(self, request: Request) -> HostsInterface:
        found: HostsInterface = self._service.called_by(request.caller).noun("hosts")
        return found

    def list(self, request: Request) -> PagedList:
        """List the registered hosts."""
        self._authorizer.require(rules.GET, request.caller)
        pages = host_pages(self._hosts(request), request.caller)
        return PagedList("hosts", ([views.host_view(host) for host in page] for page in pages))

    def create(self, request: Request) -> views.HostReply:
        """Register a hypervisor without servers; it moves to the freepool."""
        self._authorizer.require(rules.POST, request.caller)
        command = validated(HostCreate, request.body).command()
        return views.host_reply(self._hosts(request).register(command, request.caller))

    def show(self, request: Request) -> views.HostReply:
        """Show a host."""
        self._authorizer.require(rules.GET, request.caller)
        return views.host_reply(self._hosts(request).get(request.id("host_id"), request.caller))

    def update(self, request: Request) -> views.HostReply:
        """Set resource properties of a host; null removes one."""
        self._authorizer.require(rules.PUT, request.caller)
        host_id = request.id("host_id")
        capabilities = validated(HostUpdate, request.body).capabilities()
        return views.host_reply(self._hosts(request).set_capabilities(host_id, capabilities))

    def delete(self, request: Request) -> None:
        """Give a host without reservations and servers back to the cloud."""
        self._authorizer.require(rules.DELETE, request.caller)
        self._hosts(request).unregister(request.id("host_id"), request.caller)

    def properties(self, request: Request) -> views.PropertiesReply:
        """List the resource properties in use; private ones only with `all`, and only for administrators."""
        self._authorizer.require(rules.GET_RESOURCE_PROPERTIES, request.caller)
        query = request.query(PropertiesQuery)
        found = self._hosts(request).properties(include_private=query.all and request.caller.is_admin)
        return views.properties_reply(found, query.detail)

    def patch_property(self, request: Request) -> views.PropertyReply:
        """Make a resource property private or public."""
        self._authorizer.require(rules.UPDATE_RESOURCE_PROPERTIES, request.caller)
        name = request.path["property_name"]
        if not is_key(name):
            raise PropertyNotFound(name=ascii(name[:MAX_KEY]))
        patch = validated(PropertyPatch, request.body)
        return views.property_reply(self._hosts(request).set_property_private(name, patch.private))


class AllocationActions:
    """The actions on the allocations of hosts."""

    def __init__(self, service: Service, authorizer: Authorizer) -> None:
        self._service = service
        self._authorizer = authorizer

    def _allocations(self, request: Request) -> AllocationsInterface:
        found: AllocationsInterface = self._service.called_by(request.caller).noun("allocations")
        return found

    def list(self, request: Request) -> PagedList:
        """List all hosts, each with its reservations: those that end now or later, or those of the query."""
        self._authorizer.require(rules.GET_ALLOCATIONS, request.caller)
        query = request.query(AllocationsQuery)
        pages = allocation_pages(self._allocations(request), query.lease_id, query.reservation_id)
        return PagedList("allocations", ([views.allocation_view(each) for each in page] for page in pages))

    def show(self, request: Request) -> views.AllocationReply:
        """Show the reservations of one host."""
        self._authorizer.require(rules.GET_ALLOCATIONS, request.caller)
        host_id, query = request.id("host_id"), request.query(AllocationsQuery)
        return views.allocation_reply(
            self._allocations(request).get_for_host(host_id, query.lease_id, query.reservation_id)
        )
