"""Placement's tables, and the rules of inventories and allocations."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from blazar_sandbox.errors import bad_request, conflict, not_found
from blazar_sandbox.placement.model import (
    NO_TRAITS,
    STANDARD_CLASSES,
    Consumer,
    CustomName,
    Inventory,
    Provider,
    TraitQuery,
)
from blazar_sandbox.placement.standard_traits import STANDARD_TRAITS
from blazar_sandbox.table import Index, Table

Allocations = dict[str, dict[str, int]]


class _UsageCounter:
    """The usage by provider and resource class, updated with the table of consumers."""

    def __init__(self) -> None:
        self.used: dict[tuple[str, str], int] = {}

    def row_changed(self, _key: str, old: Consumer | None, new: Consumer | None) -> None:
        """Handle a changed consumer."""
        for row, sign in ((old, -1), (new, 1)):
            for provider, amounts in row.allocations.items() if row is not None else ():
                for resource_class, amount in amounts.items():
                    key = (provider, resource_class)
                    left = self.used.get(key, 0) + sign * amount
                    if left:
                        self.used[key] = left
                    else:
                        self.used.pop(key, None)


class Placement:
    """Placement's tables, and the rules for changing them."""

    def __init__(self) -> None:
        self.providers: Table[Provider] = Table("providers", Provider)
        self.consumers: Table[Consumer] = Table("consumers", Consumer)
        self.custom_classes: Table[CustomName] = Table("resource_classes", CustomName)
        self.custom_traits: Table[CustomName] = Table("traits", CustomName)
        self.by_name = Index(self.providers, lambda row: (row.name,))
        self.by_root = Index(self.providers, lambda row: (row.root_uuid,))
        self.by_parent = Index(self.providers, lambda row: (row.parent_uuid,))
        self.by_class = Index(self.providers, lambda row: row.inventories)
        # Thousands of hosts share few sets of traits, so queries compare sets instead of hosts.
        self.by_traits = Index(self.providers, lambda row: (row.traits,))
        self.by_aggregate = Index(self.providers, lambda row: row.aggregates)
        self.consumers_of = Index(self.consumers, lambda row: row.allocations)
        self._usage = _UsageCounter()
        self.consumers.observe(self._usage)

    @property
    def tables(self) -> Iterator[Table[object]]:
        """Every table, for persistence."""
        for table in vars(self).values():
            if isinstance(table, Table):
                yield table

    # --- resource classes and traits

    def knows_class(self, name: str) -> bool:
        """Return whether there is such a resource class."""
        return name in STANDARD_CLASSES or name in self.custom_classes

    def knows_trait(self, name: str) -> bool:
        """Return whether there is such a trait."""
        return name in STANDARD_TRAITS or name in self.custom_traits

    def delete_class(self, name: str) -> None:
        """Delete a custom resource class without inventory."""
        if name in STANDARD_CLASSES:
            raise bad_request(f"Cannot delete standard resource class {name}.")
        if name not in self.custom_classes:
            raise not_found(f"No such resource class {name}.")
        if self.by_class.count(name):
            raise conflict(f"Error in delete resource class: {name} is in use in inventory.")
        self.custom_classes.drop(name)

    def delete_trait(self, name: str) -> None:
        """Delete a custom trait that no provider has."""
        if name in STANDARD_TRAITS:
            raise bad_request(f"Cannot delete standard trait {name}.")
        if name not in self.custom_traits:
            raise not_found(f"No such trait: {name}.")
        if any(name in traits for traits in self.trait_sets()):
            raise conflict(f"The trait {name} is in use by a resource provider.")
        self.custom_traits.drop(name)

    def trait_sets(self) -> Iterable[frozenset[str]]:
        """Return every set of traits that a provider has."""
        return self.by_traits.values()

    # --- providers

    def provider(self, uuid: str) -> Provider:
        """Return a provider; raise 404 if there is none."""
        row = self.providers.get(uuid)
        if row is None:
            raise not_found(f"No resource provider with uuid {uuid} found")
        return row

    def create_provider(self, uuid: str, name: str, parent_uuid: str | None) -> Provider:
        """Create a provider, below a parent if one is given."""
        if self.by_name.count(name):
            raise conflict(
                f"Conflicting resource provider name: {name} already exists.", "placement.duplicate_name"
            )
        if uuid in self.providers:
            raise conflict(
                f"Conflicting resource provider uuid: {uuid} already exists.", "placement.duplicate_name"
            )
        root_uuid = uuid
        if parent_uuid is not None:
            parent = self.providers.get(parent_uuid)
            if parent is None:
                raise bad_request(
                    f"Unable to create resource provider {name}, {uuid}: parent provider UUID does not exist."
                )
            root_uuid = parent.root_uuid
        row = Provider(uuid, name, root_uuid, parent_uuid)
        self.providers.put(uuid, row)
        return row

    def change(self, row: Provider, generation: int | None, **changes: object) -> Provider:
        """Change a provider and raise its generation, which must be the one that the caller saw."""
        self.check_generation(row, generation)
        row = replace(row, generation=row.generation + 1, **changes)  # type: ignore[arg-type]  # names of fields
        self.providers.put(row.uuid, row)
        return row

    def check_generation(self, row: Provider, generation: int | None) -> None:
        """Refuse a caller who saw another generation of the provider; None skips the check."""
        if generation is not None and generation != row.generation:
            raise conflict(
                f"resource provider generation conflict: actual: {row.generation}, given: {generation}",
                "placement.concurrent_update",
            )

    def delete_provider(self, uuid: str) -> None:
        """Delete a provider without children and allocations."""
        self.provider(uuid)
        if self.by_parent.count(uuid):
            raise conflict(
                f"Unable to delete parent resource provider {uuid}: It has child resource providers.",
                "placement.resource_provider.cannot_delete_parent",
            )
        if self.consumers_of.count(uuid):
            raise conflict(
                f"Unable to delete resource provider {uuid}: Resource provider has allocations.",
                "placement.resource_provider.inuse",
            )
        self.providers.drop(uuid)

    # --- inventories

    def used(self, uuid: str, resource_class: str) -> int:
        """Return the used amount of a resource class of a provider."""
        return self._usage.used.get((uuid, resource_class), 0)

    def set_inventories(
        self, row: Provider, generation: int | None, inventories: Mapping[str, Inventory]
    ) -> Provider:
        """Replace all inventories of a provider."""
        self.check_generation(row, generation)
        for resource_class in inventories:
            if not self.knows_class(resource_class):
                raise bad_request(
                    f"Unknown resource class in inventory for resource provider {row.uuid}: "
                    f"No such resource class {resource_class}."
                )
        gone = [name for name in row.inventories if name not in inventories and self.used(row.uuid, name)]
        if gone:
            raise conflict(
                f"update conflict: Inventory for '{', '.join(gone)}' on resource provider "
                f"'{row.uuid}' in use.",
                "placement.inventory.inuse",
            )
        return self.change(row, generation, inventories=dict(inventories))

    def delete_inventory(self, row: Provider, resource_class: str) -> Provider:
        """Delete one inventory of a provider."""
        if resource_class not in row.inventories:
            raise not_found(f"No inventory of class {resource_class} found for delete")
        return self.set_inventories(
            row, None, {name: one for name, one in row.inventories.items() if name != resource_class}
        )

    # --- allocations

    def fit(
        self, root_uuid: str, amounts: Mapping[str, int], traits: TraitQuery = NO_TRAITS
    ) -> Allocations | None:
        """Find where in a tree of providers these amounts fit, or None.

        As in Placement's unnumbered group, different classes may come from different providers of the tree,
        and the providers that contribute must have the traits together."""
        found: Allocations = {}
        tree = self.by_root.rows(root_uuid)
        for resource_class, amount in amounts.items():
            source = next((row for row in tree if self._admits(row, resource_class, amount)), None)
            if source is None:
                return None
            found.setdefault(source.uuid, {})[resource_class] = amount
        if traits is not NO_TRAITS:
            sources = [row for row in tree if row.uuid in found] or tree
            if not traits.admits(frozenset().union(*(row.traits for row in sources))):
                return None
        return found

    def _admits(self, row: Provider, resource_class: str, amount: int) -> bool:
        inventory = row.inventories.get(resource_class)
        return inventory is not None and inventory.admits(amount, self.used(row.uuid, resource_class))

    def allocate(self, consumer: Consumer) -> None:
        """Replace the allocations of a consumer; raise 409 if an inventory would be exceeded."""
        self.check(consumer)
        if consumer.allocations:
            self.consumers.put(consumer.uuid, consumer)
        else:
            self.consumers.drop(consumer.uuid)

    def check(self, consumer: Consumer) -> None:
        """Refuse allocations that exceed an inventory; the consumer's current ones do not count."""
        before = self.consumers.get(consumer.uuid)
        for uuid, amounts in consumer.allocations.items():
            row = self.providers.get(uuid)
            if row is None:
                raise bad_request(f"Allocation for resource provider '{uuid}' that does not exist.")
            own = before.allocations.get(uuid, {}) if before is not None else {}
            for resource_class, amount in amounts.items():
                inventory = row.inventories.get(resource_class)
                used = self.used(uuid, resource_class) - own.get(resource_class, 0)
                if inventory is None or not inventory.admits(amount, used):
                    raise conflict(
                        "Unable to allocate inventory: Unable to create allocation for "
                        f"'{resource_class}' on resource provider '{uuid}'. The requested amount "
                        "would exceed the capacity."
                    )

    def candidates(
        self, amounts: Mapping[str, int], traits: TraitQuery, admits: Callable[[Provider], bool]
    ) -> Iterator[tuple[Provider, Allocations]]:
        """Yield the roots of the trees in which the amounts fit, with the allocations."""
        if not amounts:
            return
        rarest = min(amounts, key=self.by_class.count)
        roots = dict.fromkeys(row.root_uuid for row in self.by_class.rows(rarest))
        for root_uuid in roots:
            root = self.providers[root_uuid]
            if not admits(root):
                continue
            found = self.fit(root_uuid, amounts, traits)
            if found is not None:
                yield root, found
