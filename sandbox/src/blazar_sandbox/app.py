"""The WSGI application, which serves all services on one origin."""

import json
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from blazar_sandbox.api import control, image, orchestration, volume
from blazar_sandbox.api.compute import routes as compute
from blazar_sandbox.api.identity import auth
from blazar_sandbox.api.identity import routes as identity
from blazar_sandbox.api.network import routes as network
from blazar_sandbox.api.placement import routes as placement
from blazar_sandbox.cloud import Cloud
from blazar_sandbox.errors import ApiError, forbidden
from blazar_sandbox.faults import NO_INJECTION, Effect, Fault, Injection, When
from blazar_sandbox.journal import Call
from blazar_sandbox.wsgi import error_bodies
from blazar_sandbox.wsgi.microversion import Microversions
from blazar_sandbox.wsgi.request import Environ, Request
from blazar_sandbox.wsgi.response import REASONS, Response
from blazar_sandbox.wsgi.routing import Route, Router

LOG = logging.getLogger(__name__)

StartResponse = Callable[..., Any]
WsgiApp = Callable[[Environ, StartResponse], Iterable[bytes]]

DROP_KEY = "blazar_sandbox.socket"
"""The key of the WSGI environment under which the server puts a function that closes the connection."""


@dataclass(frozen=True)
class Service:
    """A service of the cloud, served under a prefix of the path."""

    name: str
    router: Router
    render_error: Callable[[ApiError, Request], Any]
    microversions: Microversions | None = None
    allow: Callable[[Request], None] | None = None
    """A check that every call with a token must pass."""
    request_id_headers: tuple[str, ...] = ("x-openstack-request-id",)
    is_cloud: bool = True
    """Its calls are recorded in the journal, and faults apply to them."""


def _operators_only(request: Request) -> None:
    if not request.caller.has("admin", "service"):
        raise forbidden(f"Policy does not allow placement:{request.method.lower()} to be performed.")


_ROOT = Service(
    "identity", Router([Route("GET", "/", auth.list_versions, needs_token=False)]), error_bodies.keystone
)

SERVICES: dict[str, Service] = {
    "": _ROOT,
    "v3": Service("identity", Router(identity.ROUTES), error_bodies.keystone),
    "compute": Service(
        "compute", Router(compute.ROUTES), error_bodies.nova, compute.MICROVERSIONS,
        request_id_headers=("x-openstack-request-id", "x-compute-request-id"),
    ),
    "placement": Service(
        "placement", Router(placement.ROUTES), error_bodies.placement, placement.MICROVERSIONS,
        _operators_only,
    ),
    "network": Service("network", Router(network.ROUTES), error_bodies.neutron),
    "image": Service("image", Router(image.ROUTES), error_bodies.glance),
    "volume": Service(
        "volume", Router(volume.ROUTES), error_bodies.nova, volume.MICROVERSIONS,
        request_id_headers=("x-openstack-request-id", "x-compute-request-id"),
    ),
    "orchestration": Service("orchestration", Router(orchestration.ROUTES), orchestration.render_error),
    "sandbox": Service("sandbox", Router(control.ROUTES), error_bodies.keystone, is_cloud=False),
}  # fmt: skip


class ConnectionDropped(Exception):
    """The connection was closed by a fault, or the server cannot close it."""


