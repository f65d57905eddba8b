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
            "uuid": _id_of(name),
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
        # Nearly always it has the id that we give it. Upstream Blazar's have other ones.
        if self._set_inventory(_id_of(name), resource_class, total):
            return
        if total:
            self.ensure_reservation_provider(hypervisor_hostname)
        found = self._by_name(name)
        is_set = found is not None and self._set_inventory(str(found["uuid"]), resource_class, total)
        if total and not is_set:
            raise CloudUnavailable(
                service="Placement", reason=f"provider {name} vanished while it was being made"
            )

    def _set_inventory(self, provider_id: str, resource_class: str, total: int) -> bool:
        """Return false where there is no such provider."""
        if total:
            return self._put_inventory(provider_id, resource_class, total)
        return self._remove_inventory(provider_id, resource_class)

    def _put_inventory(self, provider_id: str, resource_class: str, total: int) -> bool:
        wanted = {**SLOTS, "total": total}
        for _ in range(CONCURRENT_UPDATES):
            known = self._find_inventories(provider_id)
            if known is None:
                return False
            if known["inventories"].get(resource_class) == wanted:
                return True
            body = {
                "resource_provider_generation": known["resource_provider_generation"],
                "inventories": {**known["inventories"], resource_class: wanted},
            }
            path = _inventories_path(provider_id)
            # 409: another client changed the provider since we read it.
            if self._api.put(path, body, VERSION, absent=(409,)) is not None:
                return True
        raise CloudUnavailable(service="Placement", reason=f"the inventories of {provider_id} keep changing")

    def _remove_inventory(self, provider_id: str, resource_class: str) -> bool:
        path = f"/resource_providers/{provider_id}/inventories/{resource_class}"
        if self._api.delete(path, VERSION, absent=(404, 409)):
            return True
        # 409 is said while a server's allocation is still there: Nova removes it a moment after the server.
        known = self._find_inventories(provider_id)
        if known is not None and resource_class in known["inventories"]:
            raise CloudUnavailable(service="Placement", reason=f"{resource_class} is still in use")
        return known is not None

    def _inventories(self, provider_id: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._api.get(_inventories_path(provider_id), VERSION)
        return found

    def _find_inventories(self, provider_id: str) -> Mapping[str, Any] | None:
        found: Mapping[str, Any] | None = self._api.find(_inventories_path(provider_id), VERSION)
        return found

    def _by_name(self, name: str) -> Mapping[str, Any] | None:
        found = self._api.get("/resource_providers", VERSION, name=name)["resource_providers"]
        return found[0] if found else None


def _reservation_provider(hypervisor_hostname: str) -> str:
    return f"blazar_{hypervisor_hostname}"


def _id_of(name: str) -> str:
    """Return the id that we give the provider of this name."""
    return str(uuid.uuid5(NAMESPACE, name))


def _inventories_path(provider_id: str) -> str:
    return f"/resource_providers/{provider_id}/inventories"


def _inventory(raw: Mapping[str, Any]) -> Inventory:
    usable = int(raw["total"]) - int(raw.get("reserved", 0))
    capacity = math.floor(usable * float(raw.get("allocation_ratio", 1.0)))
    return Inventory(
        capacity=max(capacity, 0), max_unit=min(int(raw.get("max_unit", capacity)), max(capacity, 0))
    )
