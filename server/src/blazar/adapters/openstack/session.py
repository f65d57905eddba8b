"""Requests to OpenStack: one kept session and token per process, and failures as errors of the service."""

from __future__ import annotations

import copy
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

import requests
import requests.adapters
import urllib3
from keystoneauth1 import exceptions as ks_exceptions
from keystoneauth1.adapter import Adapter
from keystoneauth1.identity.base import BaseIdentityPlugin
from keystoneauth1.plugin import BaseAuthPlugin
from keystoneauth1.session import Session
from openstack.exceptions import SDKException

from blazar.adapters.openstack.bulkhead import Bulkhead
from blazar.domain.errors import BlazarError, CloudRefused, CloudUnavailable, TooLate
from blazar.service import log_context
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.tracing import NO_TRACING, Tracing

LOG = logging.getLogger(__name__)
Check = Callable[[], None]
Find = Callable[[], Adapter]
"""Finds a service's endpoint, by asking Keystone and the service; called each time, so it should remember
what it found."""
NOT_GOOD = (ks_exceptions.Unauthorized, ks_exceptions.Forbidden, ks_exceptions.NotFound)
"""Keystone's answers to credentials that are not, or no longer, good for what they are used for."""
JSON_PATCH = {"Content-Type": "application/openstack-images-v2.1-json-patch"}
RETRY_LATER = frozenset({401, 408, 413, 429, 500, 502, 503, 504})
SecondsLeft = Callable[[], float]
_SECONDS_LEFT: ContextVar[SecondsLeft | None] = ContextVar("seconds_left", default=None)
"""How long the caller of this thread's request still waits. One call to a service may send several HTTP
requests (token, discovery, the call itself), and keystoneauth passes no time limit on to the first ones."""


def no_check() -> None:
    """Allow the call."""


class _Http(requests.Session):
    """Reads the environment's proxies and certificates once for each service, where requests does at each
    call, and never ~/.netrc: only Keystone gets a password."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False
        self._kept: dict[object, Any] = {}

    def send(self, request: Any, **kwargs: Any) -> requests.Response:
        """Raises requests.Timeout also where the caller waits no longer."""
        seconds_left = _SECONDS_LEFT.get()
        if seconds_left is not None:
            seconds, configured = seconds_left(), kwargs.get("timeout")
            if seconds <= 0:
                raise requests.Timeout("the time of the request is over")
            # The limit of connecting and of waiting for the answer together.
            kwargs["timeout"] = urllib3.Timeout(min(seconds, configured or seconds))
        return super().send(request, **kwargs)

    def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        key = (*urlsplit(url)[:2], tuple(sorted((proxies or {}).items())), stream, verify, cert)
        if key not in self._kept:
            with requests.Session() as trusting:
                self._kept[key] = trusting.merge_environment_settings(url, proxies, stream, verify, cert)
        return self._kept[key]


class _Place:
    """The endpoint of a service, for as long as our token is good: keystoneauth searches a copy of the
    token's whole catalog at each call."""

    def __init__(self) -> None:
        self._known: tuple[object, str | None] = (None, None)

    def of(self, adapter: Adapter) -> str | None:
        """Return the service's endpoint; None where keystoneauth has to say what is wrong."""
        auth = adapter.session.auth
        if not isinstance(auth, BaseIdentityPlugin):
            return None
        access, known = auth.get_access(adapter.session), self._known
        if known[0] is not access:
            # The SDK's proxy for Keystone has a method of that name for something else.
            endpoint = Adapter.get_endpoint(adapter)
            # keystoneauth would replace %(project_id)s and the like.
            known = self._known = (access, endpoint and str(endpoint).replace("%", "%%"))
        return known[1]


TOKEN_SECONDS = 10.0
"""How long a call waits while another one renews our token."""


class _TokenLock:
    """The lock under which keystoneauth renews our token, with a bound: while Keystone hangs, one call after
    the other would have it, and all others would wait for ever."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        seconds_left = _SECONDS_LEFT.get()
        seconds = TOKEN_SECONDS if seconds_left is None else max(min(seconds_left(), TOKEN_SECONDS), 0)
        if not self._lock.acquire(timeout=seconds):
            raise ks_exceptions.ClientException("Our token is being renewed, and Keystone does not answer")

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def bound_renewal(session: Session) -> None:
    """Let no call wait for long for the renewal of the session's own token."""
    if isinstance(session.auth, BaseIdentityPlugin):
        session.auth._lock = _TokenLock()  # type: ignore[assignment]  # all that is asked of a lock there


