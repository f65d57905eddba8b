"""The composition root: configuration in, running parts out. No other module constructs adapters."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from wsgiref.types import WSGIApplication

from keystoneauth1 import loading
from keystoneauth1.session import Session
from oslo_config import cfg

from blazar.adapters.announcements import chosen_announcements
from blazar.adapters.clock import SystemClock
from blazar.adapters.db import SqlDatabase
from blazar.adapters.metrics import PrometheusMetrics
from blazar.adapters.notifications import chosen_notifier
from blazar.adapters.openstack.cloud import connect
from blazar.adapters.openstack.session import pooled_http
from blazar.adapters.webhooks import HttpSender, WebhookSettings, networks
from blazar.api import authentication
from blazar.api.app import make_app
from blazar.api.authentication import keystone
from blazar.api.dashboard import Dashboard, SandboxUsers
from blazar.api.health import Health
from blazar.broker import rpc_transport
from blazar.conf import former
from blazar.domain.planning.demand import Order
from blazar.domain.time import HORIZON, MINUTE
from blazar.engine.claims import Claims
from blazar.engine.convergence import converge_now
from blazar.engine.drift import DriftCheck
from blazar.engine.expiry import Expiring
from blazar.engine.helpers import Helpers
from blazar.engine.listening import Listening
from blazar.engine.loop import EngineSettings, EventLoop
from blazar.engine.monitoring import Monitoring
from blazar.engine.presence import Announcing, Load
from blazar.engine.promoting import Promoting
from blazar.engine.purge import Purge
from blazar.engine.relay import Relay
from blazar.engine.reporting import Reporting
from blazar.engine.threads import Background
from blazar.engine.upkeep import Upkeep
from blazar.engine.webhooks import Webhooks
from blazar.plugins import Plugins, load_filters, load_plugins
from blazar.policies import make_enforcer
from blazar.rpc.codec import Codec
from blazar.rpc.deliveries import Deliveries
from blazar.rpc.dispatcher import Dispatcher
from blazar.rpc.messaging import MessagingTransport
from blazar.rpc.proxy import remote_service
from blazar.service.admission import PlanningSettings
from blazar.service.calendars import Calendars, Limits
from blazar.service.enabled_kinds import require_kinds
from blazar.service.events import Events
from blazar.service.healing import Healing, HealingSettings
from blazar.service.health import ThreadHealth
from blazar.service.interface import Service
from blazar.service.leases import ClaimBySettings, LeaseSettings, WaitSettings
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.offer_expiry import OfferExpiry
from blazar.service.offers import OfferSettings
from blazar.service.ports import Announcements, Clock, Cloud, Database, Notifier
from blazar.service.ports.kind import Dependencies, Kinds
from blazar.service.quotas import DEFAULT_LIMITS, Quotas, QuotaSettings
from blazar.service.reconciliation import Reconciliation, ReconciliationSettings
from blazar.service.subscriptions import SubscriptionSettings
from blazar.service.tracing import NO_TRACING, Tracing
from blazar.service.turns import Turns
from blazar.service.usage_reports import UsageReports
from blazar.service.use_cases import UseCases

VERSION = metadata.version("blazar")
OPEN_TELEMETRY = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
"""What the extra ``trace`` installs."""


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
    ) -> None:
        kinds = self._kinds = plugins.kinds
        self._database = database
        self.codec = Codec(plugins.interfaces)
        self.deliveries = Deliveries(database, clock)
        self._pools = sorted({kind.pool for kind in kinds.values()})
        start_retry = timedelta(seconds=conf.manager.start_retry_seconds)
        filters, exempt = load_filters(conf), conf.enforcement.exempt_projects
        reports = UsageReports(filters, kinds, exempt)
        expiry = OfferExpiry(database, clock, reports)
        self._calendars = Calendars(
            database,
            clock,
            Limits(seconds=conf.manager.planning_seconds),
            Turns(conf.manager.plans_at_once),
            expiry=expiry,
        )
        helpers = Helpers(conf.manager.cloud_calls_at_once)
        settings = lease_settings(conf, kinds)
        self._events = Events(
            database, cloud, kinds, clock, start_retry, reports, helpers.run, settings.claim_by.warning
        )
        self.loop = EventLoop(database, self._events, clock, engine_settings(conf), metrics, tracing)
        self._relay = Relay(database, notifier, clock, metrics)
        self._patience = timedelta(seconds=conf.graceful_shutdown_timeout)
        dependencies = Dependencies(database, cloud, kinds, clock)
        healing = Healing(
            database, self._calendars, kinds, clock, healing_settings(conf), self.loop.nudge, metrics
        )
        found = (extension.monitor(dependencies) for extension in plugins.extensions)
        monitors = [Monitoring(database, each, healing, clock, metrics) for each in found if each]
        days = conf.database.retention_days
        self._background: Sequence[Background] = (
            Upkeep(
                [
                    *(partial(each.upkeep, dependencies) for each in plugins.extensions),
                    self._forget_spent,
                    self._see_to_maintenances,
                ]
            ),
            Expiring(expiry),
            Webhooks(
                database,
                HttpSender(webhook_settings(conf)),
                clock,
                timedelta(hours=conf.subscriptions.give_up_hours),
                metrics,
            ),
            *([Purge(database, clock, timedelta(days=days))] if days else ()),
            *monitors,
            *([Listening(announcements, partial(_look_soon, monitors))] if announcements else ()),
            *(Reporting(each, dependencies, metrics) for each in filters if each.reports),
            *self._drift_check(conf, dependencies, plugins, clock, metrics),
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
        )
        look = timedelta(seconds=conf.manager.waitlist_look_seconds)
        promoting = Promoting(database, self.use_cases.waitlist, clock, look, metrics)
        self._background = (*self._background, promoting)

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

    def _load(self) -> Load:
        return Load(self.loop.events_under_way(), self._calendars.plans_waiting(), self.loop.lateness())

    def _forget_spent(self) -> None:
        self.use_cases.quotas.forget_spent()

    def _see_to_maintenances(self) -> None:
        self.use_cases.maintenances.upkeep()

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


def health_of(service: Service, **details: str) -> Callable[[], Health]:
    """Return how to check ``service``: it is healthy when a manager and its database answer, there is room
    for changes, and each thread of the manager works. Late events are reported, for the operator to judge."""

    def health() -> Health:
        found = service.health.read()
        threads = {thread.name: str(thread.state) for thread in found.threads}
        return Health(
            found.works,
            {
                "database": "OK" if found.takes_changes else "FULL",
                **details,
                "event_lag_seconds": found.event_lag_seconds,
                "outbox": found.outbox,
                **({"threads": threads} if threads else {}),  # a manager of the version before sends none
            },
        )

    return health


def build_tracing(conf: cfg.ConfigOpts, program: str) -> Tracing:
    """Return the traces of a program that runs already: the sender's thread would not survive a fork."""
    if not conf.tracing.endpoint:
        return NO_TRACING
    require_tracing(conf)
    from blazar.adapters.tracing import sent_to

    return sent_to(conf.tracing.endpoint, program, conf.tracing.ratio)


