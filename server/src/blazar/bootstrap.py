"""The composition root: configuration in, running parts out. Nobody else constructs adapters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from wsgiref.types import WSGIApplication

from keystoneauth1 import loading
from keystoneauth1.session import Session
from oslo_config import cfg
from stevedore import NamedExtensionManager

from blazar.adapters.clock import SystemClock
from blazar.adapters.db import SqlDatabase
from blazar.adapters.metrics import Figures
from blazar.adapters.notifications import chosen_notifier
from blazar.adapters.openstack.cloud import connect
from blazar.adapters.openstack.session import pooled_http
from blazar.api.app import make_app
from blazar.api.authentication import keystone
from blazar.api.health import Health
from blazar.domain.demand import Order
from blazar.domain.resource import Pool
from blazar.engine.loop import EngineSettings, EventLoop
from blazar.engine.relay import Relay
from blazar.kinds.base import Kind
from blazar.policies import make_enforcer
from blazar.rpc.dispatcher import Dispatcher
from blazar.rpc.messaging import MessagingTransport, build_transport
from blazar.rpc.proxy import remote_service
from blazar.service.admission import Admission, Selection
from blazar.service.allocations import Allocations
from blazar.service.calendars import Calendars
from blazar.service.events import Events
from blazar.service.floatingips import FloatingIPs
from blazar.service.hosts import HostRules, Hosts
from blazar.service.interface import Service
from blazar.service.leases import LeaseRules, Leases
from blazar.service.observer import NOBODY, Observer
from blazar.service.ports import Clock, Cloud, Database, Notifier
from blazar.service.preparation import Preparation
from blazar.service.vitals import VitalSigns

KINDS = "blazar.resource.plugins"


@dataclass(frozen=True, slots=True)
class UseCases:
    """The Service interface, in this process."""

    leases: Leases
    hosts: Hosts
    floatingips: FloatingIPs
    allocations: Allocations
    vitals: VitalSigns


class Manager:
    """All of blazar-manager but its RPC server: the use cases, and the engine that carries out events."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        database: Database,
        cloud: Cloud,
        kinds: Mapping[str, Kind],
        clock: Clock,
        notifier: Notifier,
        observer: Observer = NOBODY,
    ) -> None:
        self._pools = sorted({kind.pool for kind in kinds.values()} | {Pool.HOST})
        self._calendars = Calendars(database, clock)
        self._events = Events(database, cloud, kinds, clock)
        self.loop = EventLoop(database, self._events, clock, engine_settings(conf), observer)
        self._relay = Relay(database, notifier, clock, observer)
        self._patience = timedelta(seconds=conf.graceful_shutdown_timeout)
        admission = Admission(self._calendars, kinds, selection(conf), clock, observer)
        self.use_cases = UseCases(
            Leases(database, admission, Preparation(cloud, kinds), kinds, clock, self.loop.nudge, lease_rules(conf)),
            Hosts(database, cloud, kinds, clock, HostRules(conf.nova.aggregate_freepool_name)),
            FloatingIPs(database, cloud, clock),
            Allocations(database, clock),
            VitalSigns(database, clock),
        )

    def start(self) -> None:
        """Load the calendars, have active leases compared with the cloud, and begin with the events."""
        self._calendars.load(*self._pools)
        self._events.bring_forward()
        self._events.converge_all()
        self._relay.start()
        self.loop.start()

    def stop(self) -> None:
        """Let what is under way finish, for as long as the operator gives it; the rest is repeated by another manager."""
        self.loop.stop(self._patience)
        self._relay.stop()


def health_of(service: Service, **details: str) -> Callable[[], Health]:
    """Able to work when a manager and its database answer, and there is room for changes; late events are told, and are for
    the operator to judge."""

    def health() -> Health:
        vitals = service.vitals.read()
        figures = {"event_lag_seconds": vitals.event_lag_seconds, "outbox": vitals.outbox}
        return Health(
            vitals.takes_changes, {"database": "OK" if vitals.takes_changes else "FULL", **details, **figures}
        )

    return health