def pooled_http(connections: int) -> requests.Session:
    """Return an HTTP session that keeps as many connections open as there are workers."""
    http = _Http()
    adapter = requests.adapters.HTTPAdapter(pool_connections=connections, pool_maxsize=connections)
    http.mount("http://", adapter)
    http.mount("https://", adapter)
    return http


class ServiceApi:
    """One OpenStack service's API: JSON in and out, absent things as None, every failure as one of two
    errors.

    Raises CloudUnavailable where asking again may help (no answer, 5xx, 429, an answer that is not JSON) and
    CloudRefused with the service's own words where it won't."""

    def __init__(
        self,
        name: str,
        find: Find,
        bulkhead: Bulkhead,
        check: Check = no_check,
        auth: BaseAuthPlugin | None = None,
        metrics: Metrics = NO_METRICS,
        tracing: Tracing = NO_TRACING,
    ) -> None:
        self._name = name
        self._find = find
        self._bulkhead = bulkhead
        self._check = check
        self._seconds_left: SecondsLeft | None = None
        self._auth = auth
        self._metrics = metrics
        self._tracing = tracing
        self._place = _Place()

    def fenced(self, check: Check) -> ServiceApi:
        fenced = copy.copy(self)
        fenced._check = check
        return fenced

    def for_request(self, seconds_left: SecondsLeft) -> ServiceApi:
        """Return the same API for a request whose caller waits so long. The engine's calls have no such
        limits."""
        bounded = copy.copy(self)
        bounded._seconds_left = seconds_left
        return bounded

    def acting(self, auth: BaseAuthPlugin) -> ServiceApi:
        """Return the same API with the credentials of another user: where these are refused, asking again
        does not help."""
        acting = copy.copy(self)
        acting._auth = auth
        return acting

    def endpoint(self) -> str:
        """Return the service's address, as the catalog has it."""
        self._check()
        with self._turn(), self.in_time(), self._failures():
            found = Adapter.get_endpoint(self._find())
        if found is None:
            raise CloudUnavailable(service=self._name, reason="the catalog has no address of it")
        return str(found)

    def is_offered(self) -> bool:
        """Return whether the catalog has an address of the service."""
        self._check()
        with self._turn(), self.in_time(), self._failures():
            try:
                return Adapter.get_endpoint(self._find()) is not None
            except ks_exceptions.EndpointNotFound:
                return False

    def get(self, path: str, version: str | None = None, **params: Any) -> Any:
        return self._call("GET", path, version, params=params)

    def get_secret(self, path: str, version: str | None = None, **params: Any) -> Any:
        """Do as ``get``, but do not log the answer."""
        return self._call("GET", path, version, params=params, **_unlogged(True))

    def find(
        self, path: str, version: str | None = None, is_secret: bool = False, **params: Any
    ) -> Any | None:
        """Do as ``get``, but return None where the service says 404. The answer is not logged where it
        ``is_secret``."""
        return self._call("GET", path, version, params=params, absent=(404,), **_unlogged(is_secret))

    def post(
        self,
        path: str,
        body: Any,
        version: str | None = None,
        absent: tuple[int, ...] = (),
        is_secret: bool = False,
        refused: tuple[int, ...] = (),
    ) -> Any | None:
        """Return the answer's body; None for an answer whose status is in ``absent``, which is then no
        error. One in ``refused`` is a refusal, also where asking again helps elsewhere. Neither body is
        logged where it ``is_secret``."""
        hidden = _unlogged(is_secret)
        return self._call("POST", path, version, json=body, absent=absent, refused=refused, **hidden)

    def put(
        self, path: str, body: Any, version: str | None = None, absent: tuple[int, ...] = ()
    ) -> Any | None:
        return self._call("PUT", path, version, json=body, absent=absent)

    def patch_image(
        self, path: str, steps: Sequence[Mapping[str, Any]], absent: tuple[int, ...] = (404,)
    ) -> Any | None:
        """Change an image by a JSON patch, whose type Glance wants to be told. Return None for an answer
        whose status is in ``absent``; by default where the image is gone."""
        return self._call("PATCH", path, None, json=steps, absent=absent, headers=JSON_PATCH)

    def delete(self, path: str, version: str | None = None, absent: tuple[int, ...] = (404,)) -> bool:
        """Return whether the service did it; false for an answer whose status is in ``absent``."""
        return self._call("DELETE", path, version, absent=absent) is not None

    def _call(
        self,
        method: str,
        path: str,
        version: str | None,
        absent: tuple[int, ...] = (),
        refused: tuple[int, ...] = (),
        **kwargs: Any,
    ) -> Any | None:
        self._check()
        began = time.perf_counter()  # a duration, not a time of day
        try:
            with self._turn(), self.in_time():
                answer = self._asked(method, path, version, **kwargs)
        except BlazarError:
            self._tell(method, path, "failed", began)
            raise
        status = int(answer.status_code)
        self._tell(method, path, str(status), began)
        if status in absent:
            return None
        is_final = status in refused or (status == 401 and self._auth is not None)
        if status in RETRY_LATER and not is_final:
            raise CloudUnavailable(service=self._name, reason=f"{method} {path} answered {status}")
        if status >= 400:
            raise CloudRefused(service=self._name, reason=f"{_explanation(answer)} (HTTP {status})")
        if status == 204 or not answer.content:
            return {}
        try:
            return answer.json()
        except ValueError as failure:
            raise CloudUnavailable(
                service=self._name, reason=f"{method} {path} did not answer JSON"
            ) from failure

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Have one of the calls that all requests together may have under way."""
        if self._seconds_left is None:
            yield
            return
        with self._bulkhead.entered(self._seconds_left()):
            yield

    @contextmanager
    def in_time(self) -> Iterator[None]:
        """End each HTTP request inside the block when the caller stops waiting. Raises TooLate where that is
        over."""
        if self._seconds_left is not None and self._seconds_left() <= 0:
            raise TooLate()
        token = _SECONDS_LEFT.set(self._seconds_left)
        try:
            yield
        finally:
            _SECONDS_LEFT.reset(token)

    def _asked(self, method: str, path: str, version: str | None, **kwargs: Any) -> requests.Response:
        """Return the service's answer, whatever its status. Raises CloudUnavailable, CloudRefused where there
        is none."""
        with self._failures(), self._tracing.step(f"{self._name} {method}", {"url.path": path}) as span:
            headers = {**kwargs.pop("headers", {}), **span.headers}
            if request_id := log_context.request_id():
                headers["X-OpenStack-Request-ID"] = request_id
            # Found here and not before: a service that is away when we start is asked again later, as at any
            # other time.
            adapter = self._find()
            if self._auth is not None:
                kwargs["auth"] = self._auth
            else:
                kwargs["endpoint_override"] = self._place.of(adapter)
            answer: requests.Response = adapter.request(
                path, method, microversion=version, raise_exc=False, headers=headers, **kwargs
            )
            span.tell({"http.response.status_code": answer.status_code})
            return answer

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Turn what the libraries raise into our errors. Raises CloudUnavailable, CloudRefused."""
        try:
            yield
        except (
            ks_exceptions.ConnectionError,
            ks_exceptions.DiscoveryFailure,
            requests.RequestException,
            SDKException,
        ) as failure:
            raise CloudUnavailable(service=self._name, reason=_sentence(failure)) from failure
        except ks_exceptions.ClientException as failure:
            if self._auth is not None and isinstance(failure, NOT_GOOD):
                raise CloudRefused(service="Keystone", reason=_sentence(failure)) from failure
            # Whatever goes wrong between us and Keystone: tokens, catalog, Keystone's own errors.
            raise CloudUnavailable(service="Keystone", reason=_sentence(failure)) from failure

    def _tell(self, method: str, path: str, outcome: str, began: float) -> None:
        seconds = time.perf_counter() - began
        LOG.info(
            "%s %s %s: %s after %.1f ms",
            self._name,
            method,
            path,
            outcome,
            seconds * 1000,
            extra={"action": "cloud_call", "outcome": outcome},
        )
        self._metrics.cloud_called(self._name, method, outcome, seconds)


def _unlogged(is_secret: bool) -> dict[str, Any]:
    """keystoneauth logs bodies at the level of debugging."""
    return {"log": False} if is_secret else {}


def _sentence(failure: Exception) -> str:
    return str(failure).split("\n", 1)[0][:300]


def _explanation(answer: requests.Response) -> str:
    """Return the service's own words: Nova wraps them by fault name, Neutron by NeutronError, Placement in a
    list of errors."""
    try:
        body = answer.json()
    except ValueError:
        return str(answer.reason)
    if isinstance(body, dict):
        if isinstance(body.get("errors"), list) and body["errors"]:
            return str(body["errors"][0].get("detail", "")).strip()
        for value in body.values():
            if isinstance(value, dict) and "message" in value:
                return str(value["message"]).strip()
    return str(answer.reason)
