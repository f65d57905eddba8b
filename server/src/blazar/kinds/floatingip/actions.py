"""Floating IPs over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blazar.api.authorization import Authorizer
from blazar.api.lists import listing_by_id
from blazar.api.paging import in_pages
from blazar.api.routing import PagedList, Request
from blazar.api.schemas.fields import validated
from blazar.api.schemas.lists import PageQuery
from blazar.domain.resource import Registration, database_order
from blazar.kinds.floatingip import policies as rules
from blazar.kinds.floatingip import replies as views
from blazar.kinds.floatingip.bodies import FloatingIPCreate
from blazar.kinds.floatingip.interface import FloatingIPsInterface
from blazar.kinds.floatingip.names import network_and_number
from blazar.service.interface import Service
from blazar.service.pages import ResourcePage

PAGE = 500
"""Floating IPs that are asked of a manager at once: some hundred kilobytes in one message of the broker."""


def floatingip_pages(floatingips: FloatingIPsInterface) -> Iterator[Sequence[Registration]]:
    """Return the floating IPs by network and number, page by page.

    That is no order of a database, so they are asked for by their ids, and sorted here when all are there."""

    def ask(last: Registration | None) -> Sequence[Registration]:
        return floatingips.list(ResourcePage(PAGE, last.id if last else None))

    pages = in_pages(ask, lambda each: database_order(each.id), PAGE)
    found = sorted((each for page in pages for each in page), key=network_and_number)
    for begin in range(0, len(found), PAGE):
        yield found[begin : begin + PAGE]


class FloatingIPActions:
    """The actions on registered floating IPs."""

    def __init__(self, service: Service, authorizer: Authorizer) -> None:
        self._service = service
        self._authorizer = authorizer

    def _floatingips(self, request: Request) -> FloatingIPsInterface:
        found: FloatingIPsInterface = self._service.called_by(request.caller).noun("floatingips")
        return found

    def list(self, request: Request) -> PagedList:
        """List the registered floating IPs."""
        self._authorizer.require(rules.GET, request.caller)
        pages = floatingip_pages(self._floatingips(request))
        return PagedList("floatingips", ([views.floatingip_view(each) for each in page] for page in pages))

    def list_page(self, request: Request) -> PagedList:
        """List a page of the registered floating IPs (1.1)."""
        self._authorizer.require(rules.GET, request.caller)
        floatingips, query = self._floatingips(request), request.exact_query(PageQuery)

        def ask(limit: int, after: str | None) -> Sequence[Registration]:
            return floatingips.list(ResourcePage(limit, after))

        listing = listing_by_id(ask, lambda each: each.id, query.limit, query.marker, PAGE)
        return listing.answer(request, "floatingips", views.floatingip_view)

    def create(self, request: Request) -> views.FloatingIPReply:
        """Register an address of an external network that Neutron does not give out itself."""
        self._authorizer.require(rules.POST, request.caller)
        command = validated(FloatingIPCreate, request.body).command()
        return views.made_reply(self._floatingips(request).register(command, request.caller))

    def show(self, request: Request) -> views.FloatingIPReply:
        """Show a floating IP."""
        self._authorizer.require(rules.GET, request.caller)
        return views.floatingip_reply(self._floatingips(request).get(request.id("floatingip_id")))

    def delete(self, request: Request) -> None:
        """Forget a floating IP without reservations."""
        self._authorizer.require(rules.DELETE, request.caller)
        self._floatingips(request).unregister(request.id("floatingip_id"))