class SandboxApp:
    """The WSGI application."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one call."""
        cloud, where = self.cloud, ""
        prefix, _, rest = environ.get("PATH_INFO", "/").lstrip("/").partition("/")
        if prefix in cloud.more_regions:
            cloud, where = cloud.more_regions[prefix], f"{prefix}/"
            prefix, _, rest = rest.partition("/")
        service = SERVICES.get(prefix)
        if service is None:
            service, rest = _ROOT, environ["PATH_INFO"].lstrip("/")
        if where:
            service = replace(service, name=f"{where}{service.name}")
        method = environ["REQUEST_METHOD"]
        request = Request(cloud, service.name, method, "/" + rest, environ)
        injection = self._inject(service, request)
        response, template = self._answer_or_fault(service, request, injection)
        if service.is_cloud:
            caller = request.access
            self.cloud.journal.record(
                Call(
                    service.name, method, template, request.path, response.status,
                    caller.user.id if caller else "", caller.project_id if caller else "",
                )
            )  # fmt: skip
        if injection.fault is not None and injection.fault.effect is Effect.DROP:
            return _drop(environ)
        more = [(name, request.request_id) for name in service.request_id_headers]
        return _send(start_response, response, more, head=method == "HEAD")

    def _inject(self, service: Service, request: Request) -> Injection:
        if not service.is_cloud:
            return NO_INJECTION
        query = request.environ.get("QUERY_STRING")
        path = f"{request.path}?{query}" if query else request.path
        return self.cloud.faults.inject(service.name, request.method, path)

    def _answer_or_fault(
        self, service: Service, request: Request, injection: Injection
    ) -> tuple[Response, str]:
        if injection.seconds or injection.hangs:
            # A client whose body stays unread during the delay would take the server for dead.
            _ = request.raw_body
            time.sleep(injection.seconds)
            for fault_id in injection.hangs:
                self.cloud.faults.wait_for_removal(fault_id)
        fault = injection.fault
        if fault is None:
            return self._answer(service, request)
        template = request.path
        if fault.when is When.AFTER:
            _response, template = self._answer(service, request)
        return _faulty(service, fault, request), template

    def _answer(self, service: Service, request: Request) -> tuple[Response, str]:
        template = request.path
        try:
            route, args = service.router.find(request.method, request.path)
            template = route.template
            request.args = args
            if service.microversions is not None:
                request.version = service.microversions.of(request)
            response = self._respond(service, route, request)
        except ApiError as refusal:
            response = _refused(service, refusal, request)
        except Exception:
            # The edge of the application: after any error the caller gets a response in the service's form.
            LOG.exception("%s %s failed in the sandbox itself", request.method, request.path)
            response = _refused(service, ApiError(500, "The sandbox failed; its log tells why."), request)
        if service.microversions is not None:
            headers = service.microversions.headers(request.version)
            response = replace(response, headers=(*response.headers, *headers))
        return response, template

    def _respond(self, service: Service, route: Route, request: Request) -> Response:
        _ = request.raw_body  # read before the lock is taken, so that a slow client blocks no other
        with self.cloud.lock:
            request.cloud.advance()
            if route.needs_token:
                request.access = self.cloud.tokens.access(_token_id(request))
                if service.allow is not None:
                    service.allow(request)
            return route.responder(request)


def _token_id(request: Request) -> str:
    token_id = request.header("X-Auth-Token")
    if token_id is None:
        raise ApiError(401, "The request you have made requires authentication.")
    return token_id


def _refused(service: Service, refusal: ApiError, request: Request) -> Response:
    headers = refusal.headers
    if refusal.status == 401:
        headers = (*headers, ("WWW-Authenticate", 'Keystone uri="/v3"'))
    return Response(refusal.status, service.render_error(refusal, request), headers)


def _faulty(service: Service, fault: Fault, request: Request) -> Response:
    headers = (("Retry-After", str(fault.retry_after)),) if fault.retry_after is not None else ()
    if fault.effect is Effect.GARBAGE:
        page = b'<html><body><h1>It works!</h1> {"this is": no JSON</body></html>'
        return Response(fault.status, None, (*headers, ("Content-Type", "text/html")), raw=page)
    refusal = ApiError(fault.status, fault.message, headers=headers)
    return _refused(service, refusal, request)


def _drop(environ: Environ) -> Iterable[bytes]:
    drop = environ.get(DROP_KEY)
    if drop is None:
        raise ConnectionDropped("this WSGI server cannot drop a connection")
    drop()
    # Nothing can be sent any more.
    raise ConnectionDropped("a fault dropped this connection")


def _send(
    start_response: StartResponse, response: Response, more: list[tuple[str, str]], *, head: bool
) -> Iterable[bytes]:
    headers = [*response.headers, *more]
    body = b""
    if response.raw is not None:
        body = response.raw
    elif response.body is not None:
        body = json.dumps(response.body).encode()
        headers.append(("Content-Type", "application/json"))
    if response.status != 204:
        headers.append(("Content-Length", str(len(body))))
    reason = REASONS.get(response.status, "Unknown")
    start_response(f"{response.status} {reason}", headers)
    return [] if head else [body]


def make_app(cloud: Cloud) -> WsgiApp:
    """Return the WSGI application that serves a cloud."""
    return SandboxApp(cloud)
