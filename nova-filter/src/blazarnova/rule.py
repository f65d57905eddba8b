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
MATCH_KEY = "blazar:match"
"""In the metadata of a host reservation's aggregate: which of its projects' servers its hosts take."""
OPEN_MATCH = "open"
"""Ordinary servers of the projects, too, without hint or flavor of the reservation."""

# Very old versions created zones with this prefix; their hosts are reserved all the same.
_OLD_ZONE_PREFIX = "blazar:"
_PREEMPTIBLE_WORDS = frozenset({"1", "t", "true", "on", "y", "yes", "shelve", "migrate"})
"""What it may be; Blazar shelves and migrates the servers of the last two where it deletes others."""

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
    PREEMPTIBLE_LENT = "preemptible servers may use this host while its reservation lends it"
    PREEMPTIBLE_ELSEWHERE = "preemptible servers may not use this host"
    OPEN_MATCH = "the reservation is open to ordinary servers of this project"
    HOST_IS_RESERVABLE = "the host is kept for reservations"
    ENDS_IN_TIME = "the server ends before the host is needed by a lease"
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
    lent_aggregate: str = "lent"
    """The hosts that reservations lend: its metadata have the names of these."""
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
    if settings.allow_preemptibles and _is_preemptible(request):
        return _decide_preemptible(aggregates, pools, settings)
    if pools and all(_is_open_to(pool, request.project_id, settings) for pool in pools):
        return Verdict(True, Reason.OPEN_MATCH, pools[0].name)
    if pools:
        return Verdict(False, Reason.HOST_IS_RESERVABLE, pools[0].name)
    return Verdict(True, Reason.HOST_IS_ORDINARY)


LEAST_PREFERENCE, GREATEST_PREFERENCE = -0.5, 1.0
"""The weights of a host that is lent, and of one that is open to the servers of the request's project."""


def preference(request: RequestSpec, aggregates: Sequence[Aggregate], settings: Settings) -> float:
    """Return the weight of the host, from LEAST_PREFERENCE to GREATEST_PREFERENCE; ordinary ones have 0.

    A host wins that is reserved for the request's project, which wants its ordinary servers there. One that
    is lent comes after others of its sort: a server there has to leave, or has others leave."""
    is_open = decide(request, aggregates, settings).reason is Reason.OPEN_MATCH
    return is_open - is_lent(aggregates, list(pools_of(aggregates, settings)), settings) / 2


def is_lent(aggregates: Sequence[Aggregate], pools: Sequence[Aggregate], settings: Settings) -> bool:
    """Return whether the host is in one reservation, which lends it. One that has gone into another
    reservation is not lent, even if it is among the lent ones still."""
    return len(pools) == 1 and any(
        each.name == settings.lent_aggregate and pools[0].name in each.metadata for each in aggregates
    )


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
    is_expected = request.server_id in _texts(aggregate.metadata.get(SERVER_KEY))
    return is_expected and _is_owned(aggregate, request.project_id, settings)


def _decide_hinted(request: RequestSpec, pools: Sequence[Aggregate], settings: Settings) -> Verdict:
    pool = next((pool for pool in pools if pool.name in request.reservation_ids), None)
    if pool is None:
        return Verdict(False, Reason.NOT_IN_RESERVATION)
    if _is_granted(pool, request.project_id):
        return Verdict(True, Reason.PROJECT_GRANTED, pool.name)
    if _is_owned(pool, request.project_id, settings):
        return Verdict(True, Reason.PROJECT_OWNS, pool.name)
    return Verdict(False, Reason.FOREIGN_RESERVATION, pool.name)


def _is_open_to(pool: Aggregate, project_id: str, settings: Settings) -> bool:
    """Return whether the pool takes ordinary servers of the project.

    The freepool takes none. So a host that is on its way between freepool and reservation, and in both, takes
    none either: its servers are being deleted.
    """
    is_open = pool.name != settings.freepool and OPEN_MATCH in _texts(pool.metadata.get(MATCH_KEY))
    return is_open and (_is_granted(pool, project_id) or _is_owned(pool, project_id, settings))


def _is_granted(pool: Aggregate, project_id: str) -> bool:
    return any(_texts(pool.metadata.get(project_id)))


def _is_owned(pool: Aggregate, project_id: str, settings: Settings) -> bool:
    return project_id in _texts(pool.metadata.get(settings.owner_key))


def _decide_preemptible(
    aggregates: Sequence[Aggregate], pools: Sequence[Aggregate], settings: Settings
) -> Verdict:
    for aggregate in aggregates:
        if RESERVATION_KEY in aggregate.metadata:
            return Verdict(False, Reason.PREEMPTIBLE_ELSEWHERE, aggregate.name)
    if len(pools) == 1 and pools[0].name == settings.preemptible_aggregate:
        return Verdict(True, Reason.PREEMPTIBLE_ALLOWED, pools[0].name)
    if is_lent(aggregates, pools, settings):
        return Verdict(True, Reason.PREEMPTIBLE_LENT, pools[0].name)
    return Verdict(False, Reason.PREEMPTIBLE_ELSEWHERE, pools[0].name if pools else None)


def _texts(value: MetadataValue | None) -> Set[str]:
    if value is None:
        return frozenset()
    return frozenset({value}) if isinstance(value, str) else value


def _is_preemptible(request: RequestSpec) -> bool:
    return str(request.extra_specs.get(PREEMPTIBLE_SPEC, "")).strip().lower() in _PREEMPTIBLE_WORDS
