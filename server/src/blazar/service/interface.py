"""The use cases that blazar-api may call, as Protocols: implemented by the service, and by the RPC proxy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from blazar.domain.lease import Lease
from blazar.domain.resource import Registration
from blazar.service.commands import CreateLease, RegisterFloatingIP, RegisterHost, UpdateLease
from blazar.service.context import Caller
from blazar.service.ports import PropertyRecord
from blazar.service.views import PropertyView, ResourceAllocations
from blazar.service.vitals import Vitals

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Calling:
    """How a use case may be called from another process."""

    repeatable: bool = False
    """Asking again after a lost answer does no harm: it reads, or sets what is set already, or finds its own work. One that
    returns nothing and finds nothing the second time has been done the first time."""
    patience: float | None = None
    """Seconds to wait for the answer; None for as long as the operator says."""


CALLING: dict[str, Calling] = {}
"""By qualified name; what is not here must not be repeated."""


def calling(repeatable: bool = False, patience: float | None = None) -> Callable[[F], F]:
    def mark(use_case: F) -> F:
        CALLING[use_case.__qualname__] = Calling(repeatable, patience)
        return use_case

    return mark


class LeasesInterface(Protocol):
    @calling(repeatable=True)
    def create(self, command: CreateLease, caller: Caller) -> Lease: ...

    @calling(repeatable=True)
    def get(self, lease_id: str, caller: Caller) -> Lease:
        """Raises NotFound(object="{'lease_id': '<id>'}")."""
        ...

    @calling(repeatable=True)
    def list(self, caller: Caller, project_id: str | None) -> Sequence[Lease]:
        """Leases of a project; of all projects with None."""
        ...

    @calling(repeatable=True)
    def update(self, lease_id: str, command: UpdateLease, caller: Caller) -> Lease: ...

    @calling(repeatable=True)
    def delete(self, lease_id: str, caller: Caller) -> None: ...


class HostsInterface(Protocol):
    def register(self, command: RegisterHost, caller: Caller) -> Registration: ...

    @calling(repeatable=True)
    def get(self, host_id: str, caller: Caller) -> Registration:
        """Raises NotFound(object="{'host_id': '<id>'}")."""
        ...

    @calling(repeatable=True)
    def list(self, caller: Caller) -> Sequence[Registration]: ...

    @calling(repeatable=True)
    def set_capabilities(self, host_id: str, capabilities: Mapping[str, str | None], caller: Caller) -> Registration:
        """Add or change capabilities; None removes one."""
        ...

    @calling(repeatable=True)
    def unregister(self, host_id: str, caller: Caller) -> None: ...

    @calling(repeatable=True)
    def properties(self, caller: Caller, include_private: bool) -> Sequence[PropertyView]: ...

    @calling(repeatable=True)
    def set_property_private(self, name: str, private: bool, caller: Caller) -> PropertyRecord:
        """Raises PropertyNotFound."""
        ...


class AllocationsInterface(Protocol):
    @calling(repeatable=True)
    def list_for_hosts(
        self, caller: Caller, lease_id: str | None = None, reservation_id: str | None = None
    ) -> Sequence[ResourceAllocations]:
        """Every host with its allocations: without a filter those of leases that end now or later."""
        ...

    @calling(repeatable=True)
    def get_for_host(
        self, host_id: str, caller: Caller, lease_id: str | None = None, reservation_id: str | None = None
    ) -> ResourceAllocations:
        """Raises NotFound(object="{'host_id': '<id>'}")."""
        ...


class FloatingIPsInterface(Protocol):
    def register(self, command: RegisterFloatingIP, caller: Caller) -> Registration: ...

    @calling(repeatable=True)
    def get(self, floatingip_id: str, caller: Caller) -> Registration:
        """Raises FloatingIPNotFound."""
        ...

    @calling(repeatable=True)
    def list(self, caller: Caller) -> Sequence[Registration]: ...

    @calling(repeatable=True)
    def unregister(self, floatingip_id: str, caller: Caller) -> None: ...


class VitalsInterface(Protocol):
    @calling(repeatable=True, patience=3.0)
    def read(self) -> Vitals:
        """How the manager that answers is doing. Raises CloudUnavailable(service="database")."""
        ...


class Service(Protocol):
    """All use cases, by noun."""

    @property
    def leases(self) -> LeasesInterface: ...
    @property
    def hosts(self) -> HostsInterface: ...
    @property
    def floatingips(self) -> FloatingIPsInterface: ...
    @property
    def allocations(self) -> AllocationsInterface: ...
    @property
    def vitals(self) -> VitalsInterface: ...
