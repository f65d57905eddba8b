"""The port to a resource kind: its request, the demands that it makes of the calendar, three idempotent
verbs, and the use cases of the resources that it owns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from oslo_config import cfg

from blazar.domain.errors import InvalidInput, NotEnoughResources
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.lease.outcome import Done, Outcome
from blazar.domain.lease.utilization import Sample
from blazar.domain.planning.demand import Demand
from blazar.domain.planning.plan import Shortage
from blazar.domain.resource import Pool, Registration, pool_in
from blazar.service.commands import ByDuration, CreateLease
from blazar.service.context import Caller
from blazar.service.ports import Clock, Cloud, Database
from blazar.service.ports.drift import Difference, Look, MarkedObject, Repair
from blazar.service.ports.steps import RunSteps, one_after_another

P = TypeVar("P")
LONG_AGO = datetime.min.replace(tzinfo=UTC)


def always(reservation_id: str) -> bool:
    """Return true."""
    return True


def no_others() -> Sequence[Reservation]:
    """Return no reservations."""
    return ()


@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity in which the capacity of a kind's resources is told: amounts of a resource class, or the
    resources themselves."""

    name: str
    resource_class: str | None = None
    """None counts the resources: one is available where no reservation has a part of it."""


@dataclass(frozen=True, slots=True)
class OtherSize(Generic[P]):
    """The parameters of a reservation for units of another size, such as another flavor."""

    asked: P
    sent: Mapping[str, Any]
    """What is to be sent in place of some of the parameters."""
    parameter: str
    """The parameter that names the size."""
    old: str
    """The name of the size that was asked for."""
    new: str
    """The name of this one."""


@dataclass(frozen=True, slots=True)
class Work:
    """The subject of a verb: a reservation of a lease, with the registrations of the resources that it
    occupies."""

    lease: Lease
    reservation: Reservation
    resources: Mapping[str, Registration]
    run_steps: RunSteps = one_after_another
    """Runs steps of the verb that do not depend on each other, such as one for each host."""
    now: datetime = LONG_AGO
    """When the verb is called, for what it waits for no longer than some time."""
    others: Callable[[], Sequence[Reservation]] = no_others
    """Returns the project's other reservations of the same kind, in leases that have begun and are not over,
    as they are stored now: for what the cloud keeps for the whole project, such as a quota. They come without
    allocations."""
    users: tuple[str, ...] = ()
    """The other projects that may use what the lease reserves."""
    is_unfinished: Callable[[str], bool] = always
    """Returns whether a reservation with this id is in a lease that is not over: what is marked as another
    one's is not."""


@dataclass(frozen=True, slots=True)
class RequestContext:
    """A request under way: who asks, and the cloud with the service's own credentials, where each call ends
    when the caller stops waiting."""

    caller: Caller
    cloud: Cloud
    is_unfinished: Callable[[str], bool] = always
    """As that of ``Work``."""

    def own_cloud(self, project_id: str) -> Cloud:
        """Return the cloud with the caller's rights in the project. Raises InvalidInput where the token is
        for another one."""
        if self.caller.token is None or self.caller.project_id != project_id:
            raise InvalidInput(f"This needs a token that is scoped to the lease's project {project_id}.")
        return self.cloud.as_user(self.caller.token)


@dataclass(frozen=True, slots=True)
class FoundLease:
    """A lease that is to be made for what was found in the cloud, without a request to this service."""

    subject: str
    """The id of what was found."""
    command: CreateLease
    caller: Caller
    """Whom the cloud knows as its owner, without a token."""
    by_duration: ByDuration | None = None
    is_answered: bool = False
    """Whether it was answered before: its lease is looked at, and none is made."""


@dataclass(frozen=True, slots=True)
class FoundLeases:
    """What one look in the cloud has found, without what is answered."""

    leases: Iterable[FoundLease]
    until: datetime | None = None
    """Up to when it has looked, where there is more; None where it has seen all."""
    gone: Sequence[str] = ()
    """The ids of leases, of which not all were made, whose subjects are no longer there."""


