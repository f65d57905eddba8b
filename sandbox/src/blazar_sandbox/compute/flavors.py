"""Flavors, their visibility and the resources that they request."""

import uuid
from collections.abc import Mapping
from dataclasses import replace

from blazar_sandbox.compute.model import Flavor
from blazar_sandbox.errors import conflict, not_found
from blazar_sandbox.identity.access import Access
from blazar_sandbox.placement.model import NO_TRAITS, TraitQuery
from blazar_sandbox.table import Index, Table


class Flavors:
    """The table of flavors, and Nova's rules for changing them."""

    def __init__(self) -> None:
        self.table: Table[Flavor] = Table("flavors", Flavor)
        self.by_name = Index(self.table, lambda row: (row.name,))

    def flavor(self, flavor_id: str, caller: Access) -> Flavor:
        """Return a flavor; raise 404 if the caller sees none."""
        row = self.table.get(flavor_id)
        if row is None or not visible(row, caller):
            raise not_found(f"Flavor {flavor_id} could not be found.", "FlavorNotFound")
        return row

    def create(self, row: Flavor) -> Flavor:
        """Create a flavor; an empty id or ``auto`` is replaced by a new id."""
        if row.id in ("", "auto"):
            row = replace(row, id=str(uuid.uuid4()))
        if row.id in self.table:
            raise conflict(f"Flavor with ID {row.id} already exists.")
        if self.by_name.count(row.name):
            raise conflict(f"Flavor with name {row.name} already exists.")
        self.put(row)
        return row

    def put(self, row: Flavor) -> None:
        """Store a flavor."""
        self.table.put(row.id, row)

    def set_specs(self, row: Flavor, specs: Mapping[str, str]) -> Flavor:
        """Add extra specs."""
        row = replace(row, extra_specs={**row.extra_specs, **specs})
        self.put(row)
        return row

    def delete_spec(self, row: Flavor, key: str) -> None:
        """Remove one extra spec."""
        if key not in row.extra_specs:
            raise not_found(f"Flavor {row.id} has no extra specs with key {key}.")
        self.put(
            replace(row, extra_specs={name: value for name, value in row.extra_specs.items() if name != key})
        )

    def add_access(self, row: Flavor, project_id: str) -> Flavor:
        """Grant a project access to a private flavor."""
        if project_id in row.access:
            raise conflict(
                f"Flavor access already exists for flavor {row.id} and project {project_id} combination."
            )
        row = replace(row, access=(*row.access, project_id))
        self.put(row)
        return row

    def remove_access(self, row: Flavor, project_id: str) -> Flavor:
        """Revoke a project's access to a private flavor."""
        if project_id not in row.access:
            raise not_found(f"Flavor access not found for {row.id} / {project_id} combination.")
        row = replace(row, access=tuple(one for one in row.access if one != project_id))
        self.put(row)
        return row


def visible(row: Flavor, caller: Access) -> bool:
    """Return whether a caller can see a flavor."""
    return row.is_public or caller.is_admin or caller.project_id in row.access


def amounts(flavor: Flavor) -> dict[str, int]:
    """Return the resources of a server of this flavor, by resource class."""
    dedicated = flavor.extra_specs.get("hw:cpu_policy") == "dedicated"
    wanted = {
        "PCPU" if dedicated else "VCPU": flavor.vcpus,
        "MEMORY_MB": flavor.ram,
        "DISK_GB": flavor.disk + flavor.ephemeral + -(-flavor.swap // 1024),
    }
    for key, value in flavor.extra_specs.items():
        if key.startswith("resources:") and value.isdigit():
            wanted[key.removeprefix("resources:")] = int(value)
    return {name: amount for name, amount in wanted.items() if amount > 0}


def trait_query(flavor: Flavor) -> TraitQuery:
    """Return the traits that a flavor requires and forbids."""
    required = {
        key[6:]
        for key, value in flavor.extra_specs.items()
        if key.startswith("trait:") and value == "required"
    }
    forbidden = {
        key[6:]
        for key, value in flavor.extra_specs.items()
        if key.startswith("trait:") and value == "forbidden"
    }
    if not (required or forbidden):
        return NO_TRAITS
    return TraitQuery(frozenset(required), frozenset(forbidden))
