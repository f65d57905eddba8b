"""The REST API, over the use cases of its own process or over those of a manager elsewhere."""

from __future__ import annotations

from wsgiref.types import WSGIApplication

from oslo_config import cfg

from blazar.adapters.clock import SystemClock
from blazar.adapters.metrics import PrometheusMetrics
from blazar.api import authentication
from blazar.api.app import make_app
from blazar.api.authentication import keystone
from blazar.api.dashboard import Dashboard, SandboxUsers
from blazar.api.streams import Streams
from blazar.bootstrap.health import health_of
from blazar.bootstrap.remote import build_remote_service
from blazar.plugins import load_plugins
from blazar.policies import make_enforcer
from blazar.service.interface import Service
from blazar.service.tracing import NO_TRACING, Tracing


def build_api(
    conf: cfg.ConfigOpts,
    service: Service,
    metrics: PrometheusMetrics,
    tracing: Tracing = NO_TRACING,
    sandbox: SandboxUsers | None = None,
    streams: Streams | None = None,
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
        streams=streams or Streams(service, SystemClock().now, metrics=metrics),
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
