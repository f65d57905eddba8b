"""Hosts, their properties and their allocations over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from blazar.api.authorization import Authorizer
from blazar.api.errors import EXPLANATION
from blazar.api.lists import Listing, listing_by_id
from blazar.api.microversion import Version
from blazar.api.paging import in_pages
from blazar.api.routing import Answer, PagedList, Request
from blazar.api.schemas.fields import validated
from blazar.api.schemas.lists import PageQuery
from blazar.api.views.maintenances import impact_view
from blazar.domain.errors import MaintenanceConflict
from blazar.domain.lease.maintenance import EVERLASTING, Lifetime
from blazar.domain.resource import Registration, database_order
from blazar.kinds.registered_hosts import policies as rules
from blazar.kinds.registered_hosts import replies as views
from blazar.kinds.registered_hosts.bodies import (
    MAX_KEY,
    AllocationsPageQuery,
    AllocationsQuery,
    HostCreate,
    HostCreateForTime,
    HostCreateInRegion,
    HostUpdate,
    HostUpdateForTime,
    PropertiesQuery,
    PropertyPatch,
    is_key,
)
from blazar.kinds.registered_hosts.errors import PropertyNotFound
from blazar.kinds.registered_hosts.interface import AllocationsInterface, HostsInterface
from blazar.kinds.registered_hosts.views import (
    AllocationRow,
    AllocationsPage,
    ResourceAllocations,
    of_rows,
    to_rows,
)
from blazar.service.context import Caller
from blazar.service.interface import BuffersInterface, LifetimesInterface, Service
from blazar.service.pages import ResourcePage

REGIONS: Version = (1, 26)
"""The version of the API that brought the regions of hosts."""
PAGE = 500
"""Hosts that are asked of a manager at once: some hundred kilobytes in one message of the broker."""
ALLOCATIONS_PAGE = 1000
"""Allocations that are asked of a manager at once."""
ROWS_OF_A_HOST = 10
"""Allocations that are asked of a manager at once for each host of a page, so that a short page costs
little."""


def host_pages(hosts: HostsInterface, caller: Caller) -> Iterator[Sequence[Registration]]:
    """Return the hosts that the caller may see, in the order of their ids, page by page."""

    def ask(last: Registration | None) -> Sequence[Registration]:
        return hosts.list(caller, ResourcePage(PAGE, last.id if last else None))

    return in_pages(ask, lambda host: database_order(host.id), PAGE)


def allocation_pages(
    allocations: AllocationsInterface,
    lease_id: str | None,
    reservation_id: str | None,
    *,
    after: str | None = None,
    at_once: int = ALLOCATIONS_PAGE,
) -> Iterator[Sequence[ResourceAllocations]]:
    """Return the hosts that follow ``after`` with their allocations, page by page.

    A page of the manager may end in the middle of a host, so each is kept until the next one tells how
    it goes on."""

    def ask(last: AllocationRow | None) -> Sequence[AllocationRow]:
        page = _page_after(last, at_once)
        found = to_rows(allocations.list_for_hosts(lease_id, reservation_id, page))
        # A manager of the version before returns all.
        return [row for row in found if row.resource_id != after]

    kept: list[AllocationRow] = []
    begin = None if after is None else AllocationRow(after, None)
    for page in in_pages(ask, lambda row: row.key, at_once, begin):
        last = kept[-1].resource_id if kept else None
        kept += (row for row in page if row.resource_id == last)
        others = [row for row in page if row.resource_id != last]
        if kept and others:
            yield list(of_rows(kept))
            kept = []
        kept += others
    yield list(of_rows(kept))


def _page_after(last: AllocationRow | None, at_once: int) -> AllocationsPage:
    if last is None:
        return AllocationsPage(at_once)
    found = last.allocation
    if found is None:
        return AllocationsPage(at_once, last.resource_id)
    return AllocationsPage(at_once, last.resource_id, found.interval.start, found.id)


def _view(request: Request) -> Callable[[Registration, Lifetime, bool], views.HostView]:
    """Return how a host is shown in the version of the request, since 1.15."""
    return views.lasting_view if request.version < REGIONS else views.regional_view


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

    def list_page(self, request: Request) -> PagedList:
        """List a page of the registered hosts (1.1)."""
        self._authorizer.require(rules.GET, request.caller)
        hosts, query = self._hosts(request), request.exact_query(PageQuery)

        def ask(limit: int, after: str | None) -> Sequence[Registration]:
            return hosts.list(request.caller, ResourcePage(limit, after))

        listing = listing_by_id(ask, lambda host: host.id, query.limit, query.marker, PAGE)
        return listing.answer(request, "hosts", views.host_view)

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

    # since 1.15: with the time for which a host is there

    def list_lasting(self, request: Request) -> PagedList:
        """List a page of the registered hosts, with the times for which they are there (1.15)."""
        self._authorizer.require(rules.GET, request.caller)
        hosts, lasting = self._hosts(request), self._lifetimes(request)
        query, known = request.exact_query(PageQuery), dict[str, Lifetime]()
        buffers = frozenset(self._buffers(request).list())

        def ask(limit: int, after: str | None) -> Sequence[Registration]:
            found = hosts.list(request.caller, ResourcePage(limit, after))
            known.update(lasting.list([host.id for host in found]))
            return found

        listing = listing_by_id(ask, lambda host: host.id, query.limit, query.marker, PAGE)
        return listing.answer(
            request,
            "hosts",
            lambda host: _view(request)(host, known.get(host.id, EVERLASTING), host.id in buffers),
        )

    def create_lasting(self, request: Request) -> views.HostReply:
        """Register a hypervisor without servers, also one that is there only for a time."""
        self._authorizer.require(rules.POST, request.caller)
        body = HostCreateForTime if request.version < REGIONS else HostCreateInRegion
        asked = validated(body, request.body)
        lifetime = asked.lifetime()
        # Managers of the version before do not know what is not sent here.
        more = {} if lifetime is None else {"lifetime": lifetime}
        host = self._hosts(request).register(asked.command(), request.caller, **more)
        return self._lasting(host, request)

    def show_lasting(self, request: Request) -> views.HostReply:
        """Show a host, with the time for which it is there."""
        self._authorizer.require(rules.GET, request.caller)
        return self._lasting(self._hosts(request).get(request.id("host_id"), request.caller), request)

    def update_lasting(self, request: Request) -> views.HostReply | Answer:
        """Set resource properties of a host; or the time for which it is there, which moves leases, and is
        refused with their impact where one would break."""
        self._authorizer.require(rules.PUT, request.caller)
        host_id, asked = request.id("host_id"), validated(HostUpdateForTime, request.body)
        if asked.buffer is not None:
            self._buffers(request).set(host_id, asked.buffer, request.caller)
            return self._lasting(self._hosts(request).get(host_id, request.caller), request)
        if not asked.is_for_time:
            host = self._hosts(request).set_capabilities(host_id, asked.capabilities())
            return self._lasting(host, request)
        use_cases, command = self._lifetimes(request), asked.command(host_id)
        if asked.dry_run:
            seen = use_cases.preview(command, request.caller)
            return Answer(200, {"impact": impact_view(seen.impacts)})
        decision = use_cases.set(command, request.caller)
        impact = impact_view(decision.impacts)
        if decision.lifetime is None:
            request.environ[EXPLANATION] = {"impact": impact}
            raise MaintenanceConflict(count=impact["breaks"])
        host = self._hosts(request).get(host_id, request.caller)
        return {**self._lasting(host, request), "impact": impact}

    def _lasting(self, host: Registration, request: Request) -> views.HostReply:
        lifetime = self._lifetimes(request).list([host.id]).get(host.id, EVERLASTING)
        is_buffer = host.id in self._buffers(request).list()
        return {"host": _view(request)(host, lifetime, is_buffer)}

    def _buffers(self, request: Request) -> BuffersInterface:
        found: BuffersInterface = self._service.called_by(request.caller).noun("buffers")
        return found

    def _lifetimes(self, request: Request) -> LifetimesInterface:
        found: LifetimesInterface = self._service.called_by(request.caller).noun("lifetimes")
        return found

    def delete(self, request: Request) -> None:
        """Give a host without reservations and servers back to the cloud."""
        self._authorizer.require(rules.DELETE, request.caller)
        self._hosts(request).unregister(request.id("host_id"), request.caller)

    def properties(self, request: Request) -> views.PropertiesReply:
        """List the resource properties in use; private ones only with `all`, for administrators."""
        self._authorizer.require(rules.GET_RESOURCE_PROPERTIES, request.caller)
        query = request.query(PropertiesQuery)
        include_private = query.all and request.caller.sees_private_properties
        found = self._hosts(request).properties(include_private)
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

    def list_page(self, request: Request) -> PagedList:
        """List a page of hosts, each with its reservations (1.1)."""
        self._authorizer.require(rules.GET_ALLOCATIONS, request.caller)
        query = request.exact_query(AllocationsPageQuery)
        allocations = self._allocations(request)

        def items(listing: Listing[ResourceAllocations]) -> Iterator[Sequence[ResourceAllocations]]:
            left, last = query.limit, query.marker
            at_once = min(ALLOCATIONS_PAGE, ROWS_OF_A_HOST * (query.limit + 1))
            for page in allocation_pages(
                allocations, query.lease_id, query.reservation_id, after=query.marker, at_once=at_once
            ):
                yield page[:left]
                if len(page) > left:
                    listing.goes_on = page[left - 1].resource_id if left else last
                    return
                left, last = left - len(page), page[-1].resource_id if page else last

        return Listing(items).answer(request, "allocations", views.allocation_view)

    def show(self, request: Request) -> views.AllocationReply:
        """Show the reservations of one host."""
        self._authorizer.require(rules.GET_ALLOCATIONS, request.caller)
        host_id, query = request.id("host_id"), request.query(AllocationsQuery)
        return views.allocation_reply(
            self._allocations(request).get_for_host(host_id, query.lease_id, query.reservation_id)
        )
