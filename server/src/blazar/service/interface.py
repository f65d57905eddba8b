"""The use cases that blazar-api may call, as Protocols: implemented by the service, and by the RPC proxy.

Kinds contribute those of the resources that they own: see ``service.ports.kind.Extension``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Protocol, TypeVar

from blazar.domain.feed import Feed
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.maintenance import Lifetime, Maintenance
from blazar.domain.lease.offer import Offer
from blazar.domain.lease.share import LeaseShare, ShareRight
from blazar.domain.lease.start_task import StartTask
from blazar.domain.lease.utilization import Utilization
from blazar.domain.series import Series
from blazar.domain.subscription import Subscription
from blazar.service.availability import Availability
from blazar.service.capacity import CapacityQuestion, CapacityReport
from blazar.service.commands import (
    AvailabilityQuestion,
    ByDuration,
    ClaimByWish,
    ClaimOffer,
    CreateFeed,
    CreateLease,
    CreateMaintenance,
    CreateSeries,
    CreateSubscription,
    PriorityWish,
    RequestKey,
    ReservationsChange,
    SetLifetime,
    SplitLease,
    StartTaskWish,
    UpdateLease,
    UpdateMail,
    UpdateSeries,
    UpdateSubscription,
)
from blazar.service.context import Caller
from blazar.service.explanations import Explanation
from blazar.service.feeds import FeedContent
from blazar.service.health import ManagerHealth
from blazar.service.leases import DisplacingPreview
from blazar.service.mail_choices import OwnMail
from blazar.service.maintenances import LifetimeDecision, MaintenanceDecision
from blazar.service.pages import ResourcePage
from blazar.service.ports import LeasePage, LeaseQuery, ListPage
from blazar.service.promises import Promises
from blazar.service.quotas import LimitUse, Quota, QuotaList
from blazar.service.series import SeriesDetails, SeriesPreview
from blazar.service.services import ServiceState
from blazar.service.shares import SharedLeases
from blazar.service.subscriptions import NewSubscription, StreamPage
from blazar.service.timeline import Timeline, TimelineQuestion
from blazar.service.utilization import UsageReport, UsageWish
from blazar.service.waitlist import WaitingLease

F = TypeVar("F", bound=Callable[..., Any])
EXPLAINED_WITHIN = 10.0
"""Seconds to wait for the explanation of a refusal, which is told without it after that."""


@dataclass(frozen=True, slots=True)
class CallOptions:
    """The way in which another process may call a use case."""

    repeatable: bool = True
    """Asking again after a lost answer does no harm: it reads, or sets what is set already, or finds its own
    work. One that returns nothing and finds nothing the second time has been done the first time."""
    needs_token: bool = False
    """The use case acts with the user's own rights. The user's token is sent to no other one."""
    patience: float | None = None
    """Seconds to wait for the answer; None for as long as the operator says."""
    once: bool = False
    """It changes something, so a message with the call that is delivered twice is carried out once. The
    caller that asks again sends another message."""
    added: tuple[str, ...] = ()
    """Parameters of a repeatable use case that a manager of the version before does not know. It is called
    again without them, and the caller can do with its answer."""


_MARK = "call_options"


def call_options(
    repeatable: bool = True,
    needs_token: bool = False,
    patience: float | None = None,
    once: bool = False,
    added: tuple[str, ...] = (),
) -> Callable[[F], F]:
    """Mark a use case of an interface that is not called as most of them are."""

    def mark(use_case: F) -> F:
        setattr(use_case, _MARK, CallOptions(repeatable, needs_token, patience, once, added))
        return use_case

    return mark


def options_of(use_case: Callable[..., Any]) -> CallOptions:
    """Return how a use case of an interface may be called."""
    found: CallOptions = getattr(use_case, _MARK, CallOptions())
    return found


class LeasesInterface(Protocol):
    @call_options(needs_token=True, once=True)
    def create(
        self,
        command: CreateLease,
        caller: Caller,
        by_duration: ByDuration | None = None,
        key: RequestKey | None = None,
        wait_until: datetime | None = None,
        claim_by: ClaimByWish | None = None,
        priority: PriorityWish | None = None,
        start: StartTaskWish | None = None,
    ) -> Lease:
        """Return the new lease, or the one that the same request has created before: the one with the
        command's id, or with the key. Raises KeyReused where that was another request.

        With ``wait_until`` a lease that does not fit waits in line. Raises WaitlistFull. ``claim_by`` is how
        soon it has to be used. Raises ClaimByTooLate. ``priority`` is its class, and
        whether leases of lower classes give way to it where it does not fit. ``start`` is
        what is started with it. Raises TooManySubscriptions."""
        ...

    @call_options(needs_token=True)
    def preview_create(
        self,
        command: CreateLease,
        caller: Caller,
        by_duration: ByDuration | None = None,
        claim_by: ClaimByWish | None = None,
        priority: PriorityWish | None = None,
        start: StartTaskWish | None = None,
    ) -> Lease:
        """Return the lease that a create would make at this moment, or raise what it would. Nothing is
        written, and nothing is made in the cloud.

        Usage filters that keep books are not asked."""
        ...

    @call_options(needs_token=True)
    def preview_displacing(
        self,
        command: CreateLease,
        caller: Caller,
        by_duration: ByDuration | None = None,
        claim_by: ClaimByWish | None = None,
        priority: PriorityWish | None = None,
        start: StartTaskWish | None = None,
    ) -> DisplacingPreview:
        """Return what ``preview_create`` does, and which leases would give way to the new one, as they are
        and as they would be."""
        ...

    def get(self, lease_id: str) -> Lease:
        """Return the lease. Raises NotFound(object="{'lease_id': '<id>'}")."""
        ...

    @call_options(added=("page",))
    def list(self, project_id: str | None, page: ListPage | None = None) -> Sequence[Lease]:
        """Return the leases of a project, of all projects with None, oldest first.

        A page comes without the allocations. Without ``page``, as a blazar-api of the version before asks,
        all leases are returned at once."""
        ...

    def find(self, query: LeaseQuery) -> LeasePage:
        """Return a page of the leases that are asked for, without the allocations."""
        ...

    @call_options(needs_token=True, once=True)
    def update(
        self,
        lease_id: str,
        command: UpdateLease,
        caller: Caller,
        duration: timedelta | None = None,
        revisions: tuple[int, ...] | None = None,
        wait_until: datetime | None = None,
        claim_by: ClaimByWish | None = None,
        membership: ReservationsChange | None = None,
        priority: PriorityWish | None = None,
    ) -> Lease:
        """Return the changed lease. Raises LeaseChanged where its revision is none of these, unless it is as
        asked for already. ``wait_until`` is for a lease that waits in line. ``membership`` are the
        reservations that it gets and loses; what of these has been done already is not done again."""
        ...

    @call_options(needs_token=True)
    def preview_update(
        self,
        lease_id: str,
        command: UpdateLease,
        caller: Caller,
        duration: timedelta | None = None,
        revisions: tuple[int, ...] | None = None,
        wait_until: datetime | None = None,
        claim_by: ClaimByWish | None = None,
        membership: ReservationsChange | None = None,
        priority: PriorityWish | None = None,
    ) -> Lease:
        """Return the lease as an update would leave it, or raise what it would, as ``preview_create``
        does."""
        ...

    @call_options(needs_token=True, once=True)
    def split(
        self,
        lease_id: str,
        command: SplitLease,
        caller: Caller,
        revisions: tuple[int, ...] | None = None,
        key: RequestKey | None = None,
    ) -> Lease:
        """Return the new lease, which has what the command names of this one, or the one that the same
        request has made before. Raises LeaseChanged where the revision of the lease is none of these,
        InvalidStatus, InvalidInput, QuotaExceeded, UsageRefused, KeyReused."""
        ...

    @call_options(needs_token=True, once=True)
    def take_over(self, lease_id: str, caller: Caller) -> Lease:
        """Return the lease, which another project has offered to the caller's, as the caller's own. Raises
        NotFound, NotAuthorized, InvalidStatus, InvalidInput, QuotaExceeded, UsageRefused."""
        ...

    @call_options(once=True)
    def delete(self, lease_id: str, caller: Caller, revisions: tuple[int, ...] | None = None) -> None:
        """Remove the lease. Raises LeaseChanged where its revision is none of these, unless it is being
        deleted already."""
        ...

    @call_options(once=True)
    def begin_deletion(self, lease_id: str, caller: Caller) -> bool:
        """Remove the lease, or have the engine remove it when the cloud has given back what it had. Return
        whether it is removed. Raises NotFound, InvalidStatus."""
        ...


class AvailabilityInterface(Protocol):
    @call_options(needs_token=True)
    def ask(self, question: AvailabilityQuestion, caller: Caller) -> Availability:
        """Return when the reservations could be had. Nothing is written, and nothing is held."""
        ...


class ExplanationsInterface(Protocol):
    @call_options(needs_token=True, patience=EXPLAINED_WITHIN)
    def explain_create(
        self, command: CreateLease, caller: Caller, by_duration: ByDuration | None = None
    ) -> Explanation:
        """Return what could be had in place of a lease that was refused for a shortage, and what stands in
        its way."""
        ...

    @call_options(needs_token=True, patience=EXPLAINED_WITHIN)
    def explain_update(
        self,
        lease_id: str,
        command: UpdateLease,
        caller: Caller,
        duration: timedelta | None = None,
        membership: ReservationsChange | None = None,
    ) -> Explanation:
        """Return the same for a change of a lease."""
        ...

    @call_options(needs_token=True)
    def find_latest_end(
        self,
        lease_id: str,
        command: UpdateLease,
        caller: Caller,
        latest: datetime,
        membership: ReservationsChange | None = None,
    ) -> datetime:
        """Return the latest end, up to ``latest``, that the change could give the lease now: the one that it
        has where that is none. Raises InvalidInput where it ends later than that already, and what an update
        raises."""
        ...


class OffersInterface(Protocol):
    @call_options(needs_token=True, once=True)
    def create(
        self,
        command: CreateLease,
        hold: timedelta | None,
        caller: Caller,
        by_duration: ByDuration | None = None,
    ) -> Offer:
        """Hold what the lease needs for this time, or as long as most do. Raises what a create raises."""
        ...

    def get(self, offer_id: str) -> Offer:
        """Return the offer. Raises OfferNotFound, also where it has expired."""
        ...

    def list(self, project_id: str) -> Sequence[Offer]:
        """Return the offers of a project, oldest first: no more than it may have at once."""
        ...

    @call_options(needs_token=True, once=True)
    def claim(
        self, offer_id: str, command: ClaimOffer, caller: Caller, claim_by: ClaimByWish | None = None
    ) -> Lease:
        """Make the offer a lease of the caller. Raises OfferNotFound, OfferClaimed, ClaimByTooLate."""
        ...

    @call_options(once=True)
    def delete(self, offer_id: str, caller: Caller) -> None:
        """Give back what the offer holds. Raises OfferNotFound."""
        ...


class WaitlistInterface(Protocol):
    def list(self, project_id: str | None) -> Sequence[WaitingLease]:
        """Return the leases of a project that wait in line, of all projects with None, the next one first: no
        more than the line has places."""
        ...

    def get_position(self, lease_id: str) -> int | None:
        """Return the position of a lease in line, from 1 on; None where it does not wait."""
        ...


class MaintenancesInterface(Protocol):
    def preview(self, command: CreateMaintenance, caller: Caller) -> MaintenanceDecision:
        """Return what a create would do at this moment. Nothing is written."""
        ...

    @call_options(repeatable=False, once=True)
    def create(self, command: CreateMaintenance, caller: Caller) -> MaintenanceDecision:
        """Take the resources away, and move the leases that can be moved. Where a lease would break, nothing
        is done unless it is forced. Raises NotFound, Conflict, InvalidInput."""
        ...

    def get(self, maintenance_id: str) -> Maintenance:
        """Return the maintenance. Raises MaintenanceNotFound, also where it is over."""
        ...

    def list(self) -> Sequence[Maintenance]:
        """Return the maintenances that are planned or under way, by start: there are never many."""
        ...

    @call_options(once=True)
    def delete(self, maintenance_id: str, caller: Caller) -> None:
        """Give the resources back at once. Raises MaintenanceNotFound."""
        ...


class LifetimesInterface(Protocol):
    def preview(self, command: SetLifetime, caller: Caller) -> LifetimeDecision:
        """Return what a change would do at this moment. Nothing is written."""
        ...

    @call_options(repeatable=False, once=True)
    def set(self, command: SetLifetime, caller: Caller) -> LifetimeDecision:
        """Change from when on a resource is there, and until when, and move the leases that can be moved.
        Where a lease would break, nothing is done unless it is forced. Raises NotFound, Conflict,
        InvalidInput."""
        ...

    def list(self, resource_ids: Sequence[str]) -> Mapping[str, Lifetime]:
        """Return the lifetimes of those of these resources that are not there for ever."""
        ...


class BuffersInterface(Protocol):
    def list(self) -> Sequence[str]:
        """Return the ids of the resources that are kept for leases which lose others."""
        ...

    @call_options(once=True)
    def set(self, resource: str, is_buffer: bool, caller: Caller) -> None:
        """Keep a resource, by its id or name, or give it back. Leases that have something on it stay. Raises
        NotFound, Conflict."""
        ...


class SubscriptionsInterface(Protocol):
    @call_options(repeatable=False, once=True)
    def create(self, command: CreateSubscription, caller: Caller) -> NewSubscription:
        """Return the new subscription of the caller's project with its secret, which is never told again.
        Raises InvalidInput, TooManySubscriptions."""
        ...

    def get(self, subscription_id: str) -> Subscription:
        """Return the subscription. Raises SubscriptionNotFound."""
        ...

    def list(self, project_id: str | None, page: ResourcePage | None = None) -> Sequence[Subscription]:
        """Return the subscriptions of a project, of all projects with None, oldest first; a page of them in
        the order of their ids."""
        ...

    @call_options(patience=3.0)
    def find_newest(self, subscription_ids: Sequence[str]) -> Mapping[str, int]:
        """Return the id of the newest message that is kept of each of these subscriptions, 0 where there is
        none. Those that are gone are left out."""
        ...

    def read_messages(self, subscription_id: str, after: int | None, limit: int) -> StreamPage:
        """Return the subscription, and at most ``limit`` of the messages that are kept of it, those after the
        one with the id ``after``, or from the oldest on. Only streams keep what was told. Raises
        SubscriptionNotFound."""
        ...

    @call_options(repeatable=False, once=True)
    def update(self, subscription_id: str, command: UpdateSubscription, caller: Caller) -> NewSubscription:
        """Return the changed subscription, with its secret where that is made anew. Raises InvalidInput,
        SubscriptionNotFound."""
        ...

    @call_options(once=True)
    def delete(self, subscription_id: str, caller: Caller) -> None:
        """Remove the subscription, and what it was to be told. Raises SubscriptionNotFound."""
        ...


class SeriesInterface(Protocol):
    @call_options(needs_token=True, once=True)
    def create(
        self,
        command: CreateSeries,
        caller: Caller,
        key: RequestKey | None = None,
        claim_by: ClaimByWish | None = None,
        priority: PriorityWish | None = None,
    ) -> SeriesDetails:
        """Return the new series with its leases, or the one that the same request has created before: the one
        with the command's id, or with the key. Raises InvalidRecurrence, KeyReused, and what a create of one
        of the leases raises."""
        ...

    @call_options(needs_token=True)
    def preview(
        self,
        command: CreateSeries,
        caller: Caller,
        claim_by: ClaimByWish | None = None,
        priority: PriorityWish | None = None,
    ) -> SeriesPreview:
        """Return which leases a create could make now, and why not the others. Nothing is made. Raises
        InvalidRecurrence, and what a create raises but for a shortage, a quota or a usage filter."""
        ...

    def get(self, series_id: str) -> SeriesDetails:
        """Return the series with those of its leases that are there. Raises SeriesNotFound."""
        ...

    def list(self, project_id: str | None, page: ResourcePage, name: str | None = None) -> Sequence[Series]:
        """Return a page of the series of a project, or of all where that is None, in the order of their ids;
        with ``name`` only those that are called exactly so."""
        ...

    @call_options(once=True)
    def update(self, series_id: str, command: UpdateSeries, caller: Caller) -> SeriesDetails:
        """Cancel what the command says. Raises SeriesNotFound, InvalidInput, InvalidStatus."""
        ...

    @call_options(needs_token=True, once=True)
    def restore(self, series_id: str, days: tuple[date, ...], caller: Caller) -> SeriesDetails:
        """Make the leases of these days that are not there, all of them or none. Raises SeriesNotFound,
        InvalidInput, InvalidStatus, and what a create of one of the leases raises."""
        ...

    @call_options(once=True)
    def delete(self, series_id: str, caller: Caller, keeps_started: bool = False) -> None:
        """Remove the series, and delete its leases that are not over; with ``keeps_started`` those that have
        not started. Raises SeriesNotFound."""
        ...


class SharesInterface(Protocol):
    def get_right(self, lease_id: str, project_id: str) -> ShareRight | None:
        """Return what a project may do with a lease that is shared with it; None with any other one."""
        ...

    def list(self, lease_id: str) -> Sequence[LeaseShare]:
        """Return the shares of a lease, in the order of the projects' ids: no more than it may have."""
        ...

    def find_leases(self, query: LeaseQuery, project_id: str) -> SharedLeases:
        """Return a page of the leases that are asked for and are shared with a project."""
        ...

    @call_options(once=True)
    def put(self, lease_id: str, project_id: str, right: ShareRight, caller: Caller) -> LeaseShare:
        """Share the lease with a project, or change the right of one that it is shared with. Raises NotFound,
        InvalidInput, TooManyLeaseShares."""
        ...

    @call_options(once=True)
    def delete(self, lease_id: str, project_id: str, caller: Caller) -> None:
        """Withdraw the share. Raises LeaseShareNotFound."""
        ...


