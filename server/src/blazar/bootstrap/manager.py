"""blazar-manager: the use cases, and the engine that carries out events."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from importlib import metadata

from oslo_config import cfg

from blazar.adapters.announcements import chosen_announcements
from blazar.adapters.clock import SystemClock
from blazar.adapters.metrics import PrometheusMetrics
from blazar.adapters.notifications import chosen_notifier
from blazar.bootstrap.cloud import build_cloud
from blazar.bootstrap.mail import build_mailing, mail_plan
from blazar.bootstrap.quotas import quota_settings
from blazar.bootstrap.settings import (
    displacement_settings,
    engine_settings,
    feed_settings,
    healing_settings,
    late_binding_settings,
    lease_settings,
    offer_settings,
    planning_settings,
    promise_settings,
    series_settings,
    start_task_settings,
    subscription_settings,
    wait_settings,
)
from blazar.bootstrap.webhooks import build_webhooks
from blazar.engine.adopting import Adopting
from blazar.engine.authenticating import Authenticating
from blazar.engine.background import Background
from blazar.engine.capacity_watching import WatchingCapacity
from blazar.engine.drift import DriftCheck
from blazar.engine.expiring_offers import Expiring
from blazar.engine.helpers import Helpers
from blazar.engine.lending import LendingDuty
from blazar.engine.listening import Listening
from blazar.engine.loop import EventLoop
from blazar.engine.monitoring import Monitoring
from blazar.engine.noticing import Noticing
from blazar.engine.orchestrating import Orchestrating
from blazar.engine.presence import Announcing, Load
from blazar.engine.promoting import Promoting
from blazar.engine.purge import Purge
from blazar.engine.relay import Relay
from blazar.engine.reporting import Reporting
from blazar.engine.sampling import SamplingDuty
from blazar.engine.start_soon import StartSoon
from blazar.engine.sweeping import Sweeping
from blazar.engine.upkeep import Upkeep
from blazar.plugins import Plugins, load_filters, load_plugins
from blazar.rpc.codec import Codec
from blazar.rpc.deliveries import Deliveries
from blazar.rpc.dispatcher import Dispatcher
from blazar.service.adoption import Adoption
from blazar.service.calendars import Calendars, Limits
from blazar.service.enabled_kinds import require_kinds
from blazar.service.events import Events
from blazar.service.healing import Healing
from blazar.service.health import ThreadHealth
from blazar.service.lending import Lending
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.offer_expiry import OfferExpiry
from blazar.service.ports import MOST_FORGOTTEN, Announcements, Clock, Cloud, Database, Notifier
from blazar.service.ports.kind import Dependencies, pools_of
from blazar.service.preemption_notices import PreemptionNotices
from blazar.service.reconciliation import Reconciliation, ReconciliationSettings
from blazar.service.shelved_images import ShelvedImages
from blazar.service.short_requests import ShortRequests
from blazar.service.start_tasks import StartTasks
from blazar.service.tracing import NO_TRACING, Tracing
from blazar.service.turns import Turns
from blazar.service.usage_reports import UsageReports
from blazar.service.use_cases import UseCases
from blazar.service.utilization import Sampling

VERSION = metadata.version("blazar")


class Manager:
    """All of blazar-manager but its RPC server: the use cases, and the engine that carries out events."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        database: Database,
        cloud: Cloud,
        plugins: Plugins,
        clock: Clock,
        notifier: Notifier,
        metrics: Metrics = NO_METRICS,
        announcements: Announcements | None = None,
        tracing: Tracing = NO_TRACING,
        authenticating: Authenticating | None = None,
    ) -> None:
        kinds = self._kinds = plugins.kinds
        self._database = database
        self._clock = clock
        self._metrics = metrics
        self.codec = Codec(plugins.interfaces)
        self.deliveries = Deliveries(database, clock)
        self._pools = pools_of(kinds, cloud.regions)
        start_retry = timedelta(seconds=conf.manager.start_retry_seconds)
        filters, exempt = load_filters(conf), conf.enforcement.exempt_projects
        reports = UsageReports(filters, kinds, exempt)
        expiry = OfferExpiry(database, clock, reports)
        self.requests = ShortRequests()
        self._calendars = Calendars(
            database,
            clock,
            Limits(seconds=conf.manager.planning_seconds),
            Turns(conf.manager.plans_at_once),
            requests=self.requests,
            expiry=expiry,
        )
        helpers = Helpers(conf.manager.cloud_calls_at_once)
        settings = lease_settings(conf, kinds)
        self._events = Events(
            database,
            cloud,
            kinds,
            clock,
            start_retry,
            reports,
            helpers.run,
            settings.claim_by.warning,
            metrics,
        )
        self.loop = EventLoop(database, self._events, clock, engine_settings(conf), metrics, tracing)
        mail = mail_plan(conf)
        delivers = conf.subscriptions.deliver_in_manager
        self._relay = Relay(database, notifier, clock, metrics, mail=mail, compares=delivers)
        self._patience = timedelta(seconds=conf.graceful_shutdown_timeout)
        dependencies = Dependencies(database, cloud, kinds, clock)
        healing = Healing(
            database, self._calendars, kinds, clock, healing_settings(conf), self.loop.nudge, metrics
        )
        monitors = [
            Monitoring(database, each, healing, clock, metrics)
            for extension in plugins.extensions
            for each in extension.monitors(dependencies)
        ]
        days = conf.database.retention_days
        self._mail_kept = timedelta(hours=conf.mail.keep_hours)
        self._usage_kept = timedelta(days=conf.database.usage_days)
        notice = timedelta(minutes=conf.manager.minutes_before_start_lease)
        self._background: Sequence[Background] = (
            Upkeep(
                [
                    *(partial(each.upkeep, dependencies) for each in plugins.extensions),
                    self._forget_spent,
                    self._see_to_maintenances,
                    self._forget_cancelled,
                    self._forget_usage,
                    self._forget_mails,
                    self._forget_series,
                ]
            ),
            Expiring(expiry),
            *([StartSoon(database, kinds, clock, notice)] if notice else ()),
            *([build_webhooks(conf, database, clock, metrics)] if delivers else ()),
            *build_mailing(conf, database, cloud, clock, metrics),
            *([authenticating] if authenticating else ()),
            *([Purge(database, clock, timedelta(days=days))] if days else ()),
            *monitors,
            *([Listening(announcements, partial(_look_soon, monitors))] if announcements else ()),
            *(Reporting(each, dependencies, metrics) for each in filters if each.reports),
            *self._drift_check(conf, dependencies, plugins, clock, metrics),
            *self._sampling(conf, dependencies),
            *self._sweeping(conf, dependencies, metrics),
            *self._noticing(conf, dependencies),
            *self._lending(conf, dependencies, metrics),
            Orchestrating(StartTasks(dependencies, start_task_settings(conf))),
            Announcing(database, clock, "blazar-manager", socket.gethostname(), VERSION, self._load),
        )
        self.use_cases = UseCases(
            dependencies,
            plugins.extensions,
            self._calendars,
            planning_settings(conf),
            settings,
            self.loop.nudge,
            self._thread_health,
            metrics,
            filters,
            exempt,
            quota_settings(conf, kinds),
            offer_settings(conf),
            wait_settings(conf),
            healing_settings(conf),
            subscription_settings(conf),
            (lambda: authenticating.has_token) if authenticating else (lambda: None),
            displacement_settings(conf),
            feed_settings(conf),
            late_binding_settings(conf, kinds),
            mail,
            series_settings(conf),
            promise_settings(conf),
        )
        look = timedelta(seconds=conf.manager.waitlist_look_seconds)
        promoting = Promoting(database, self.use_cases.waitlist, clock, look, metrics)
        watching = WatchingCapacity(database, self.use_cases.capacity_watch, clock)
        adopting = [
            Adopting(database, Adoption(self.use_cases.leases, finder, cloud, clock), clock)
            for kind in kinds.values()
            for finder in kind.lease_finders()
        ]
        self._background = (*self._background, promoting, watching, *adopting)

    def _drift_check(
        self,
        conf: cfg.ConfigOpts,
        dependencies: Dependencies,
        plugins: Plugins,
        clock: Clock,
        metrics: Metrics,
    ) -> Sequence[DriftCheck]:
        interval = timedelta(seconds=conf.manager.drift_check_seconds)
        if not interval:
            return ()
        reconciliation = Reconciliation(
            dependencies, plugins.extensions, self.loop.converge, ReconciliationSettings()
        )
        repairs = conf.manager.drift_repair
        return (DriftCheck(dependencies.database, reconciliation, clock, interval, repairs, metrics),)

    def _sampling(self, conf: cfg.ConfigOpts, dependencies: Dependencies) -> Sequence[SamplingDuty]:
        interval = timedelta(seconds=conf.manager.usage_seconds)
        if not interval:
            return ()
        return (SamplingDuty(dependencies.database, Sampling(dependencies), dependencies.clock, interval),)

    def _sweeping(
        self, conf: cfg.ConfigOpts, dependencies: Dependencies, metrics: Metrics
    ) -> Sequence[Sweeping]:
        interval = timedelta(seconds=conf.nova.shelved_images_seconds)
        has_servers_shelved = conf.nova.end_preemptibles or conf.nova.backfill or conf.nova.lend_idle_hosts
        if not interval or not has_servers_shelved:
            return ()
        images = ShelvedImages(dependencies.cloud, metrics)
        return (Sweeping(dependencies.database, images, dependencies.clock, interval),)

    def _noticing(self, conf: cfg.ConfigOpts, dependencies: Dependencies) -> Sequence[Noticing]:
        notice = timedelta(minutes=conf.nova.preemptible_notice_minutes)
        if not notice:
            return ()
        notices = PreemptionNotices(dependencies, notice)
        return (Noticing(dependencies.database, notices, dependencies.clock),)

    def _lending(
        self, conf: cfg.ConfigOpts, dependencies: Dependencies, metrics: Metrics
    ) -> Sequence[LendingDuty]:
        if not conf.nova.lend_idle_hosts:
            return ()
        lending = Lending(dependencies, metrics)
        interval = timedelta(seconds=conf.nova.lend_look_seconds)
        return (LendingDuty(dependencies.database, lending, dependencies.clock, interval),)

    def _load(self) -> Load:
        under_way, waiting = self.loop.events_under_way(), self._calendars.plans_waiting()
        return Load(under_way, waiting, self.loop.greatest_lateness())

    def _forget_spent(self) -> None:
        self.use_cases.quotas.forget_spent()

    def _see_to_maintenances(self) -> None:
        self.use_cases.maintenances.upkeep()

    def _forget_cancelled(self) -> None:
        self.use_cases.feeds.forget_cancelled()

    def _forget_series(self) -> None:
        self.use_cases.series.forget()

    def _forget_usage(self) -> None:
        self.use_cases.usage.forget(self._usage_kept)

    def _forget_mails(self) -> None:
        """Forget what has waited for too long to be told by mail, also where mail is no longer sent."""
        forgotten = MOST_FORGOTTEN
        while forgotten == MOST_FORGOTTEN:
            now = self._clock.now()
            before = now - self._mail_kept
            forgotten = self._database.transact(lambda uow: uow.mails.forget(before, now))  # noqa: B023 - at once
            self._metrics.mails_settled("expired", forgotten)

    def _thread_health(self) -> list[ThreadHealth]:
        others = (each.health() for each in self._background)
        return [*self.loop.health(), self._relay.health(), *others]

    def start(self) -> None:
        """Load the calendars and begin with the events; active leases are compared with the cloud afterwards.

        Raises KindDisabled where a kind is not enabled that leases still need."""
        require_kinds(self._database, self._kinds)
        self._calendars.load(*self._pools)
        self._events.bring_forward()
        self._relay.start()
        self.loop.start()
        for each in self._background:
            each.start()

    def stop(self) -> None:
        """Let what is under way finish, for as long as the operator gives it; the rest is repeated by another
        manager."""
        for each in reversed(self._background):
            each.stop()
        self.loop.stop(self._patience)
        self._relay.stop()


def _look_soon(monitors: Sequence[Monitoring]) -> None:
    for each in monitors:
        each.look_soon()


def build_dispatcher(
    manager: Manager, metrics: PrometheusMetrics, tracing: Tracing = NO_TRACING
) -> Dispatcher:
    return Dispatcher(
        manager.use_cases,
        manager.codec,
        SystemClock(),
        metrics,
        manager.deliveries,
        tracing,
        manager.requests,
    )


def build_manager(
    conf: cfg.ConfigOpts, database: Database, metrics: PrometheusMetrics, tracing: Tracing = NO_TRACING
) -> Manager:
    plugins, notifier, announcements = load_plugins(conf), chosen_notifier(conf), chosen_announcements(conf)
    cloud, clock = build_cloud(conf, metrics, tracing), SystemClock()
    manager = Manager(
        conf,
        database,
        cloud,
        plugins,
        clock,
        notifier,
        metrics,
        announcements,
        tracing,
        Authenticating(cloud),
    )
    metrics.show_health(manager.use_cases.health.read, manager.use_cases.health.threads)
    return manager
