"""The documents of a lease for usage filters: what other services are asked and told about it.

A document is made in two steps. The first one needs nothing but the lease, and is what a report keeps: it is
small even for ten thousand hosts. The second one adds what is known of the resources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from blazar.domain.lease.event import EventType
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.resource import Registration, pool_in
from blazar.service.documents import lease_document, without_zone
from blazar.service.ports import Database
from blazar.service.ports.kind import Kinds

DATES = without_zone("auto")
"""With microseconds where there are some."""
TEXTS_OR_NULL = ("hypervisor_properties", "resource_properties")
"""There are services that take null for "no properties", and refuse an empty text."""


def document(lease: Lease, kinds: Kinds, status: str) -> dict[str, Any]:
    """Return the lease with the ids of its resources, in the status that it has in API 1.0 meanwhile."""
    before_end = lease.event(EventType.BEFORE_END)
    made = lease_document(lease, kinds, DATES)
    reservations = zip(lease.reservations, made["reservations"], strict=True)
    return {
        **made,
        "status": status,
        "before_end_date": DATES.moment(before_end.time) if before_end else None,
        "reservations": [_reservation(each, shown) for each, shown in reservations],
    }


def _reservation(reservation: Reservation, shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reservation with null for empty texts, and with its affinity as a text, or without one."""
    affinity = shown.get("affinity")
    region = {} if reservation.region is None else {"region": reservation.region}
    return {
        **region,
        **{name: value for name, value in shown.items() if name != "affinity"},
        **({} if affinity is None else {"affinity": str(affinity)}),
        **{name: shown[name] or None for name in TEXTS_OR_NULL if name in shown},
        "allocations": [
            {"id": each.resource_id, "amounts": None if each.amounts is None else dict(each.amounts)}
            for each in reservation.allocations
        ],
    }


def completed(documents: Mapping[str, Any], kinds: Kinds, database: Database) -> dict[str, Any]:
    """Return the documents with the fields of all resources, and with ``resource_requests``, the totals of
    each lease by resource class. A resource that is not registered any more has its id only."""
    resources = _resources(documents.values(), kinds, database)
    return {name: _completed(each, kinds, resources) for name, each in documents.items()}


def _resources(
    documents: Iterable[Mapping[str, Any]], kinds: Kinds, database: Database
) -> Mapping[str, Registration]:
    reservations = [each for document in documents for each in document["reservations"]]
    ids = sorted({allocation["id"] for each in reservations for allocation in each["allocations"]})
    pools = {
        pool_in(kinds[each["resource_type"]].pool, each.get("region"))
        for each in reservations
        if each["resource_type"] in kinds
    }
    if not ids:
        return {}
    with database.read() as uow:
        return {found.id: found for pool in sorted(pools) for found in uow.resources.list(pool, ids)}


def _completed(
    document: Mapping[str, Any], kinds: Kinds, resources: Mapping[str, Registration]
) -> dict[str, Any]:
    totals: Counter[str] = Counter()
    reservations = []
    for reservation in document["reservations"]:
        kind = kinds.get(reservation["resource_type"])
        allocations = []
        for allocation in reservation["allocations"]:
            known = resources.get(allocation["id"])
            if known is None or kind is None:
                totals.update(allocation["amounts"] or {})
                allocations.append({"id": allocation["id"]})
                continue
            amounts = allocation["amounts"]
            totals.update(kind.amounts(known) if amounts is None else amounts)
            allocations.append({**kind.describe(known), "id": known.id})
        reservations.append({**reservation, "allocations": allocations})
    requests = {name: amount for name, amount in totals.items() if amount > 0}
    return {**document, "reservations": reservations, "resource_requests": requests}