def require_tracing(conf: cfg.ConfigOpts) -> None:
    """Raise LookupError where traces are wanted, and their libraries are not installed."""
    if conf.tracing.endpoint and not all(map(_is_installed, OPEN_TELEMETRY)):
        raise LookupError(
            "[tracing] endpoint needs libraries that are not installed. The extra blazar[trace] has them."
        )


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # the package around it
        return False


def build_api(
    conf: cfg.ConfigOpts,
    service: Service,
    metrics: PrometheusMetrics,
    tracing: Tracing = NO_TRACING,
    sandbox: SandboxUsers | None = None,
    **health: str,
) -> WSGIApplication:
    """The REST API over ``service``: the use cases of this process, or those of a manager elsewhere.
    ``health`` is what is known to work as well when ``service`` answers. ``sandbox`` has the users of a
    sandbox cloud, as whom everybody may sign in at the page."""
    plugins = load_plugins(conf)
    authenticate = keystone(conf)
    return make_app(
        service,
        plugins.kinds,
        plugins.of_api,
        make_enforcer(conf, plugins.policies),
        conf=conf,
        authenticate=authenticate,
        health=health_of(service, **health),
        metrics=metrics,
        exposition=metrics.exposition if conf.api.metrics else None,
        tracing=tracing,
        dashboard=build_dashboard(conf, sandbox),
    )