class FeedsInterface(Protocol):
    @call_options(repeatable=False, once=True)
    def create(self, command: CreateFeed, caller: Caller) -> Feed:
        """Return the new feed, which belongs to the caller. Raises FeedsDisabled, TooManyFeeds."""
        ...

    def get(self, feed_id: str) -> Feed:
        """Return the feed. Raises FeedNotFound."""
        ...

    def list(self, project_id: str | None, user_id: str | None, page: ResourcePage) -> Sequence[Feed]:
        """Return a page of the feeds that were made with a project and by a user, or by all where that is
        None, in the order of their ids."""
        ...

    @call_options(once=True)
    def delete(self, feed_id: str, caller: Caller) -> None:
        """Remove the feed: its address is none from then on. Raises FeedNotFound."""
        ...

    def read(self, secret_hash: str, known: tuple[str, ...] = ()) -> FeedContent:
        """Return what the feed tells whose secret has this hash; without entries where its mark is one of
        these. It needs no caller. Raises FeedNotFound."""
        ...


class MailInterface(Protocol):
    def get(self, user_id: str) -> OwnMail:
        """Return what a user is told by mail."""
        ...

    @call_options(once=True)
    def update(self, command: UpdateMail, caller: Caller) -> OwnMail:
        """Store what the caller wants to be told by mail."""
        ...


