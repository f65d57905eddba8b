"""The use cases of hosts and of their allocations, as blazar-api may call them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from blazar.domain.lease.maintenance import Lifetime
from blazar.domain.resource import Registration
from blazar.kinds.registered_hosts.commands import RegisterHost
from blazar.kinds.registered_hosts.views import AllocationsPage, PropertyView, ResourceAllocations
from blazar.service.context import Caller
from blazar.service.interface import call_options
from blazar.service.pages import ResourcePage
from blazar.service.ports import PropertyRecord


class HostsInterface(Protocol):
    @call_options(repeatable=False, once=True)
    def register(
        self, command: RegisterHost, caller: Caller | None = None, lifetime: Lifetime | None = None
    ) -> Registration:
        """Without ``lifetime`` the host is there at once, and stays. The cloud is used no longer than the
        caller waits."""
        ...

    def get(self, host_id: str, caller: Caller) -> Registration:
        """Return the host. Raises NotFound(object="{'host_id': '<id>'}")."""
        ...

    @call_options(added=("page",))
    def list(self, caller: Caller, page: ResourcePage | None = None) -> Sequence[Registration]:
        """Return the hosts in the order of their ids, without traits and inventory, which no list shows.
        Without ``page``, as a blazar-api of the version before asks, all of them are returned at once."""
        ...

    @call_options(once=True)
    def set_capabilities(self, host_id: str, capabilities: Mapping[str, str | None]) -> Registration:
        """Add or change capabilities; None removes one."""
        ...

    @call_options(once=True)
    def unregister(self, host_id: str, caller: Caller | None = None) -> None:
        """The cloud is used no longer than the caller waits."""
        ...

    def properties(self, include_private: bool) -> Sequence[PropertyView]: ...

    @call_options(once=True)
    def set_property_private(self, name: str, private: bool) -> PropertyRecord:
        """Make a property private or public. Raises PropertyNotFound."""
        ...


class AllocationsInterface(Protocol):
    @call_options(added=("page",))
    def list_for_hosts(
        self,
        lease_id: str | None = None,
        reservation_id: str | None = None,
        page: AllocationsPage | None = None,
    ) -> Sequence[ResourceAllocations]:
        """Return every host with its allocations: without a filter those of leases that end now or later.

        A page may begin and end in the middle of a host. Without ``page``, as a blazar-api of the version
        before asks, all is returned at once."""
        ...

    def get_for_host(
        self, host_id: str, lease_id: str | None = None, reservation_id: str | None = None
    ) -> ResourceAllocations:
        """Return the host with its allocations. Raises NotFound(object="{'host_id': '<id>'}")."""
        ...