def build_dashboard(conf: cfg.ConfigOpts, sandbox: SandboxUsers | None = None) -> Dashboard | None:
    """Return what the calendar page has to know; None where the operator wants no page. The options of
    [keystone_authtoken] are registered already."""
    if not conf.dashboard.enabled:
        return None
    public = conf.dashboard.keystone_url or conf[authentication.GROUP].www_authenticate_uri or ""
    return Dashboard(_with_version(public), sandbox)


def _with_version(url: str) -> str:
    """Return Keystone's address with /v3, which www_authenticate_uri often lacks; empty for none."""
    url = url.rstrip("/")
    return url if not url or url.endswith("/v3") else f"{url}/v3"


def build_remote_api(conf: cfg.ConfigOpts, tracing: Tracing = NO_TRACING) -> WSGIApplication:
    """The REST API of a process of its own: every use case is carried out by a manager over the broker."""
    return build_api(conf, build_remote_service(conf, tracing), PrometheusMetrics(), tracing, broker="OK")


def build_remote_service(conf: cfg.ConfigOpts, tracing: Tracing = NO_TRACING) -> Service:
    """All use cases, carried out by a manager over the broker."""
    transport = rpc_transport(conf)
    carrier = MessagingTransport(conf, transport, SystemClock(), conf.manager.rpc_topic, tracing)
    return remote_service(carrier, Codec(load_plugins(conf).interfaces))


def build_dispatcher(
    manager: Manager, metrics: PrometheusMetrics, tracing: Tracing = NO_TRACING
) -> Dispatcher:
    return Dispatcher(manager.use_cases, manager.codec, SystemClock(), metrics, manager.deliveries, tracing)


def build_manager(
    conf: cfg.ConfigOpts, database: Database, metrics: PrometheusMetrics, tracing: Tracing = NO_TRACING
) -> Manager:
    plugins, notifier, announcements = load_plugins(conf), chosen_notifier(conf), chosen_announcements(conf)
    cloud, clock = build_cloud(conf, metrics, tracing), SystemClock()
    manager = Manager(conf, database, cloud, plugins, clock, notifier, metrics, announcements, tracing)
    metrics.show_health(manager.use_cases.health.read, manager.use_cases.health.threads)
    return manager


def build_database(
    conf: cfg.ConfigOpts, metrics: Metrics = NO_METRICS, tracing: Tracing = NO_TRACING
) -> SqlDatabase:
    settings = conf.database
    return SqlDatabase(
        settings.connection,
        pool_size=settings.max_pool_size,
        max_overflow=settings.max_overflow,
        repeated=metrics.transaction_retried,
        tracing=tracing,
    )


def build_cloud(conf: cfg.ConfigOpts, metrics: Metrics = NO_METRICS, tracing: Tracing = NO_TRACING) -> Cloud:
    former.adopt(conf)
    auth = loading.load_auth_from_conf_options(conf, "cloud")
    http = pooled_http(engine_settings(conf).threads + conf.manager.cloud_calls_at_once + conf.api.threads)
    settings = conf.cloud
    session = Session(
        auth=auth,
        session=http,
        verify=False if settings.insecure else settings.cafile or True,
        timeout=settings.timeout or 60,
        user_agent="blazar",
    )
    return connect(
        session, settings.region_name, settings.interface, metrics, settings.calls_at_once, tracing
    )


@contextmanager
def build_reconciliation(
    conf: cfg.ConfigOpts, database: Database, plugins: Plugins, settings: ReconciliationSettings
) -> Iterator[Reconciliation]:
    """The comparison of the database with the cloud, outside of a manager, with claims of its own, which are
    given back at the end. Raises KindDisabled."""
    clock, cloud = SystemClock(), build_cloud(conf)
    require_kinds(database, plugins.kinds)
    start_retry = timedelta(seconds=conf.manager.start_retry_seconds)
    events = Events(database, cloud, plugins.kinds, clock, start_retry)
    claims = Claims(database, clock, engine_settings(conf).claim)

    def converge(lease_id: str) -> str | None:
        return converge_now(lease_id, claims, events, database, clock)

    claims.start()
    try:
        dependencies = Dependencies(database, cloud, plugins.kinds, clock)
        yield Reconciliation(dependencies, plugins.extensions, converge, settings)
    finally:
        claims.stop()


