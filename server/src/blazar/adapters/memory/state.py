"""The contents of the in-memory database at one moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from blazar.domain.feed import CancelledLease, Feed
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.maintenance import Maintenance
from blazar.domain.lease.offer import Offer
from blazar.domain.lease.share import LeaseShare
from blazar.domain.lease.start_task import StartTask
from blazar.domain.lease.utilization import Utilization
from blazar.domain.mail import MailChoice
from blazar.domain.quota import Use
from blazar.domain.resource import Allocation, Registration
from blazar.domain.series import Series, SeriesRequest
from blazar.domain.subscription import Subscription
from blazar.service.ports import KeptKey, MailItem, Notification, Presence, PropertyRecord, Report


@dataclass(frozen=True, slots=True)
class LeaseClaim:
    """A manager's claim on an event of a lease; a lease has at most one."""

    event_id: str
    token: str
    until: datetime


@dataclass(frozen=True, slots=True)
class HeldDuty:
    """Who has a duty and until when, and when it was done last."""

    token: str | None
    until: datetime | None
    done_at: datetime | None


@dataclass(frozen=True, slots=True)
class HeldReport:
    """A report, and when it is to be delivered."""

    report: Report
    due: datetime


@dataclass(frozen=True, slots=True)
class HeldLane:
    """A subscription, its secret, and which manager has a message of it under way."""

    subscription: Subscription
    secret: str = field(repr=False)
    token: str | None = None
    is_prompt: bool = False
    forgotten: int = 0
    """The last message of a stream that is no longer kept."""


@dataclass(frozen=True, slots=True)
class HeldFeed:
    """A feed, and the hash of its secret."""

    feed: Feed
    secret_hash: str


@dataclass(frozen=True, slots=True)
class HeldSeries:
    """A series, the key of the request that has made it (name and fingerprint), and what its leases were
    asked to be."""

    series: Series
    key: tuple[str, str] | None
    request: SeriesRequest | None = None


@dataclass(frozen=True, slots=True)
class HeldMessage:
    """A message that waits to be sent, or is kept."""

    subscription_id: str
    document: Mapping[str, Any]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class HeldItem:
    """An event that a user is to be told by mail, and when this was due first."""

    item: MailItem
    due: datetime


@dataclass(frozen=True, slots=True)
class MailLane:
    """When the mail of a user is due, and which manager has it under way."""

    due: datetime
    attempts: int = 0
    left_out: int = 0
    token: str | None = None
    last: int | None = None
    """The newest item of the mail that was tried last."""


@dataclass(frozen=True, slots=True)
class HeldTask:
    """What is started with a lease, and which manager has it under way until when."""

    task: StartTask
    token: str | None = None
    until: datetime | None = None