class HealthInterface(Protocol):
    @call_options(patience=3.0)
    def read(self) -> ManagerHealth:
        """Return the health of the manager that answers. Raises CloudUnavailable(service="database")."""
        ...


class ServicesInterface(Protocol):
    def list(self) -> Sequence[ServiceState]:
        """Return the programs that run, and those that were seen within a day."""
        ...


class UsageInterface(Protocol):
    def get(self, wish: UsageWish) -> UsageReport:
        """Return the resource-hours that were promised and used in a window, up to now. Raises
        InvalidInput."""
        ...

    def get_of_lease(self, lease_id: str) -> Sequence[Utilization]:
        """Return what the reservations of a lease use; nothing of those that were not looked at yet."""
        ...


class StartTasksInterface(Protocol):
    def get_of_lease(self, lease_id: str) -> StartTask | None:
        """Return what is started with a lease, without what may be secret; None where nothing is."""
        ...


class QuotasInterface(Protocol):
    def list(self) -> QuotaList:
        """Return the limits by default, and the projects that have limits of their own."""
        ...

    def get(self, project_id: str) -> Quota:
        """Return the limits of a project. Every text is a project: only Keystone knows which there are."""
        ...

    def get_usage(self, project_id: str) -> Sequence[LimitUse]:
        """Return how much the leases of the project use of what limits count."""
        ...

    @call_options(once=True)
    def set(self, project_id: str, limits: Mapping[str, int | None]) -> Quota:
        """Give the project limits of its own; None gives one up. Raises InvalidInput on an unknown name."""
        ...

    @call_options(once=True)
    def unset(self, project_id: str) -> None:
        """Give up all limits of the project's own."""
        ...