def planning_settings(conf: cfg.ConfigOpts) -> PlanningSettings:
    random = conf["physical:host"].randomize_host_selection
    return PlanningSettings(
        Order.RANDOM if random else Order.PACKED,
        timedelta(minutes=conf.cleaning_time),
        conf.manager.max_reservations_per_lease,
    )


def quota_settings(conf: cfg.ConfigOpts, kinds: Kinds) -> QuotaSettings:
    """Raises ValueError where no enabled kind counts what a limit names."""
    settings = QuotaSettings(
        {**DEFAULT_LIMITS, **conf.quota.limits},
        timedelta(days=conf.quota.window_days),
        conf.quota.source == "keystone",
    )
    known = Quotas(kinds, settings).names
    unknown = ", ".join(sorted(settings.limits.keys() - set(known)))
    if unknown:
        raise ValueError(f"[quota] limits: there is no limit {unknown}; there are {', '.join(known)}")
    return settings


def healing_settings(conf: cfg.ConfigOpts) -> HealingSettings:
    own, planning = conf["physical:host"], planning_settings(conf)
    return HealingSettings(
        interval=timedelta(minutes=own.healing_interval),
        patience=timedelta(seconds=own.down_seconds_before_moving),
        cleaning=planning.cleaning,
        order=planning.order,
    )


def lease_settings(conf: cfg.ConfigOpts, kinds: Kinds) -> LeaseSettings:
    """Raises ValueError where a setting names no enabled kind."""
    return LeaseSettings(
        notification=timedelta(minutes=conf.manager.minutes_before_end_lease),
        delete_wait=timedelta(seconds=conf.manager.delete_wait),
        claim_by=claim_by_settings(conf, kinds),
    )


def claim_by_settings(conf: cfg.ConfigOpts, kinds: Kinds) -> ClaimBySettings:
    """Raises ValueError where an entry is not of an enabled kind, or its time not a number of minutes."""
    after = {}
    for entry in conf.claim_by.minutes:
        kind, _, minutes = entry.partition("=")
        if kind not in kinds or not (minutes.isdecimal() and 0 < int(minutes) <= HORIZON // MINUTE):
            raise ValueError(
                f"[claim_by] minutes: {entry} is not a kind of {', '.join(sorted(kinds))} with the number of "
                "its minutes, such as physical:host=120"
            )
        after[kind] = int(minutes) * MINUTE
    warning = timedelta(minutes=conf.claim_by.warning_minutes)
    return ClaimBySettings(after, frozenset(conf.claim_by.exempt_projects), warning)


def offer_settings(conf: cfg.ConfigOpts) -> OfferSettings:
    return OfferSettings(
        most=conf.manager.max_offers_per_project,
        longest=timedelta(minutes=conf.manager.max_offer_minutes),
    )


def wait_settings(conf: cfg.ConfigOpts) -> WaitSettings:
    return WaitSettings(
        most=conf.manager.max_waiting_leases_per_project,
        longest=timedelta(hours=conf.manager.max_wait_hours),
    )


def webhook_settings(conf: cfg.ConfigOpts) -> WebhookSettings:
    """Raises ValueError where an option names what is no network."""
    own = conf.subscriptions
    return WebhookSettings(
        networks(own.allowed_networks, "allowed_networks"),
        networks(own.forbidden_networks, "forbidden_networks"),
        own.timeout,
        own.cafile,
    )


def subscription_settings(conf: cfg.ConfigOpts) -> SubscriptionSettings:
    own = conf.subscriptions
    require_allowed = HttpSender(webhook_settings(conf)).require_allowed
    return SubscriptionSettings(own.max_per_project, own.allow_http, require_allowed)


def engine_settings(conf: cfg.ConfigOpts) -> EngineSettings:
    return EngineSettings(
        conf.manager.event_workers,
        timedelta(seconds=conf.manager.claim_seconds),
        reconcile=timedelta(seconds=conf.manager.reconcile_seconds),
    )
