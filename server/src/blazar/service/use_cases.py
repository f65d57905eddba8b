"""All use cases in this process: those of leases and of health, and those that kinds contribute."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any

from blazar.domain.resource import pool_in
from blazar.service.admission import Admission, PlanningSettings
from blazar.service.availability import AvailabilityUseCases
from blazar.service.calendars import Calendars
from blazar.service.capacity import CapacityUseCases
from blazar.service.capacity_watch import CapacityWatch
from blazar.service.context import Caller
from blazar.service.enforcement import Enforcement
from blazar.service.explanations import ExplanationUseCases
from blazar.service.feeds import Feeds, FeedSettings
from blazar.service.healing import HealingSettings
from blazar.service.health import HealthUseCases, ThreadHealth
from blazar.service.leases import (
    DisplacementSettings,
    LateBindingSettings,
    Leases,
    LeaseSettings,
    WaitSettings,
)
from blazar.service.mail_choices import MailChoices
from blazar.service.mails import NO_MAIL, MailPlan
from blazar.service.maintenances import Buffers, Lifetimes, Maintenances
from blazar.service.maintenances.assessor import Assessor
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.objections import Objections
from blazar.service.offer_expiry import OfferExpiry
from blazar.service.offers import Offers, OfferSettings
from blazar.service.offers.claim import OfferClaim
from blazar.service.offers.hold import OfferCreation
from blazar.service.offers.store import OfferStore
from blazar.service.ports import Nudge
from blazar.service.ports.enforcement import UsageFilter
from blazar.service.ports.kind import Dependencies, Extension, pools_of
from blazar.service.preparation import Preparation
from blazar.service.private_properties import PrivateProperties
from blazar.service.promises import PromiseSettings, PromiseUseCases
from blazar.service.quotas import Quotas, QuotaSettings, QuotaUseCases
from blazar.service.receivers import SubscriptionSettings
from blazar.service.series import SeriesSettings, SeriesUseCases
from blazar.service.series.cancel import SeriesCancellation
from blazar.service.series.create import SeriesCreation
from blazar.service.series.restore import SeriesRestoration
from blazar.service.series.store import SeriesStore
from blazar.service.services import Services
from blazar.service.shares import Shares
from blazar.service.start_requests import StartRequests
from blazar.service.start_tasks import StartTaskUseCases
from blazar.service.subscriptions import Subscriptions
from blazar.service.timeline import TimelineUseCases
from blazar.service.unified_limits import KeystoneLimits
from blazar.service.update_suggestions import UpdateSuggestions
from blazar.service.usage_reports import UsageReports
from blazar.service.utilization import UsageUseCases
from blazar.service.waitlist import Waitlist
from blazar.service.works import is_unfinished


class UseCases:
    """The Service interface, in this process.

    ``nudge`` wakes the event engine after a commit that gives it work; ``threads`` tells how those of this
    process are. ``filters`` are asked about leases, but for those of the projects ``exempt``."""

    def __init__(
        self,
        dependencies: Dependencies,
        extensions: Iterable[Extension],
        calendars: Calendars,
        planning: PlanningSettings,
        settings: LeaseSettings,
        nudge: Nudge,
        threads: Callable[[], Sequence[ThreadHealth]] = tuple,
        metrics: Metrics = NO_METRICS,
        filters: Sequence[UsageFilter] = (),
        exempt: Collection[str] = (),
        quota: QuotaSettings | None = None,
        offers: OfferSettings | None = None,
        waiting: WaitSettings | None = None,
        healing: HealingSettings | None = None,
        subscriptions: SubscriptionSettings | None = None,
        has_token: Callable[[], bool | None] = lambda: None,
        displacement: DisplacementSettings | None = None,
        feeds: FeedSettings | None = None,
        late_binding: LateBindingSettings | None = None,
        mail: MailPlan = NO_MAIL,
        series: SeriesSettings | None = None,
        promises: PromiseSettings | None = None,
    ) -> None:
        database, cloud = dependencies.database, dependencies.cloud
        kinds, clock = dependencies.kinds, dependencies.clock
        admission = Admission(calendars, kinds, planning, clock, metrics, cloud.regions)
        private = PrivateProperties(database, kinds)
        preparation = Preparation(cloud, kinds, private, clock, partial(is_unfinished, database))
        quota = quota or QuotaSettings()
        in_keystone = KeystoneLimits(cloud, clock) if quota.are_in_keystone else None
        quotas = Quotas(kinds, quota, metrics, in_keystone)
        enforcement = Enforcement(filters, dependencies, exempt, metrics)
        reports = UsageReports(filters, kinds, exempt)
        leases = self.leases = Leases(
            database,
            admission,
            preparation,
            kinds,
            clock,
            nudge,
            settings,
            enforcement,
            reports,
            quotas,
            waiting or WaitSettings(),
            displacement or DisplacementSettings(),
            late_binding or LateBindingSettings(),
            StartRequests(cloud, kinds, clock, subscriptions or SubscriptionSettings()),
            metrics,
        )
        offers = offers or OfferSettings()
        held = OfferStore(database, kinds, clock, quotas, reports, offers.most)
        self.quotas = QuotaUseCases(database, quotas, clock)
        self.health = HealthUseCases(database, clock, threads, calendars.plans_waiting, has_token)
        objections = Objections(database, kinds, clock, enforcement, quotas)
        self.waitlist = Waitlist(
            database,
            leases.store,
            admission,
            calendars,
            objections,
            enforcement,
            leases.late_binding,
            pools_of(kinds, cloud.regions),
            clock,
            nudge,
            lambda: leases.settings,
        )
        availability = AvailabilityUseCases(admission, preparation, kinds, clock, objections)
        changes = UpdateSuggestions(leases.changes, database, kinds, clock, enforcement, quotas, private)
        extensions = tuple(extensions)
        contributed = {
            noun: made for extension in extensions for noun, made in extension.use_cases(dependencies).items()
        }
        assessor = Assessor(
            calendars,
            kinds,
            clock,
            [
                pool_in(each.maintained, region)
                for each in extensions
                if each.maintained is not None
                for region in (None, *cloud.regions[1:])
            ],
            healing or HealingSettings(cleaning=planning.cleaning, order=planning.order),
        )
        self.maintenances = Maintenances(database, admission, clock, assessor, nudge, metrics)
        capacity = CapacityUseCases(calendars, kinds, private, cloud, clock, planning.cleaning)
        self.capacity_watch = CapacityWatch(database, capacity.least, clock)
        self.feeds = Feeds(database, kinds, clock, feeds or FeedSettings())
        self.usage = UsageUseCases(database, clock)
        series = series or SeriesSettings()
        kept = SeriesStore(database, kinds, clock, quotas, reports)
        creation = SeriesCreation(
            kept, leases.creation, admission, preparation, enforcement, clock, nudge, series
        )
        self.series = SeriesUseCases(
            kept,
            creation,
            SeriesCancellation(kept, leases.store, leases.deletion, admission),
            SeriesRestoration(kept, leases.store, creation, admission, enforcement, clock, nudge),
            lambda: leases.settings,
            database,
            clock,
            series,
        )
        self._nouns = {
            "leases": self.leases,
            "health": self.health,
            "quotas": self.quotas,
            "capacity": capacity,
            "promises": PromiseUseCases(
                calendars,
                [each.maintained for each in extensions if each.maintained is not None],
                clock,
                promises or PromiseSettings(),
            ),
            "timeline": TimelineUseCases(calendars, kinds, cloud.regions, database, clock),
            "maintenances": self.maintenances,
            "buffers": Buffers(database, admission, clock, assessor),
            "lifetimes": Lifetimes(database, admission, clock, assessor, nudge, metrics),
            "subscriptions": Subscriptions(
                database, kinds, clock, subscriptions or SubscriptionSettings(), capacity.get
            ),
            "series": self.series,
            "shares": Shares(database, kinds, clock, nudge),
            "feeds": self.feeds,
            "mail": MailChoices(database, clock, mail),
            "services": Services(database, clock),
            "usage": self.usage,
            "start_tasks": StartTaskUseCases(database),
            "availability": availability,
            "waitlist": self.waitlist,
            "explanations": ExplanationUseCases(availability, changes, database, clock),
            "offers": Offers(
                held,
                OfferCreation(
                    held,
                    leases.creation,
                    admission,
                    preparation,
                    enforcement,
                    clock,
                    offers,
                    leases.late_binding,
                ),
                OfferClaim(held, leases.store, admission, preparation, leases.confirmation, clock, nudge),
                OfferExpiry(database, clock, reports),
                lambda: leases.settings,
            ),
            **contributed,
        }

    def called_by(self, caller: Caller) -> UseCases:
        return self

    def noun(self, name: str) -> Any:
        return self._nouns[name]