def build_api(conf: cfg.ConfigOpts, service: Service, figures: Figures, **health: str) -> WSGIApplication:
    """The REST API over ``service``: the use cases of this process, or those of a manager elsewhere. ``health`` is what is
    known to work as well when ``service`` answers."""
    return make_app(
        service,
        build_kinds(conf),
        make_enforcer(conf),
        conf=conf,
        authenticate=keystone(conf),
        health=health_of(service, **health),
        observer=figures,
        metrics=figures.exposition if conf.api.metrics else None,
    )


def build_remote_api(conf: cfg.ConfigOpts) -> WSGIApplication:
    """The REST API of a process of its own: every use case is carried out by a manager over the broker."""
    return build_api(conf, build_remote_service(conf), Figures(), broker="OK")


def build_remote_service(conf: cfg.ConfigOpts) -> Service:
    """All use cases, carried out by a manager over the broker."""
    transport = build_transport(conf)
    return remote_service(MessagingTransport(conf, transport, SystemClock(), conf.manager.rpc_topic))


def build_dispatcher(manager: Manager, figures: Figures) -> Dispatcher:
    return Dispatcher(manager.use_cases, SystemClock(), figures)


def build_manager(conf: cfg.ConfigOpts, database: Database, figures: Figures) -> Manager:
    kinds, notifier = build_kinds(conf), chosen_notifier(conf)
    manager = Manager(conf, database, build_cloud(conf, figures), kinds, SystemClock(), notifier, figures)
    figures.watch(manager.use_cases.vitals.read)
    return manager


def build_database(conf: cfg.ConfigOpts, observer: Observer = NOBODY) -> SqlDatabase:
    settings = conf.database
    return SqlDatabase(
        settings.connection,
        pool_size=settings.max_pool_size,
        max_overflow=settings.max_overflow,
        repeated=observer.transaction_repeated,
    )


def build_cloud(conf: cfg.ConfigOpts, observer: Observer = NOBODY) -> Cloud:
    auth = loading.load_auth_from_conf_options(conf, "cloud")
    http = pooled_http(conf.manager.event_workers + conf.api.threads)
    settings = conf.cloud
    session = Session(
        auth=auth,
        session=http,
        verify=False if settings.insecure else settings.cafile or True,
        timeout=settings.timeout or 60,
        user_agent="blazar",
    )
    return connect(session, settings.region_name, settings.interface, observer)


def build_kinds(conf: cfg.ConfigOpts) -> Mapping[str, Kind]:
    """The enabled kinds by resource_type. Raises LookupError where a name is unknown or two are of one type."""
    wanted = conf.manager.plugins
    found: NamedExtensionManager[Any] = NamedExtensionManager(
        KINDS, wanted, on_missing_entrypoints_callback=_refuse_missing
    )
    kinds: dict[str, Kind] = {}
    for extension in found:
        kind: Kind = extension.plugin.from_conf(conf)
        if kind.resource_type in kinds:
            raise LookupError(f"two of the plugins {', '.join(wanted)} serve {kind.resource_type}")
        kinds[kind.resource_type] = kind
    return kinds


def _refuse_missing(names: Iterable[str]) -> None:
    raise LookupError(f"no such resource plugin: {', '.join(sorted(names))}")


def selection(conf: cfg.ConfigOpts) -> Selection:
    random = conf["physical:host"].randomize_host_selection
    return Selection(Order.RANDOM if random else Order.PACKED, timedelta(minutes=conf.cleaning_time))


def lease_rules(conf: cfg.ConfigOpts) -> LeaseRules:
    return LeaseRules(
        notice=timedelta(minutes=conf.manager.minutes_before_end_lease),
        delete_wait=timedelta(seconds=conf.manager.delete_wait),
    )


def engine_settings(conf: cfg.ConfigOpts) -> EngineSettings:
    return EngineSettings(conf.manager.event_workers, timedelta(seconds=conf.manager.claim_seconds))
