"""The port to Placement: resource providers, and the slots that are reserved on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from blazar.domain.resource import Inventory


@dataclass(frozen=True, slots=True)
class Provider:
    """A compute node as Placement describes it."""

    uuid: str
    traits: frozenset[str]
    inventory: Mapping[str, Inventory]


class Placement(Protocol):
    """Placement. Raises as Compute does."""

    def provider(self, name: str) -> Provider | None:
        """Return the provider of this name, with its traits and its inventories."""
        ...

    def ensure_reservation_provider(self, hypervisor_hostname: str) -> None:
        """Make the provider ``blazar_<hypervisor_hostname>`` below the compute node's, unless it is there."""
        ...

    def remove_reservation_provider(self, hypervisor_hostname: str) -> bool:
        """Remove the provider; false where there is none. Raises CloudRefused where it is in use.

        For operators only: nova-compute remembers the providers below its own for ``[compute]
        resource_provider_association_refresh`` seconds (300 by default), asks Placement at each boot for the
        allocations of each, and fails the boot where one is gone. So a provider stays with its host, empty,
        also when the host is deregistered. Inventories may come and go: Nova does not ask for them at a boot.
        Nor do Nova's aggregates matter, for the providers of reservations are in none of Placement's."""
        ...

    def reservation_providers(self) -> Sequence[str]:
        """Return the hypervisor_hostname of each compute node that has a provider ``blazar_<its name>``
        below its own: one request, however many there are."""
        ...

    def reserved_slots(self, hypervisor_hostname: str) -> Mapping[str, int]:
        """Return the totals of the provider ``blazar_<hypervisor_hostname>`` by resource class; none where
        there is no such provider."""
        ...

    def resource_classes(self) -> Sequence[str]:
        """Return the names of all resource classes."""
        ...

    def ensure_resource_class(self, name: str) -> None:
        """Make the resource class, unless it is there."""
        ...

    def remove_resource_class(self, name: str) -> None:
        """Remove a resource class; one that is gone already is no error. Raises CloudUnavailable while a
        provider has an inventory of it."""
        ...

    def set_reserved_slots(self, hypervisor_hostname: str, resource_class: str, total: int) -> None:
        """Make ``total`` the inventory of the class on that provider, which is made where it is not there;
        with 0 the inventory is removed. Raises CloudUnavailable where it is to be removed and still in
        use."""
        ...
