"""Registered resources in memory: their generations and their allocations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from blazar.adapters.changes import changed_since, leases_of, noted
from blazar.adapters.memory.state import State
from blazar.adapters.stored import added_registration, allocation_key, saved_registration
from blazar.domain.errors import Stale
from blazar.domain.resource import Allocation, Pool, Registration, database_order
from blazar.service.ids import new_id
from blazar.service.ports import PropertyRecord, ResourceChange


class MemoryResources:
    """The ResourceRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def get(self, resource_id: str) -> Registration | None:
        return self._state.registrations.get(resource_id)

    def find(self, pool: Pool, name: str) -> Registration | None:
        return next((r for r in self._in(pool, None) if r.name == name), None)

    def find_by_cloud_id(self, pool: Pool, cloud_id: str) -> Registration | None:
        return next((r for r in self._in(pool, None) if r.cloud_id == cloud_id), None)

    def failed(self, pool: Pool) -> Sequence[Registration]:
        return [registration for registration in self.list(pool) if registration.failure]

    def unreservable(self, pool: Pool) -> Sequence[Registration]:
        return [registration for registration in self.list(pool) if not registration.reservable]

    def list(self, pool: Pool, ids: Sequence[str] | None = None) -> Sequence[Registration]:
        return sorted(self._in(pool, ids), key=lambda registration: database_order(registration.id))

    def ids(self, pool: Pool, limit: int, after: str | None = None) -> Sequence[str]:
        in_order = sorted((each.id for each in self._in(pool, None)), key=database_order)
        return [i for i in in_order if after is None or database_order(i) > database_order(after)][:limit]

    def page(self, pool: Pool, limit: int, after: str | None = None) -> Sequence[Registration]:
        found = self.list(pool, self.ids(pool, limit, after))
        return [replace(registration, traits=frozenset(), inventory={}) for registration in found]

    def add(self, registration: Registration, now: datetime) -> Registration:
        if registration.id in self._state.registrations or self.find(registration.pool, registration.name):
            raise Stale()
        self._require_own_cloud_id(registration)
        return self._put(added_registration(registration, now), now)

    def save(self, registration: Registration, now: datetime) -> Registration:
        current = self._at(registration.id, registration.generation)
        self._require_own_cloud_id(registration)
        stays = replace(registration, pool=current.pool, name=current.name, created_at=current.created_at)
        return self._put(saved_registration(stays, now), now)

    def remove(self, resource_id: str, generation: int) -> None:
        self._at(resource_id, generation)
        del self._state.registrations[resource_id], self._state.touched[resource_id]
        self._state.changes.pop(resource_id, None)

    def bump(self, generations: Mapping[str, int], now: datetime, lease_ids: Iterable[str] = ()) -> None:
        self._raise([self._at(id_, generation) for id_, generation in generations.items()], now, lease_ids)

    def touch(self, resource_ids: Sequence[str], now: datetime, lease_ids: Iterable[str] = ()) -> None:
        self._raise(list(filter(None, map(self.get, set(resource_ids)))), now, lease_ids)

    def generations(self, pool: Pool, touched_since: datetime | None = None) -> Mapping[str, int]:
        touched = self._state.touched
        return {
            registration.id: registration.generation
            for registration in self._in(pool, None)
            if touched_since is None or touched[registration.id] >= touched_since
        }

    def occupancy(
        self, pool: Pool, ids: Sequence[str] | None = None
    ) -> Iterable[tuple[Registration, Sequence[Allocation]]]:
        by_resource: dict[str, list[Allocation]] = defaultdict(list)
        for allocation in self._state.allocations(of_leases_over=False):
            by_resource[allocation.resource_id].append(allocation)
        for registration in self._in(pool, ids):
            yield registration, by_resource[registration.id]

    def every(self, pool: Pool) -> Iterable[Registration]:
        return self._in(pool, None)

    def reserved(self, pool: Pool) -> Iterable[Allocation]:
        return [allocation for _, allocations in self.occupancy(pool) for allocation in allocations]

    def changes(self, pool: Pool, known: Mapping[str, int | None]) -> Iterable[ResourceChange]:
        for registration, allocations in self.occupancy(pool, list(known)):
            id_, changes = registration.id, self._state.changes.get(registration.id)
            leases = changed_since(changes, known[id_], registration.generation)
            theirs = [each for each in allocations if leases is None or each.lease_id in leases]
            yield ResourceChange(registration, leases, theirs)

    def allocations(
        self,
        pool: Pool,
        *,
        resource_ids: Sequence[str] | None = None,
        lease_id: str | None = None,
        reservation_id: str | None = None,
        ending_after: datetime | None = None,
    ) -> Sequence[Allocation]:
        in_pool = {registration.id for registration in self._in(pool, resource_ids)}
        found = (
            allocation
            for allocation in self._state.allocations(of_leases_over=True)
            if allocation.resource_id in in_pool
            and lease_id in (None, allocation.lease_id)
            and reservation_id in (None, allocation.reservation_id)
            and (ending_after is None or allocation.interval.end >= ending_after)
        )
        return sorted(found, key=allocation_key)

    def private_properties(self, resource_type: str) -> Mapping[str, PropertyRecord]:
        found = sorted(self._state.properties.items())
        return {name: record for (of, name), record in found if of == resource_type}

    def add_properties(self, resource_type: str, names: Iterable[str], now: datetime) -> None:
        for name in names:
            record = PropertyRecord(new_id(), resource_type, name, created_at=now)
            self._state.properties.setdefault((resource_type, name), record)

    def set_property_private(
        self, resource_type: str, name: str, private: bool, now: datetime
    ) -> PropertyRecord | None:
        record = self._state.properties.get((resource_type, name))
        if record is None:
            return None
        record = replace(record, private=private, updated_at=now)
        self._state.properties[resource_type, name] = record
        return record

    def _in(self, pool: Pool, ids: Sequence[str] | None) -> Iterator[Registration]:
        known = self._state.registrations
        found = known.values() if ids is None else (known[id_] for id_ in dict.fromkeys(ids) if id_ in known)
        return (registration for registration in found if registration.pool == pool)

    def _at(self, resource_id: str, generation: int) -> Registration:
        registration = self._state.registrations.get(resource_id)
        if registration is None or registration.generation != generation:
            raise Stale()
        return registration

    def _require_own_cloud_id(self, registration: Registration) -> None:
        if registration.cloud_id is None:
            return
        known = self.find_by_cloud_id(registration.pool, registration.cloud_id)
        if known is not None and known.id != registration.id:
            raise Stale()

    def _raise(self, registrations: Iterable[Registration], now: datetime, lease_ids: Iterable[str]) -> None:
        changes, leases = self._state.changes, leases_of(lease_ids)
        for each in registrations:
            changes[each.id] = noted(changes.get(each.id), each.generation, leases)
            self._put(replace(each, generation=each.generation + 1), now)

    def _put(self, registration: Registration, now: datetime) -> Registration:
        self._state.registrations[registration.id] = registration
        self._state.touched[registration.id] = now
        return registration
