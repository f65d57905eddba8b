"""The API as one WSGI callable: the route table on one screen, and the layers around it in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from oslo_config import cfg
from oslo_middleware import CORS, HTTPProxyToWSGI, RequestId
from oslo_middleware import cors as cors_options
from oslo_policy import policy
from pydantic import TypeAdapter

from blazar.api import microversion, openapi, versions
from blazar.api.authorization import Authorizer
from blazar.api.availability import AvailabilityActions
from blazar.api.calendar_file import MEDIA_TYPE as CALENDAR
from blazar.api.caller import identify_with
from blazar.api.capacity import CapacityActions
from blazar.api.dashboard import Dashboard, with_dashboard
from blazar.api.event_stream import LAST_EVENT_ID, MEDIA_TYPE
from blazar.api.event_stream import SINCE as SINCE_STREAMS
from blazar.api.explanations import Explanations
from blazar.api.extension import ApiExtension
from blazar.api.feed_address import PATH as FEED
from blazar.api.feed_address import without_secrets
from blazar.api.feeds import IF_NONE_MATCH as IF_FEED_HAS_CHANGED
from blazar.api.feeds import FeedActions
from blazar.api.health import Health, HealthActions, HealthReply
from blazar.api.idempotency import IDEMPOTENCY_KEY
from blazar.api.lease_deletions import SINCE as SINCE_DELETIONS
from blazar.api.lease_deletions import LeaseDeletions
from blazar.api.leases import SPLIT as SINCE_SPLIT
from blazar.api.leases import LeaseActions
from blazar.api.mail import SINCE as SINCE_MAIL
from blazar.api.mail import MailActions
from blazar.api.maintenances import MaintenanceActions
from blazar.api.metrics import Exposition, with_metrics
from blazar.api.offers import OfferActions
from blazar.api.preconditions import IF_MATCH
from blazar.api.preconditions import SINCE as TAGGED
from blazar.api.promises import IF_NONE_MATCH as IF_PROMISES_CHANGED
from blazar.api.promises import SINCE as SINCE_PROMISES
from blazar.api.promises import PromiseActions
from blazar.api.quotas import QuotaActions
from blazar.api.request_log import request_log
from blazar.api.routing import Route, falcon_app
from blazar.api.schemas import mail as mail_bodies
from blazar.api.schemas import series as series_bodies
from blazar.api.schemas import subscriptions as subscription_bodies
from blazar.api.schemas.availability import QUESTION, AvailabilityRequest
from blazar.api.schemas.capacity import CapacityQuery
from blazar.api.schemas.feeds import FeedCreate
from blazar.api.schemas.leases import CREATE, UPDATE, LeaseCreate, LeaseUpdate
from blazar.api.schemas.lists import (
    FeedsQuery,
    LeasesQueryShared,
    LeasesToDelete,
    SeriesQueryByName,
    SeriesToDelete,
    SubscriptionsQuery,
)
from blazar.api.schemas.maintenances import MaintenanceCreate
from blazar.api.schemas.offers import OfferCreate
from blazar.api.schemas.quotas import QuotaUpdate
from blazar.api.schemas.series import SeriesCreate, SeriesUpdate
from blazar.api.schemas.shares import BODIES as SHARE_BODIES
from blazar.api.schemas.shares import ShareUpdate
from blazar.api.schemas.split import LeaseSplit
from blazar.api.schemas.subscriptions import SubscriptionCreate, SubscriptionUpdate
from blazar.api.schemas.timeline import TimelineQuery
from blazar.api.schemas.usage import UsageQuery
from blazar.api.series import SINCE as SINCE_SERIES
from blazar.api.series import SeriesActions
from blazar.api.services import ServiceActions
from blazar.api.shares import SINCE as SINCE_SHARES
from blazar.api.shares import ShareActions
from blazar.api.streams import Streams
from blazar.api.subscriptions import SubscriptionActions
from blazar.api.timeline import IF_NONE_MATCH, TimelineActions
from blazar.api.usage import CSV, UsageActions
from blazar.api.usage import SINCE as SINCE_USAGE
from blazar.api.views import capacity as capacity_views
from blazar.api.views import feeds as feed_views
from blazar.api.views import leases as lease_views
from blazar.api.views import mail as mail_views
from blazar.api.views import maintenances as maintenance_views
from blazar.api.views import quotas as quota_views
from blazar.api.views import series as series_views
from blazar.api.views import subscriptions as subscription_views
from blazar.api.views.availability import AvailabilityReply
from blazar.api.views.lease_deletions import DeletionsReply
from blazar.api.views.offers import OfferReply, OffersReply
from blazar.api.views.promises import PromisesReply
from blazar.api.views.services import ServicesReply
from blazar.api.views.shares import TAKE_OVER as SINCE_TAKE_OVER
from blazar.api.views.shares import ShareReply, SharesReply
from blazar.api.views.timeline import TimelineReply
from blazar.api.views.usage import UsageReportReply
from blazar.api.views.waitlist import WaitlistReply
from blazar.api.waitlist import WaitlistActions
from blazar.service.interface import Service
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports.kind import Kinds
from blazar.service.tracing import NO_TRACING, Tracing

Middleware = Callable[[WSGIApplication], WSGIApplication]

VERSIONS = TypeAdapter(versions.VersionsReply)
VERSION = TypeAdapter(versions.VersionReply)
HEALTH = TypeAdapter(HealthReply)
LEASE = TypeAdapter(lease_views.LeaseReply)
DRY_RUN = TypeAdapter(lease_views.PreviewReply)
LEASES = TypeAdapter(lease_views.LeasesReply)
DELETIONS = TypeAdapter(DeletionsReply)
AVAILABILITY = TypeAdapter(AvailabilityReply)
OFFER = TypeAdapter(OfferReply)
OFFERS = TypeAdapter(OffersReply)
MAINTENANCE = TypeAdapter(maintenance_views.MaintenanceReply)
MAINTENANCES = TypeAdapter(maintenance_views.MaintenancesReply)
IMPACT = TypeAdapter(maintenance_views.ImpactReply)
QUOTA = TypeAdapter(quota_views.QuotaReply)
QUOTAS = TypeAdapter(quota_views.QuotasReply)
USAGE = TypeAdapter(quota_views.UsageReply)
CAPACITY = TypeAdapter(capacity_views.CapacityReply)
WAITLIST = TypeAdapter(WaitlistReply)
TIMELINE = TypeAdapter(TimelineReply)
PROMISES = TypeAdapter(PromisesReply)
SUBSCRIPTION = TypeAdapter(subscription_views.SubscriptionReply)
SUBSCRIPTIONS = TypeAdapter(subscription_views.SubscriptionsReply)
EVENTS = TypeAdapter(str)
SHARE = TypeAdapter(ShareReply)
SHARES = TypeAdapter(SharesReply)
SERIES = TypeAdapter(series_views.SeriesReply)
SERIES_PREVIEW = TypeAdapter(series_views.SeriesPreviewReply)
SERIES_LIST = TypeAdapter(series_views.SeriesListReply)
FEED_REPLY = TypeAdapter(feed_views.FeedReply)
MAIL = TypeAdapter(mail_views.MailReply)
FEEDS = TypeAdapter(feed_views.FeedsReply)
CALENDAR_FILE = TypeAdapter(str)
SERVICES = TypeAdapter(ServicesReply)
USAGE_REPORT = TypeAdapter(UsageReportReply)


def routes(
    service: Service,
    kinds: Kinds,
    extensions: Iterable[ApiExtension],
    authorizer: Authorizer,
    health: Callable[[], Health],
    tells_shortages: bool = True,
    streams: Streams | None = None,
    has_dashboard: bool = False,
) -> tuple[Route, ...]:
    """Return every path of the API: those of the core, then those that kinds contribute.

    ``.json`` behind a path, and HEAD in place of GET, are the same routes."""
    explanations = Explanations(service, authorizer, tells_shortages)
    leases = LeaseActions(service, kinds, authorizer, explanations)
    shares = ShareActions(service, authorizer)
    quotas = QuotaActions(service, authorizer)
    offers = OfferActions(service, kinds, authorizer, explanations)
    maintenances = MaintenanceActions(service, authorizer)
    subscriptions = SubscriptionActions(service, authorizer, streams)
    mail = MailActions(service, authorizer)
    series = SeriesActions(service, kinds, authorizer, tells_shortages)
    feeds = FeedActions(service, authorizer, has_dashboard)
    ask = AvailabilityActions(service, kinds, authorizer, tells_shortages).ask
    # fmt: off
    core = (
        Route("GET", "/", versions.choices, 300, reply=VERSIONS, public=True),
        Route("GET", "/versions", versions.choices, 300, reply=VERSIONS, public=True),
        Route("GET", "/v1", versions.v1, reply=VERSION, public=True),
        Route("GET", "/healthcheck", HealthActions(health).check, reply=HEALTH, public=True),

        Route("GET",    "/v1/leases", leases.list, reply=LEASES, query=LeasesQueryShared,
              later={(1, 1): leases.find}),
        Route("POST",   "/v1/leases", leases.create, 201, body=LeaseCreate, reply=LEASE,
              bodies=CREATE, dry_run=DRY_RUN, headers=(IDEMPOTENCY_KEY,), tagged=TAGGED),
        Route("GET",    "/v1/leases/{lease_id}", leases.show, reply=LEASE, tagged=TAGGED),
        Route("PUT",    "/v1/leases/{lease_id}", leases.update, body=LeaseUpdate, reply=LEASE,
              bodies=UPDATE, dry_run=DRY_RUN, headers=(IF_MATCH,), tagged=TAGGED),
        Route("DELETE", "/v1/leases/{lease_id}", leases.delete, 204, headers=(IF_MATCH,)),
        Route("GET",    "/v1/leases/{lease_id}/shares", shares.list, reply=SHARES, since=SINCE_SHARES),
        Route("PUT",    "/v1/leases/{lease_id}/shares/{project_id}", shares.update, body=ShareUpdate,
              bodies=SHARE_BODIES, reply=SHARE, since=SINCE_SHARES),
        Route("DELETE", "/v1/leases/{lease_id}/shares/{project_id}", shares.delete, 204, since=SINCE_SHARES),
        Route("POST",   "/v1/leases/{lease_id}/split", leases.split, 201, body=LeaseSplit, reply=LEASE,
              headers=(IF_MATCH, IDEMPOTENCY_KEY), tagged=TAGGED, since=SINCE_SPLIT),
        Route("POST",   "/v1/leases/{lease_id}/take_over", leases.take_over, reply=LEASE, tagged=TAGGED,
              since=SINCE_TAKE_OVER),
        Route("DELETE", "/v1/leases", LeaseDeletions(service, authorizer).delete, query=LeasesToDelete,
              reply=DELETIONS, since=SINCE_DELETIONS),

        Route("POST", "/v1/availability", ask, body=AvailabilityRequest, reply=AVAILABILITY, since=(1, 3),
              bodies=QUESTION),

        Route("GET",    "/v1/offers", offers.list, reply=OFFERS, since=(1, 4)),
        Route("POST",   "/v1/offers", offers.create, 201, body=OfferCreate, reply=OFFER, since=(1, 4)),
        Route("GET",    "/v1/offers/{offer_id}", offers.show, reply=OFFER, since=(1, 4)),
        Route("DELETE", "/v1/offers/{offer_id}", offers.delete, 204, since=(1, 4)),

        Route("GET",    "/v1/waitlist", WaitlistActions(service, authorizer).list, reply=WAITLIST,
              since=(1, 7)),

        Route("GET",    "/v1/maintenances", maintenances.list, reply=MAINTENANCES, since=(1, 8)),
        Route("POST",   "/v1/maintenances", maintenances.create, 201, body=MaintenanceCreate,
              reply=MAINTENANCE, dry_run=IMPACT, since=(1, 8)),
        Route("GET",    "/v1/maintenances/{maintenance_id}", maintenances.show, reply=MAINTENANCE,
              since=(1, 8)),
        Route("DELETE", "/v1/maintenances/{maintenance_id}", maintenances.delete, 204, since=(1, 8)),

        Route("GET",    "/v1/subscriptions", subscriptions.list, reply=SUBSCRIPTIONS, since=(1, 11),
              query=SubscriptionsQuery, later={(1, 14): subscriptions.list_page}),
        Route("POST",   "/v1/subscriptions", subscriptions.create, 201, body=SubscriptionCreate,
              bodies=subscription_bodies.CREATE, reply=SUBSCRIPTION, since=(1, 11)),
        Route("GET",    "/v1/subscriptions/{subscription_id}", subscriptions.show, reply=SUBSCRIPTION,
              since=(1, 11)),
        Route("GET",    "/v1/subscriptions/{subscription_id}/events", subscriptions.events, reply=EVENTS,
              headers=(LAST_EVENT_ID,), since=SINCE_STREAMS, media_type=MEDIA_TYPE),
        Route("PUT",    "/v1/subscriptions/{subscription_id}", subscriptions.update,
              body=SubscriptionUpdate, bodies=subscription_bodies.UPDATE, reply=SUBSCRIPTION,
              since=(1, 11)),
        Route("DELETE", "/v1/subscriptions/{subscription_id}", subscriptions.delete, 204, since=(1, 11)),

        Route("GET",    "/v1/series", series.list, reply=SERIES_LIST, query=SeriesQueryByName,
              since=SINCE_SERIES),
        Route("POST",   "/v1/series", series.create, 201, body=SeriesCreate, reply=SERIES,
              bodies=series_bodies.CREATE, dry_run=SERIES_PREVIEW, headers=(IDEMPOTENCY_KEY,),
              since=SINCE_SERIES),
        Route("GET",    "/v1/series/{series_id}", series.show, reply=SERIES, since=SINCE_SERIES),
        Route("PUT",    "/v1/series/{series_id}", series.update, body=SeriesUpdate, reply=SERIES,
              bodies=series_bodies.UPDATE, since=SINCE_SERIES),
        Route("DELETE", "/v1/series/{series_id}", series.delete, 204, query=SeriesToDelete,
              since=SINCE_SERIES),

        Route("GET",    "/v1/feeds", feeds.list, reply=FEEDS, query=FeedsQuery, since=(1, 17)),
        Route("POST",   "/v1/feeds", feeds.create, 201, body=FeedCreate, reply=FEED_REPLY, since=(1, 17)),
        Route("DELETE", "/v1/feeds/{feed_id}", feeds.delete, 204, since=(1, 17)),
        Route("GET",    FEED, feeds.read, reply=CALENDAR_FILE, headers=(IF_FEED_HAS_CHANGED,),
              media_type=CALENDAR, public=True),

        Route("GET", "/v1/mail", mail.show, reply=MAIL, since=SINCE_MAIL),
        Route("PUT", "/v1/mail", mail.update, body=mail_bodies.MailUpdate, bodies=mail_bodies.UPDATE,
              reply=MAIL, since=SINCE_MAIL),

        Route("GET",    "/v1/quotas", quotas.list, reply=QUOTAS),
        Route("GET",    "/v1/quotas/{project_id}", quotas.show, reply=QUOTA),
        Route("PUT",    "/v1/quotas/{project_id}", quotas.update, body=QuotaUpdate, reply=QUOTA),
        Route("DELETE", "/v1/quotas/{project_id}", quotas.delete, 204),
        Route("GET",    "/v1/quotas/{project_id}/usage", quotas.usage, reply=USAGE),

        Route("GET", "/v1/capacity", CapacityActions(service, authorizer).show, query=CapacityQuery,
              reply=CAPACITY, since=(1, 2)),

        Route("GET", "/v1/timeline", TimelineActions(service, authorizer).show, query=TimelineQuery,
              reply=TIMELINE, headers=(IF_NONE_MATCH,), since=(1, 10)),

        Route("GET", "/v1/promises", PromiseActions(service, authorizer).show, reply=PROMISES,
              headers=(IF_PROMISES_CHANGED,), since=SINCE_PROMISES),

        Route("GET", "/v1/usage", UsageActions(service, authorizer).report, query=UsageQuery,
              reply=USAGE_REPORT, also=CSV, since=SINCE_USAGE),

        Route("GET", "/v1/services", ServiceActions(service, authorizer).list, reply=SERVICES),
    )
    # fmt: on
    contributed = (route for extension in extensions for route in extension.routes(service, authorizer))
    table = (*core, *contributed)
    return (*table, openapi.route(table, kinds))


def make_app(
    service: Service,
    kinds: Kinds,
    extensions: Sequence[ApiExtension],
    enforcer: policy.Enforcer,
    *,
    conf: cfg.ConfigOpts,
    authenticate: Middleware,
    health: Callable[[], Health],
    metrics: Metrics = NO_METRICS,
    exposition: Exposition | None = None,
    tracing: Tracing = NO_TRACING,
    dashboard: Dashboard | None = None,
    streams: Streams | None = None,
) -> WSGIApplication:
    """Return the whole API. ``conf`` is for [api]shortage_details and oslo.middleware's own options ([cors]
    and [oslo_middleware]) only. Without ``streams`` no connection is kept open.

    The layers, from the inside out; each stands where it does for a reason:
    """
    authorizer = Authorizer(enforcer)
    tells_shortages = conf.api.shortage_details == "all"
    table = routes(
        service, kinds, extensions, authorizer, health, tells_shortages, streams, dashboard is not None
    )
    api: WSGIApplication = falcon_app(table, identify_with(authorizer), tells_shortages=tells_shortages)
    # Version documents and the health check are answered even while Keystone is away, so without a token.
    app = _either({route.path for route in table if route.public}, api, authenticate(api))
    # One spelling of each path, before any part compares it.
    app = _one_spelling(app)
    # A browser's preflight request carries no token, so CORS stands before the authentication.
    app = _cors(app, conf)
    # The page is of the API's own origin, and its files have names of their own spelling.
    app = with_dashboard(app, dashboard) if dashboard else app
    # All that is inside is logged and counted, refusals by the layers above included ...
    app = request_log(app, metrics, tracing)
    # ... without the secrets in the addresses of feeds, which nothing inside is shown ...
    app = without_secrets(app)
    # ... under the request's id, which every answer carries.
    app = RequestId(app)
    # Prometheus asks often, and is no client.
    app = with_metrics(app, exposition) if exposition else app
    # The proxy's headers say which address the client used; links in answers are built on it.
    return _behind_proxy(app, conf)


def _either(
    public: Iterable[str], unprotected: WSGIApplication, protected: WSGIApplication
) -> WSGIApplication:
    paths = frozenset(public)

    def dispatch(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        app = unprotected if environ["PATH_INFO"] in paths else protected
        return app(environ, start_response)

    return dispatch


def _one_spelling(app: WSGIApplication) -> WSGIApplication:
    """``/v1/leases.json`` is ``/v1/leases``, ``/v1/`` is ``/v1``, nothing is ``/``; HEAD is a bare GET."""

    def normalised(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "").removesuffix(".json")
        environ["PATH_INFO"] = "/v1" if path == "/v1/" else path or "/"
        if environ["REQUEST_METHOD"] != "HEAD":
            return app(environ, start_response)
        environ["REQUEST_METHOD"] = "GET"
        body = app(environ, start_response)
        if hasattr(body, "close"):
            body.close()
        return []

    return normalised


def _cors(app: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
    """Browsers of the origins in [cors]allowed_origin may call us; without that option, none, and nothing is
    done."""
    conf.register_opts(cors_options.CORS_OPTS, group="cors")
    both = ["X-OpenStack-Request-ID", microversion.HEADER]
    asked = (*both, IF_MATCH.name, IDEMPOTENCY_KEY.name, LAST_EVENT_ID.name)
    conf.set_default("allow_headers", ["X-Auth-Token", *asked], group="cors")
    conf.set_default("expose_headers", [*both, "ETag"], group="cors")
    conf.set_default("allow_methods", ["GET", "PUT", "POST", "DELETE", "PATCH"], group="cors")
    return CORS(app, conf) if conf.cors.allowed_origin else app


def _behind_proxy(app: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
    """The headers of proxies count where [oslo_middleware] enable_proxy_headers_parsing says so."""
    behind = HTTPProxyToWSGI(app, conf)  # which registers the option
    return behind if conf.oslo_middleware.enable_proxy_headers_parsing else app
