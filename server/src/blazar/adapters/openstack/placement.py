"""Placement: compute nodes' inventories and traits, and the provider that reservations hang below each of
them."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blazar.adapters.openstack.session import ServiceApi
from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.domain.resource import Inventory
from blazar.service.ports import Provider

VERSION = "1.29"
NAMESPACE = uuid.UUID("b1a2a700-5e5e-4a7e-9f00-000000000001")
"""Reservation providers get ids derived from their names, so that two managers that make one at a time make
the same."""

SLOTS = {"reserved": 0, "min_unit": 1, "max_unit": 1, "step_size": 1, "allocation_ratio": 1.0}
"""What the inventory of a reservation is like: each server takes one, and no more than there are."""
CONCURRENT_UPDATES = 10
CONCURRENT_CLASSES = 30


class PlacementProviders:
    """The Placement port over Placement's HTTP API."""

    def __init__(self, api: ServiceApi) -> None:
        self._api = api

    def fenced(self, check: Callable[[], None]) -> PlacementProviders:
        return PlacementProviders(self._api.fenced(check))

    def provider(self, name: str) -> Provider | None:
        found = self._by_name(name)
        if found is None:
            return None
        provider_id = str(found["uuid"])
        inventories = self._inventories(provider_id)["inventories"]
        traits = self._api.get(f"/resource_providers/{provider_id}/traits", VERSION)["traits"]
        return Provider(
            uuid=provider_id,
            traits=frozenset(map(str, traits)),
            inventory={str(name): _inventory(raw) for name, raw in inventories.items()},
        )

    def ensure_reservation_provider(self, hypervisor_hostname: str) -> None:
        name = _reservation_provider(hypervisor_hostname)
        if self._by_name(name) is not None:
            return
        parent = self._by_name(hypervisor_hostname)
        if parent is None:
            raise CloudRefused(service="Placement", reason=f"there is no provider for {hypervisor_hostname}")
        body = {
            "name": name,
            "uuid": str(uuid.uuid5(NAMESPACE, name)),
            "parent_provider_uuid": parent["uuid"],
        }
        self._api.post("/resource_providers", body, VERSION, absent=(409,))

    def remove_reservation_provider(self, hypervisor_hostname: str) -> bool:
        found = self._by_name(_reservation_provider(hypervisor_hostname))
        return found is not None and self._api.delete(f"/resource_providers/{found['uuid']}", VERSION)

    def reservation_providers(self) -> Sequence[str]:
        found = self._api.get("/resource_providers", VERSION)["resource_providers"]
        names = {str(raw["uuid"]): str(raw["name"]) for raw in found}
        parents = ((str(raw["name"]), names.get(str(raw["parent_provider_uuid"]), "")) for raw in found)
        return [parent for name, parent in parents if parent and name == _reservation_provider(parent)]

    # what is reserved

    def reserved_slots(self, hypervisor_hostname: str) -> Mapping[str, int]:
        found = self._by_name(_reservation_provider(hypervisor_hostname))
        if found is None:
            return {}
        inventories = self._inventories(str(found["uuid"]))["inventories"]
        return {str(name): int(raw["total"]) for name, raw in inventories.items()}

    def resource_classes(self) -> Sequence[str]:
        found = self._api.get("/resource_classes", VERSION)["resource_classes"]
        return [str(raw["name"]) for raw in found]

    def ensure_resource_class(self, name: str) -> None:
        path = f"/resource_classes/{name}"
        for _ in range(CONCURRENT_CLASSES):
            self._api.put(path, None, VERSION)
            # Of several classes that are made at once Placement makes one, and says of the others that they
            # exist.
            if self._api.find(path, VERSION) is not None:
                return
        raise CloudUnavailable(service="Placement", reason=f"resource class {name} is not made")

    def remove_resource_class(self, name: str) -> None:
        path = f"/resource_classes/{name}"
        if (
            not self._api.delete(path, VERSION, absent=(404, 409))
            and self._api.find(path, VERSION) is not None
        ):
            raise CloudUnavailable(service="Placement", reason=f"there are inventories of {name} yet")

    def set_reserved_slots(self, hypervisor_hostname: str, resource_class: str, total: int) -> None:
        name = _reservation_provider(hypervisor_hostname)
        found = self._by_name(name)
        if found is None and total:
            self.ensure_reservation_provider(hypervisor_hostname)
            found = self._by_name(name)
        if found is None:
            if total:
                raise CloudUnavailable(
                    service="Placement", reason=f"provider {name} vanished while it was being made"
                )
            return
        if total:
            self._put_inventory(str(found["uuid"]), resource_class, total)
        else:
            self._remove_inventory(str(found["uuid"]), resource_class)

    def _put_inventory(self, provider_id: str, resource_class: str, total: int) -> None:
        wanted = {**SLOTS, "total": total}
        for _ in range(CONCURRENT_UPDATES):
            known = self._inventories(provider_id)
            if known["inventories"].get(resource_class) == wanted:
                return
            body = {
                "resource_provider_generation": known["resource_provider_generation"],
                "inventories": {**known["inventories"], resource_class: wanted},
            }
            path = f"/resource_providers/{provider_id}/inventories"
            # 409: another client changed the provider since we read it.
            if self._api.put(path, body, VERSION, absent=(409,)) is not None:
                return
        raise CloudUnavailable(service="Placement", reason=f"the inventories of {provider_id} keep changing")

    def _remove_inventory(self, provider_id: str, resource_class: str) -> None:
        path = f"/resource_providers/{provider_id}/inventories/{resource_class}"
        if self._api.delete(path, VERSION, absent=(404, 409)):
            return
        # 409 is said while a server's allocation is still there: Nova removes it a moment after the server.
        if resource_class in self._inventories(provider_id)["inventories"]:
            raise CloudUnavailable(service="Placement", reason=f"{resource_class} is still in use")

    def _inventories(self, provider_id: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._api.get(f"/resource_providers/{provider_id}/inventories", VERSION)
        return found

    def _by_name(self, name: str) -> Mapping[str, Any] | None:
        found = self._api.get("/resource_providers", VERSION, name=name)["resource_providers"]
        return found[0] if found else None


def _reservation_provider(hypervisor_hostname: str) -> str:
    return f"blazar_{hypervisor_hostname}"


def _inventory(raw: Mapping[str, Any]) -> Inventory:
    usable = int(raw["total"]) - int(raw.get("reserved", 0))
    capacity = math.floor(usable * float(raw.get("allocation_ratio", 1.0)))
    return Inventory(
        capacity=max(capacity, 0), max_unit=min(int(raw.get("max_unit", capacity)), max(capacity, 0))
    )
