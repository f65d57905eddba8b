"""What becomes of upstream's reservations: the request in the kind's own words, what it has in the cloud, and
its allocations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from blazar.domain.address import canonical_address
from blazar.domain.errors import BlazarError
from blazar.domain.lease.lease import Reservation, ReservationStatus
from blazar.domain.requirement.language import parse as parse_requirement
from blazar.domain.resource import Allocation, Usage
from blazar.domain.time import Interval
from blazar.kinds.aggregates import AGGREGATE_ID
from blazar.kinds.flavor import FlavorKind
from blazar.kinds.floatingip import FloatingIPKind
from blazar.kinds.floatingip.schema import MOST_ADDRESSES
from blazar.kinds.host import HostKind
from blazar.kinds.host.schema import MOST_HOSTS
from blazar.kinds.instance import InstanceKind
from blazar.kinds.instance.schema import NUMBERS
from blazar.kinds.slots.affinity import GROUP_ID
from blazar.kinds.slots.needs import guaranteed, needs_of
from blazar.kinds.slots.source_flavor import SourceFlavor
from blazar.kinds.snapshots import BeforeEnd
from blazar.service.ports.kind import Kind
from blazar.upstream.resources import Refusal
from blazar.upstream.source import ReservationRows


@dataclass(frozen=True, slots=True)
class Asked:
    """What a reservation asked for, what it has in the cloud, and what is different from upstream."""

    parameters: Mapping[str, Any]
    cloud_state: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def reservation_of(
    rows: ReservationRows,
    status: ReservationStatus,
    interval: Interval,
    is_bound: bool,
    ids: Mapping[str, str],
) -> tuple[Reservation, tuple[str, ...]]:
    """Return the reservation in ``status``, and what is different. ``ids`` are those of resources here by
    those in upstream.

    Raises Refusal where it is of an unknown kind, or what was asked for is lost."""
    row = rows.reservation
    kind, asked = _asked(rows)
    try:
        parameters = kind.encode(kind.decode(asked.parameters))
    except ValueError as error:
        raise Refusal(f"what it asks for cannot be used ({type(error).__name__})") from error
    reservation = Reservation(
        id=row.id,
        lease_id=row.lease_id,
        resource_id=row.resource_id or row.id,
        resource_type=row.resource_type,
        parameters=parameters,
        status=status,
        missing_resources=bool(row.missing_resources),
        resources_changed=bool(row.resources_changed),
    )
    if status is ReservationStatus.DELETED:
        return reservation, asked.notes
    usage = kind.demand(reservation).usage
    reservation = replace(
        reservation,
        cloud_state={name: value for name, value in asked.cloud_state.items() if value is not None},
        allocations=tuple(_allocations(rows, interval, usage, is_bound, ids)),
    )
    lost = sum(resource not in ids for _, resource in rows.allocations)
    return reservation, (*asked.notes, *([f"without {lost} resources that were refused"] if lost else ()))


def _asked(rows: ReservationRows) -> tuple[Kind[Any], Asked]:
    known: Mapping[str, tuple[type[Kind[Any]], Any, Callable[[ReservationRows], Asked]]] = {
        "physical:host": (HostKind, rows.host, _of_host),
        "virtual:instance": (InstanceKind, rows.instance, _of_instance),
        "flavor:instance": (FlavorKind, rows.instance, _of_flavor),
        "virtual:floatingip": (FloatingIPKind, rows.floatingip, _of_floatingip),
    }
    resource_type = rows.reservation.resource_type
    if resource_type not in known:
        raise Refusal(f"its kind {resource_type!a} is not known")
    kind, row, read = known[resource_type]
    if row is None:
        raise Refusal("what it asks for is not in the database")
    return kind(), read(rows)


def _of_host(rows: ReservationRows) -> Asked:
    row = rows.host
    fewest, most = _counts(row.count_range or "", len(rows.allocations))
    notes = () if f"{fewest}-{most}" == row.count_range else (f"it asks for {fewest} to {most} hosts",)
    texts, dropped = _requirements(row, ("hypervisor_properties", "resource_properties"))
    wanted = row.before_end if row.before_end in list(BeforeEnd) else BeforeEnd.DEFAULT
    parameters = {"min": fewest, "max": most, "before_end": wanted, **texts}
    return Asked(parameters, {AGGREGATE_ID: row.aggregate_id}, (*notes, *dropped))


def _counts(text: str, allocated: int) -> tuple[int, int]:
    """Return how many hosts are asked for: as upstream has it, or as it was served where that means
    nothing."""
    fewest, _, most = text.partition("-")
    if not (fewest.isdecimal() and most.isdecimal()):
        fewest = most = str(allocated)
    least = min(max(int(fewest), 1), MOST_HOSTS)
    return least, min(max(int(most), least), MOST_HOSTS)


def _of_instance(rows: ReservationRows) -> Asked:
    row = rows.instance
    texts, dropped = _requirements(row, ("resource_properties",))
    numbers = {name: max(least, getattr(row, name)) for name, least in NUMBERS.items()}
    odd = [
        f"{name} is {n}, not {getattr(row, name)}" for name, n in numbers.items() if n != getattr(row, name)
    ]
    return Asked({**numbers, "affinity": row.affinity, **texts}, _slots_state(row), (*odd, *dropped))


def _slots_state(row: Any) -> Mapping[str, Any]:
    return {AGGREGATE_ID: row.aggregate_id, GROUP_ID: row.server_group_id}


def _of_flavor(rows: ReservationRows) -> Asked:
    row = rows.instance
    flavor, is_known = _source_flavor(row)
    kept = guaranteed(flavor)
    try:
        needs_of(kept)
    except BlazarError as error:
        raise Refusal(error.message) from error
    dropped = sorted(flavor.extra_specs.keys() - kept.extra_specs.keys())
    notes = [] if is_known else ["the flavor that it was made of is not known; its sizes are"]
    if dropped:
        notes.append(
            f"the extra specs {', '.join(dropped)} cannot be guaranteed; its flavor in Nova keeps them"
        )
    parameters = {
        "flavor_id": kept.id,
        "amount": max(1, row.amount),
        "affinity": row.affinity,
        "flavor": kept.model_dump(mode="json"),
    }
    return Asked(parameters, _slots_state(row), tuple(notes))


def _source_flavor(row: Any) -> tuple[SourceFlavor, bool]:
    """Return the flavor that a reservation was made of, which upstream keeps as Nova told it, and whether it
    was found."""
    told = _parsed(row.resource_properties)
    specs = told.get("extra_specs")
    flavor = SourceFlavor(
        id=str(told.get("id") or row.flavor_id or row.reservation_id),
        name=str(told.get("name") or row.reservation_id),
        vcpus=row.vcpus,
        ram=row.memory_mb,
        disk=row.disk_gb,
        ephemeral=_number(told.get("OS-FLV-EXT-DATA:ephemeral", told.get("ephemeral"))),
        swap=_number(told.get("swap")),
        is_public=told.get("os-flavor-access:is_public", told.get("is_public")) is not False,
        extra_specs={str(n): str(v) for n, v in specs.items()} if isinstance(specs, dict) else {},
    )
    return flavor, bool(told.get("id"))


def _parsed(text: str | None) -> Mapping[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _number(value: object) -> int:
    """Nova says an empty text where there is no swap."""
    return int(value) if isinstance(value, int | str) and str(value).isdecimal() else 0


def _of_floatingip(rows: ReservationRows) -> Asked:
    row = rows.floatingip
    if row.amount < 1 and not rows.allocations:
        raise Refusal("it asks for no address")
    required, odd = [], []
    for address in rows.required:
        try:
            required.append(canonical_address(address))
        except BlazarError:
            odd.append(address)
    notes = (f"without the required addresses {', '.join(map(ascii, odd))}, which are none",) if odd else ()
    parameters = {
        "network_id": row.network_id,
        "amount": min(max(row.amount, 1), MOST_ADDRESSES),
        "required_floatingips": required,
    }
    return Asked(parameters, {}, notes)


def _requirements(row: Any, names: tuple[str, ...]) -> tuple[dict[str, str], list[str]]:
    """Return the texts of requirements, without those that mean nothing here, and what was left out."""
    texts, notes = {}, []
    for name in names:
        texts[name] = getattr(row, name) or ""
        try:
            parse_requirement(texts[name])
        except BlazarError:
            notes.append(f"{name} cannot be understood and is left out: {texts[name][:200]!a}")
            texts[name] = ""
    return texts, notes


def _allocations(
    rows: ReservationRows, interval: Interval, usage: Usage, is_bound: bool, ids: Mapping[str, str]
) -> Iterator[Allocation]:
    """Yield one allocation for each resource: upstream has a row for each slot."""
    slots: dict[str, list[str]] = {}
    for allocation_id, resource in rows.allocations:
        if resource in ids:
            slots.setdefault(ids[resource], []).append(allocation_id)
    for resource_id, found in slots.items():
        yield Allocation(
            id=found[0],
            reservation_id=rows.reservation.id,
            lease_id=rows.reservation.lease_id,
            resource_id=resource_id,
            interval=interval,
            usage=usage,
            slots=1 if usage.whole else len(found),
            bound=is_bound,
        )