class LeaseFinder(Protocol):
    """Finds what leases are to be made for, in what has changed in the cloud."""

    @property
    def name(self) -> str:
        """Return the name of the duty to look."""
        ...

    @property
    def interval(self) -> timedelta:
        """Return the time between two looks."""
        ...

    @property
    def begins(self) -> datetime | None:
        """Return since when the very first look looks; None where nothing counts that was there before
        it."""
        ...

    def find(self, cloud: Cloud, since: datetime, now: datetime) -> FoundLeases:
        """Return what has come up since then; what is malformed is refused here. Raises CloudUnavailable,
        CloudRefused."""
        ...

    def answer(self, found: FoundLease, outcome: Lease | str, cloud: Cloud) -> None:
        """Tell in the cloud what became of it: a lease, or the reason why there is none. It is not found
        again."""
        ...


@dataclass(frozen=True, slots=True)
class Lent:
    """What a look at a reservation that lends has come to."""

    units: int = 0
    """How many of its hosts preemptible servers of others may run on."""
    taken_back: int = 0
    """On how many they may not any more since this look."""
    leaving: int = 0
    """How many servers are still on those."""

    def __add__(self, other: Lent) -> Lent:
        return Lent(
            self.units + other.units, self.taken_back + other.taken_back, self.leaving + other.leaving
        )


class LendingLook(Protocol):
    """One look at what the reservations of a kind lend, in one region."""

    @property
    def lenders(self) -> Mapping[str, str]:
        """Return the ids of the reservations, each with that of its lease, as the cloud has them: those that
        are over, too."""
        ...

    def lend(self, work: Work) -> Lent:
        """Lend what an active reservation has not used for some time, and take back what it needs. Raises
        CloudUnavailable, CloudRefused."""
        ...

    def finish(self, over: Collection[str]) -> None:
        """Take back what is lent by none of those that were looked at, and forget the lenders that are
        over."""
        ...