class CapacityInterface(Protocol):
    def get(self, question: CapacityQuestion, caller: Caller) -> CapacityReport:
        """Return the capacity over time. Raises InvalidInput, and what the kind raises whose units are asked
        for: FlavorNotFound."""
        ...


class TimelineInterface(Protocol):
    def get(self, question: TimelineQuestion, caller: Caller) -> Timeline:
        """Return rows of resources with what occupies them in a window of time. Raises InvalidInput,
        UnsupportedResourceType."""
        ...


class PromisesInterface(Protocol):
    def get(self, known: str) -> Promises:
        """Return what is promised on compute hosts; only its tag where that is ``known``."""
        ...


class Service(Protocol):
    """All use cases, by noun."""

    def called_by(self, caller: Caller) -> Service:
        """Return the use cases as ``caller`` calls them.

        The caller goes with each call, for logs and for the time that the answer is waited for. A use case
        that has to know the caller has a parameter ``caller`` besides."""
        ...

    @property
    def leases(self) -> LeasesInterface: ...
    @property
    def health(self) -> HealthInterface: ...
    @property
    def quotas(self) -> QuotasInterface: ...

    def noun(self, name: str) -> Any:
        """Return the use cases of one noun: of the core, or contributed by a kind."""
        ...


INTERFACES: Mapping[str, type] = {
    "leases": LeasesInterface,
    "health": HealthInterface,
    "services": ServicesInterface,
    "availability": AvailabilityInterface,
    "explanations": ExplanationsInterface,
    "offers": OffersInterface,
    "waitlist": WaitlistInterface,
    "maintenances": MaintenancesInterface,
    "lifetimes": LifetimesInterface,
    "buffers": BuffersInterface,
    "subscriptions": SubscriptionsInterface,
    "series": SeriesInterface,
    "shares": SharesInterface,
    "feeds": FeedsInterface,
    "mail": MailInterface,
    "quotas": QuotasInterface,
    "capacity": CapacityInterface,
    "timeline": TimelineInterface,
    "promises": PromisesInterface,
    "usage": UsageInterface,
    "start_tasks": StartTasksInterface,
}
"""The nouns of the core and their interfaces."""