@dataclass
class State:
    """All rows, as values that are never changed but replaced; so a shallow copy is a snapshot."""

    leases: dict[str, Lease] = field(default_factory=dict)
    offers: dict[str, Offer] = field(default_factory=dict)
    maintenances: dict[str, Maintenance] = field(default_factory=dict)
    keys: dict[tuple[str, str], KeptKey] = field(default_factory=dict)  # of requests, by project and name
    key_of: dict[str, tuple[str, str]] = field(default_factory=dict)  # by lease: project and name
    shares: dict[str, tuple[LeaseShare, ...]] = field(default_factory=dict)  # by lease
    claims: dict[str, LeaseClaim] = field(default_factory=dict)  # by lease
    reconciled: dict[str, datetime] = field(default_factory=dict)  # by lease: compared with the cloud when
    registrations: dict[str, Registration] = field(default_factory=dict)
    touched: dict[str, datetime] = field(default_factory=dict)  # by resource
    changes: dict[str, str] = field(default_factory=dict)  # by resource: which leases have raised it lately
    properties: dict[tuple[str, str], PropertyRecord] = field(
        default_factory=dict
    )  # by resource type and name
    notifications: dict[int, Notification] = field(default_factory=dict)
    notices_held: dict[int, datetime] = field(default_factory=dict)  # by notification: until when
    notices_delivered: dict[int, bool] = field(default_factory=dict)  # that are yet to be compared
    duties: dict[str, HeldDuty] = field(default_factory=dict)  # by name
    last_notice: int = 0
    reports: dict[int, HeldReport] = field(default_factory=dict)
    last_report: int = 0
    calls: dict[str, datetime] = field(default_factory=dict)  # by id: begun when
    imports: dict[tuple[str, str], str] = field(default_factory=dict)  # by noun and id there: the id here
    presences: dict[str, Presence] = field(default_factory=dict)  # by id
    limits: dict[str, dict[str, int]] = field(default_factory=dict)  # of quotas, by project and name
    quota_turns: dict[str, int] = field(default_factory=dict)  # by project
    spent: dict[tuple[str, int], tuple[str, Use]] = field(
        default_factory=dict
    )  # with the project, by lease and number
    subscriptions: dict[str, HeldLane] = field(default_factory=dict)  # by id
    messages: dict[int, HeldMessage] = field(default_factory=dict)  # to subscribers, by id
    last_message: int = 0
    series: dict[str, HeldSeries] = field(default_factory=dict)  # by id
    feeds: dict[str, HeldFeed] = field(default_factory=dict)  # by id
    cancelled: dict[str, CancelledLease] = field(default_factory=dict)  # deleted leases by id
    utilizations: dict[str, Utilization] = field(default_factory=dict)  # by reservation
    mail_lanes: dict[str, MailLane] = field(default_factory=dict)  # by user
    mails: dict[int, HeldItem] = field(default_factory=dict)  # by id
    last_mail: int = 0
    mail_choices: dict[str, MailChoice] = field(default_factory=dict)  # by user
    start_tasks: dict[str, HeldTask] = field(default_factory=dict)  # by lease

    def leases_and_offers(self) -> Iterator[Lease]:
        """Return the leases, and those that offers would become."""
        yield from self.leases.values()
        yield from (offer.lease for offer in self.offers.values())

    def allocations(self, of_leases_over: bool) -> Iterator[Allocation]:
        """Return all allocations, those of TERMINATED leases only where they are asked for."""
        for lease in self.leases_and_offers():
            if of_leases_over or lease.status is not LeaseStatus.TERMINATED:
                yield from lease.allocations
        for maintenance in self.maintenances.values():
            yield from maintenance.allocations

    def knows(self, id_: str) -> bool:
        """Return whether a lease, an offer or a maintenance has the id."""
        return id_ in self.leases or id_ in self.offers or id_ in self.maintenances

    def copy(self) -> State:
        return State(
            leases=dict(self.leases),
            offers=dict(self.offers),
            maintenances=dict(self.maintenances),
            keys=dict(self.keys),
            key_of=dict(self.key_of),
            shares=dict(self.shares),
            claims=dict(self.claims),
            reconciled=dict(self.reconciled),
            registrations=dict(self.registrations),
            touched=dict(self.touched),
            changes=dict(self.changes),
            properties=dict(self.properties),
            notifications=dict(self.notifications),
            notices_held=dict(self.notices_held),
            notices_delivered=dict(self.notices_delivered),
            duties=dict(self.duties),
            last_notice=self.last_notice,
            reports=dict(self.reports),
            last_report=self.last_report,
            calls=dict(self.calls),
            imports=dict(self.imports),
            presences=dict(self.presences),
            limits=dict(self.limits),
            quota_turns=dict(self.quota_turns),
            spent=dict(self.spent),
            subscriptions=dict(self.subscriptions),
            messages=dict(self.messages),
            last_message=self.last_message,
            series=dict(self.series),
            feeds=dict(self.feeds),
            cancelled=dict(self.cancelled),
            utilizations=dict(self.utilizations),
            mail_lanes=dict(self.mail_lanes),
            mails=dict(self.mails),
            last_mail=self.last_mail,
            mail_choices=dict(self.mail_choices),
            start_tasks=dict(self.start_tasks),
        )
