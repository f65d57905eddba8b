"""The rule that decides whether a server may run on a host, as far as reservations are concerned.

It is a pure function of values, without Nova, configuration and clock. nova-scheduler calls it through
``blazarnova.scheduler.filters.blazar_filter``; other schedulers may call it directly.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum

RESERVATION_HINT = "reservation"
RESERVATION_SPEC = "aggregate_instance_extra_specs:reservation"
SERVER_KEY = "blazar:server"
"""In an aggregate's metadata: the id of the one server that its hosts are kept for."""
PREEMPTIBLE_SPEC = "blazar:preemptible"
RESERVATION_KEY = "reservation"
"""In an aggregate's metadata: the active reservation of instances, or of a server, that its hosts serve."""

# Very old versions created zones with this prefix; their hosts are reserved all the same.
_OLD_ZONE_PREFIX = "blazar:"
_TRUE_WORDS = frozenset({"1", "t", "true", "on", "y", "yes"})

MetadataValue = str | Set[str]


class Reason(StrEnum):
    """The reason for accepting or rejecting a host. The texts are stable and appear in logs."""

    SERVER_IS_EXPECTED = "the host is kept for this server"
    NOT_IN_RESERVATION = "the host is in no reservation that the request names"
    PROJECT_GRANTED = "the reservation grants this project access"
    PROJECT_OWNS = "the reservation belongs to this project"
    FOREIGN_RESERVATION = "the reservation belongs to another project"
    RESERVED_FLAVOR = "the flavor belongs to a reservation, aggregates and Placement restrict it"
    PREEMPTIBLE_ALLOWED = "preemptible servers may use this host while it is free"
    PREEMPTIBLE_ELSEWHERE = "preemptible servers may not use this host"
    HOST_IS_RESERVABLE = "the host is kept for reservations"
    HOST_IS_ORDINARY = "the host is not under reservation"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision, its reason, and the name of the aggregate that decided, if one did."""

    accepted: bool
    reason: Reason
    pool: str | None = None

    def __bool__(self) -> bool:
        return self.accepted


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A Nova host aggregate, as far as the rule reads it.

    Metadata values are strings; where Nova has merged several aggregates they may be sets of strings.
    """

    name: str
    availability_zone: str | None = None
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settings:
    """The operator's options, group ``[blazar:physical:host]`` of nova.conf."""

    freepool: str = "freepool"
    allow_preemptibles: bool = False
    preemptible_aggregate: str = "freepool"
    owner_key: str = "blazar:owner"
    zone_prefix: str = "blazar_"


@dataclass(frozen=True, slots=True)
class RequestSpec:
    """The request for a server, as far as the rule reads Nova's request specification."""

    project_id: str
    reservation_ids: frozenset[str] = frozenset()
    extra_specs: Mapping[str, str] = field(default_factory=dict)
    server_id: str = ""


def decide(request: RequestSpec, aggregates: Sequence[Aggregate], settings: Settings) -> Verdict:
    """Decide whether ``request`` may run on the host that is in ``aggregates``.

    The first matching row of the table in the package's README decides.
    """
    for aggregate in aggregates:
        if _expects(aggregate, request, settings):
            return Verdict(True, Reason.SERVER_IS_EXPECTED, aggregate.name)
    pools = list(pools_of(aggregates, settings))
    if request.reservation_ids:
        return _decide_hinted(request, pools, settings)
    if RESERVATION_SPEC in request.extra_specs:
        return Verdict(True, Reason.RESERVED_FLAVOR)
    if settings.allow_preemptibles and _is_true(request.extra_specs.get(PREEMPTIBLE_SPEC)):
        return _decide_preemptible(aggregates, pools, settings)
    if pools:
        return Verdict(False, Reason.HOST_IS_RESERVABLE, pools[0].name)
    return Verdict(True, Reason.HOST_IS_ORDINARY)


def pools_of(aggregates: Sequence[Aggregate], settings: Settings) -> Iterator[Aggregate]:
    """Yield the aggregates that put a host under reservation.

    First come those of reservations, which have a zone with a known prefix, then the freepool and the
    preemptible aggregate. An aggregate that is both comes twice, so that its hosts never count as free for
    preemptible servers.
    """
    zone_prefixes = (settings.zone_prefix, _OLD_ZONE_PREFIX)
    for aggregate in aggregates:
        if aggregate.availability_zone is not None and aggregate.availability_zone.startswith(zone_prefixes):
            yield aggregate
    for aggregate in aggregates:
        if aggregate.name in (settings.freepool, settings.preemptible_aggregate):
            yield aggregate


def hinted_ids(hint: str | Sequence[str] | None) -> frozenset[str]:
    """Parse the scheduler hint, which Nova passes as a string or as a list of strings."""
    if hint is None:
        return frozenset()
    if isinstance(hint, str):
        return frozenset({hint} if hint else ())
    return frozenset(item for item in hint if item)


def _expects(aggregate: Aggregate, request: RequestSpec, settings: Settings) -> bool:
    """Return whether the aggregate's hosts are kept for the server, which is its owner's."""
    return request.server_id in _texts(aggregate.metadata.get(SERVER_KEY)) and request.project_id in _texts(
        aggregate.metadata.get(settings.owner_key)
    )


def _decide_hinted(request: RequestSpec, pools: Sequence[Aggregate], settings: Settings) -> Verdict:
    pool = next((pool for pool in pools if pool.name in request.reservation_ids), None)
    if pool is None:
        return Verdict(False, Reason.NOT_IN_RESERVATION)
    if any(_texts(pool.metadata.get(request.project_id))):
        return Verdict(True, Reason.PROJECT_GRANTED, pool.name)
    if request.project_id in _texts(pool.metadata.get(settings.owner_key)):
        return Verdict(True, Reason.PROJECT_OWNS, pool.name)
    return Verdict(False, Reason.FOREIGN_RESERVATION, pool.name)


def _decide_preemptible(
    aggregates: Sequence[Aggregate], pools: Sequence[Aggregate], settings: Settings
) -> Verdict:
    for aggregate in aggregates:
        if RESERVATION_KEY in aggregate.metadata:
            return Verdict(False, Reason.PREEMPTIBLE_ELSEWHERE, aggregate.name)
    if len(pools) == 1 and pools[0].name == settings.preemptible_aggregate:
        return Verdict(True, Reason.PREEMPTIBLE_ALLOWED, pools[0].name)
    return Verdict(False, Reason.PREEMPTIBLE_ELSEWHERE, pools[0].name if pools else None)


def _texts(value: MetadataValue | None) -> Set[str]:
    if value is None:
        return frozenset()
    return frozenset({value}) if isinstance(value, str) else value


def _is_true(value: str | None) -> bool:
    return value is not None and str(value).strip().lower() in _TRUE_WORDS