class RequestHooks(ABC, Generic[P]):
    """The part of a kind that runs inside a request, before and around the commit. ``P`` is the type of the
    parameters of its reservations.

    The use cases call the hooks in this order: ``parse`` (or ``revise`` for an update), ``complete``,
    ``demand``, then, where ``preparing`` returns a mark, ``prepare``. Only the abstract ones must be
    written."""

    resource_type: str
    """The word for the kind on the wire, such as ``physical:host``."""
    pool: Pool
    """The calendar that the kind's resources are on, in the first region."""
    takes_other_users: ClassVar[bool] = False
    """Whether other projects can be let use its reservations: ``activate`` lets those of ``Work.users``, and
    no longer others."""
    is_regional: ClassVar[bool] = False
    """Whether its reservations may lie in another region of the cloud than the first one."""
    quantities: ClassVar[Collection[str]] = ()
    """The names of what reservations count as against quotas. Kinds that share a name share the limit."""

    zone_property: ClassVar[str | None] = None
    """The property that has the zone in which a resource lies."""
    requirement_parameters: ClassVar[Sequence[str]] = ()
    """The parameters that are requirements over the properties of resources."""
    parameters_schema: ClassVar[Mapping[str, Any]] = {}
    """What a new reservation takes, as the JSON schema of an object, for the description of the API and for
    forms; empty where the kind describes nothing. Those that are ``writeOnly`` are never shown."""
    later_parameters: ClassVar[Mapping[str, tuple[int, int]]] = {}
    """The version of the API that brought each later parameter of a new reservation. Those before it ignore
    it, as they ignore all that they do not know."""

    @abstractmethod
    def decode(self, parameters: Mapping[str, Any]) -> P:
        """Return stored parameters in their typed form."""

    @abstractmethod
    def encode(self, asked: P) -> Mapping[str, Any]:
        """Return the parameters as JSON values, as they are stored."""

    def pool_of(self, reservation: Reservation) -> Pool:
        """Return the calendar that the reservation is on."""
        return pool_in(self.pool, reservation.region)

    def asked(self, reservation: Reservation) -> P:
        """Return the reservation's parameters, which are decoded once."""
        return reservation.decoded(self.decode)

    @abstractmethod
    def parse(self, parameters: Mapping[str, Any]) -> P:
        """Validate a new reservation's parameters, as the user sent them.

        Raises MissingParameter, MalformedParameter, MalformedRequirements, InvalidRange."""

    @abstractmethod
    def revise(self, current: Reservation, changes: Mapping[str, Any]) -> P:
        """Return the complete parameters after ``changes``. Raises as ``parse`` does, and
        CantUpdateParameter."""

    @abstractmethod
    def render(self, reservation: Reservation) -> dict[str, Any]:
        """Return the fields that this kind adds to a reservation in the answers of API 1.0.

        In a list, the reservation comes without its allocations."""

    def render_later(self, reservation: Reservation) -> Mapping[str, Any]:
        """Return those fields that came with a later version, by the names of ``later_parameters``."""
        return {}

    def has_other_use(self, old: Reservation, new: Reservation) -> bool:
        """Return whether ``activate`` has something to do for a change of the parameters alone, while the
        resources of an active reservation stay the same."""
        return False

    @abstractmethod
    def demand(self, reservation: Reservation) -> Demand:
        """Return the request to the calendar, given the reservation's parameters and its present
        allocations."""

    def healing_demand(
        self, reservation: Reservation, lost: Collection[str], doubtful: Collection[str]
    ) -> Demand:
        """Return the request to the calendar for other resources in place of those that have failed; ``lost``
        are the ids of their allocations. ``doubtful`` are those on resources that have changed."""
        return self.demand(reservation).replacing(lost, doubtful)

    def refusal(self, reservation: Reservation, shortage: Shortage) -> NotEnoughResources:
        """Return the error for the user when the calendar has not enough for the reservation."""
        return NotEnoughResources(noun=shortage.plural, reason=shortage.reason)

    def describe(self, resource: Registration) -> Mapping[str, Any]:
        """Return the fields of a resource that usage filters are told, beside its id."""
        return {**resource.facts, **resource.capabilities}

    def label(self, resource: Registration) -> str:
        """Return the name by which people know a resource."""
        return resource.name

    def amounts(self, resource: Registration) -> Mapping[str, int]:
        """Return how much of each resource class a reservation has that takes the whole resource."""
        return {name: each.capacity for name, each in resource.inventory.items()}

    def counted(self, reservation: Reservation) -> Mapping[str, int]:
        """Return what the reservation counts as against quotas: amounts of ``quantities``, as it is planned.

        A kind that counts nothing has only the limits that are of leases as such."""
        return {}

    def measures(self, resource_classes: Collection[str]) -> Sequence[Measure]:
        """Return the quantities in which users are told the capacity; ``resource_classes`` are those of which
        resources of the pool have some.

        By default these are the classes by their names in small letters; without any, the resources."""
        if not resource_classes:
            return (Measure(next(iter(self.quantities), self.resource_type)),)
        return tuple(Measure(name.lower(), name) for name in sorted(resource_classes))

    def unit(self, size: Mapping[str, int | str], request: RequestContext) -> Demand | None:
        """Return the demand for one unit of a size, of which users ask how many fit; None where the kind has
        no units of sizes given by these names.

        Raises what ``parse`` and ``complete`` raise."""
        return None

    def with_units(self, asked: P, units: int) -> Mapping[str, Any]:
        """Return what a request for exactly so many units (hosts, servers, addresses) has in place of some of
        the parameters, so that less can be offered where not all can be had. Empty where there is no such
        request."""
        return {}

    def other_sizes(self, asked: P, request: RequestContext) -> Sequence[OtherSize[P]]:
        """Return a few other sizes of which the caller could have as many units, those first that differ
        least. Raises CloudUnavailable, CloudRefused."""
        return ()

    def complete(self, asked: P, request: RequestContext) -> P:
        """Return the parameters with what only the cloud knows, such as a flavor's size.

        Called after ``parse`` and ``revise``, where the parameters are new or changed, before anything is
        planned. Raises NotFound, InvalidInput, Conflict."""
        return asked

    def preparing(self, old: Reservation | None, new: Reservation) -> Mapping[str, Any] | None:
        """Return the mark that the reservation keeps in its ``cloud_state`` while ``prepare`` is at work, so
        that ``deactivate`` finds what a crash leaves behind. None means that nothing has to be prepared.
        ``old`` is the reservation before an update."""
        return None

    def prepare(self, lease: Lease, reservation: Reservation, request: RequestContext) -> Mapping[str, Any]:
        """Make what the answer must contain, or what only the caller's own rights can make. Return what is to
        be added to the reservation's ``cloud_state``."""
        return {}

    def withdraw(self, cloud_state: Mapping[str, Any], cloud: Cloud) -> None:
        """Remove what ``prepare`` made: the request failed, or has replaced it."""

    def acts_for_user(self, reservation: Reservation) -> bool:
        """Return whether a verb acts in the user's own name later on, so that the lease needs a trust."""
        return False

    def is_made_ready(self, reservation: Reservation) -> bool:
        """Return whether the verb ``make_ready`` is to be called once the lease is stored with the
        reservation: one that is prepared or needs a trust, of a new lease or added before its start."""
        return False


