"""Placement in memory: providers, and the inventories of reservations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from blazar.adapters.memory.cloud_state import Called, CloudState
from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.domain.resource import Inventory
from blazar.service.ports import Provider


class MemoryPlacement:
    """The Placement port."""

    def __init__(self, state: CloudState, called: Called) -> None:
        self._state = state
        self._called = called

    def provider(self, name: str) -> Provider | None:
        self._called("provider")
        found = self._state.providers.get(name)
        if found is None:
            return None
        slots = {
            resource_class: Inventory(total, 1)
            for (host, resource_class), total in self._state.slots.items()
            if _reservation_provider(host) == name
        }
        return replace(found, inventory={**found.inventory, **slots})

    def ensure_reservation_provider(self, hypervisor_hostname: str) -> None:
        self._called("ensure_reservation_provider")
        self._ensure(hypervisor_hostname)

    def remove_reservation_provider(self, hypervisor_hostname: str) -> bool:
        self._called("remove_reservation_provider")
        return self._state.providers.pop(_reservation_provider(hypervisor_hostname), None) is not None

    def reservation_providers(self) -> Sequence[str]:
        self._called("reservation_providers")
        known = self._state.providers
        return [name for name in known if _reservation_provider(name) in known]

    def reserved_slots(self, hypervisor_hostname: str) -> Mapping[str, int]:
        self._called("reserved_slots")
        found = list(self._state.slots.items())
        return {name: total for (host, name), total in found if host == hypervisor_hostname}

    def resource_classes(self) -> Sequence[str]:
        self._called("resource_classes")
        return sorted(self._state.classes)

    def ensure_resource_class(self, name: str) -> None:
        self._called("ensure_resource_class")
        self._state.classes.add(name)

    def remove_resource_class(self, name: str) -> None:
        self._called("remove_resource_class")
        with self._state.lock:
            if any(used == name for _, used in self._state.slots):
                raise CloudUnavailable(service="Placement", reason=f"there are inventories of {name} yet")
            self._state.classes.discard(name)

    def set_reserved_slots(self, hypervisor_hostname: str, resource_class: str, total: int) -> None:
        self._called("set_reserved_slots")
        key = (hypervisor_hostname, resource_class)
        with self._state.lock:
            if total:
                if resource_class not in self._state.classes:
                    raise CloudRefused(
                        service="Placement", reason=f"Unknown resource class {resource_class} (HTTP 400)"
                    )
                self._ensure(hypervisor_hostname)
                self._state.slots[key] = total
            elif self._state.slots_in_use(hypervisor_hostname, resource_class):
                raise CloudUnavailable(service="Placement", reason=f"{resource_class} is still in use")
            else:
                self._state.slots.pop(key, None)

    def _ensure(self, hypervisor_hostname: str) -> None:
        if hypervisor_hostname not in self._state.providers:
            raise CloudRefused(service="Placement", reason=f"there is no provider for {hypervisor_hostname}")
        name = _reservation_provider(hypervisor_hostname)
        self._state.providers.setdefault(name, Provider(name, frozenset(), {}))


def _reservation_provider(hypervisor_hostname: str) -> str:
    return f"blazar_{hypervisor_hostname}"