class EventVerbs(ABC):
    """The part of a kind that acts on the cloud at events of a lease.

    A verb compares the cloud with the reservation's allocations and does what is missing. It may be repeated
    at any time, and after a crash in the middle of it. It raises CloudUnavailable (retried later) and
    CloudRefused."""

    def make_ready(self, work: Work, cloud: Cloud) -> Outcome:
        """Do what has to be done in the cloud long before the start. A start that comes before this is done
        does not wait for it: ``activate`` does all that is missing.

        What is given up is told as the lease's reason, and the start is tried all the same."""
        return Done()

    @abstractmethod
    def activate(self, work: Work, cloud: Cloud) -> Outcome:
        """Make the reserved capacity usable by its owner and by no other project. It is called for a
        reservation that was added to an active lease as well: that one is PENDING."""

    @abstractmethod
    def before_end(self, work: Work, cloud: Cloud) -> Outcome:
        """Do what the reservation asks for when its end is near."""

    @abstractmethod
    def deactivate(self, work: Work, cloud: Cloud) -> Outcome:
        """Take the capacity back and remove every object made for the reservation.

        It is called while the lease goes on as well, for a reservation that was removed from it. That one has
        no allocations: what it had is its surplus."""

    def hosts_to_clear(self, work: Work) -> Sequence[str]:
        """Return the compute service hosts that preemptible servers have to leave when a reservation starts
        that has not yet, as it is planned now."""
        return ()

    def used(self, work: Work, cloud: Cloud) -> int | None:
        """Return how many of its units (hosts, servers, addresses) an active reservation uses now; None where
        the kind cannot tell."""
        return None

    def sample(self, work: Work, cloud: Cloud) -> Sample | None:
        """Return what an active reservation uses now, for what users are told; None where the kind cannot
        tell. By default these are the units that are used."""
        used = self.used(work, cloud)
        return None if used is None else Sample(used)

    def is_used(self, work: Work, cloud: Cloud) -> bool:
        """Return whether what an active reservation has is used. A kind that cannot tell says so of all:
        they are never released."""
        return self.used(work, cloud) != 0

    def lending(self, cloud: Cloud) -> LendingLook | None:
        """Begin a look at what the kind's reservations lend to preemptible servers of others; None where they
        lend nothing."""
        return None

    def close(self, work: Work, cloud: Cloud) -> bool:
        """Let no user begin to use what an active reservation has, until ``activate`` does. Return whether
        one could up to now.

        What is in use stays as it is."""
        return False


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What an extension is given for its use cases, its upkeep and its comparison with the cloud."""

    database: Database
    cloud: Cloud
    kinds: Kinds
    clock: Clock


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a monitor saw of the resources of a pool."""

    failed: int = 0
    """Resources that fail now, or are on probation."""
    unknown: int = 0
    """Resources that the cloud does not know any more."""
    is_held_back: bool = False
    """More fail at once than the operator thinks possible: what was seen is not believed, and nothing is
    healed."""


class Monitor(Protocol):
    """Looks from time to time at the resources of a pool, and stores which of them have failed."""

    @property
    def pool(self) -> Pool: ...

    @property
    def interval(self) -> timedelta:
        """Return the time between two looks."""
        ...

    def look(self, check: Callable[[], None]) -> Sighting:
        """Ask the cloud, and store what has changed. ``check`` is called before each commit, and raises where
        it is another manager's turn. Raises CloudUnavailable and CloudRefused: then nothing is known."""
        ...

    def refresh(self, check: Callable[[], None]) -> None:
        """Bring some of what is stored of the resources up to date, after each look. Raises as ``look``."""
        ...


class Extension(ABC):
    """The part that a kind adds to the service for the resources that it owns: use cases by noun.

    Kinds that share their resources name the same extension, which is there once. ``api.extension`` adds the
    part of the REST API."""

    name: ClassVar[str]
    interfaces: ClassVar[Mapping[str, type]]
    """The Protocol of each noun. Its methods are all that another process can call."""
    maintained: ClassVar[Pool | None] = None
    """The pool of its resources, where operators can take these away for maintenance."""

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        """Return the extension as the operator configured it."""
        return cls()

    @abstractmethod
    def use_cases(self, dependencies: Dependencies) -> Mapping[str, object]:
        """Return the use cases of each noun in ``interfaces``."""

    def upkeep(self, dependencies: Dependencies) -> None:  # noqa: B027 - most have nothing to do
        """Finish what requests have left half-done. Every manager calls it from time to time."""

    def differences(
        self, dependencies: Dependencies, look: Look
    ) -> Iterable[tuple[Difference, Repair | None]]:
        """Compare the registered resources with the cloud. Return what differs, and how it is repaired; None
        where people have to do it.

        Only what differs for longer than a moment counts: a request may be under way."""
        return ()

    def monitors(self, dependencies: Dependencies) -> Sequence[Monitor]:
        """Return what looks at the resources, for each region by itself; none where the operator wants
        none."""
        return ()


class Kind(RequestHooks[P], EventVerbs):
    """One resource kind: hooks of the request, verbs of events, and what else it contributes."""

    extension: ClassVar[type[Extension] | None] = None
    """The use cases and routes of the resources that the kind owns."""
    options: ClassVar[Mapping[str, Sequence[cfg.Opt]]] = {}
    """The operator's options by group. They are registered where the kind is enabled, before
    ``from_conf``."""

    @classmethod
    @abstractmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        """Return the kind as the operator configured it."""

    def lease_finders(self) -> Sequence[LeaseFinder]:
        """Return what finds leases of this kind in the cloud, as the operator wants it."""
        return ()

    def differences(self, work: Work, look: Look) -> Iterable[Difference]:
        """Compare an active reservation, all of whose allocations are bound, with the cloud. Return what
        differs. ``activate`` repairs what has no advice."""
        return ()

    def marked(self, look: Look) -> Iterable[MarkedObject]:
        """Return all objects in the cloud that carry the mark of a reservation, of whichever reservation, in
        the order in which those of one are removed.

        Those of a lease that is over, or never was, may be removed, so the mark has to be certain."""
        return ()


Kinds = Mapping[str, Kind[Any]]
"""The enabled kinds by resource_type."""


def pools_of(kinds: Kinds, regions: Sequence[str]) -> Sequence[Pool]:
    """Return the calendars of the kinds in all of the regions, each once."""
    found = {kind.pool for kind in kinds.values()}
    regional = {kind.pool for kind in kinds.values() if kind.is_regional}
    return sorted(found | {pool_in(pool, region) for pool in regional for region in regions[1:]})
