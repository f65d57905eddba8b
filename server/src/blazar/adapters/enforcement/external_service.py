"""The usage filter that asks an HTTP service: whether a lease may be stored is decided elsewhere.

The service gets ``POST`` with JSON. It answers 204 for yes and 403 for no, with a sentence for the user. One
body serves the services that were made for other versions of the reservation service; they differ in
headers, and in the name under which they write the sentence."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
import urllib3
from oslo_config import cfg

from blazar.adapters.openstack.bulkhead import CALLS_AT_ONCE, Bulkhead
from blazar.adapters.openstack.session import pooled_http
from blazar.domain.errors import BadAnswer, CloudRefused, CloudUnavailable, TooLate, UsageRefused
from blazar.service import log_context
from blazar.service.ports import Identity, Report, ReportType
from blazar.service.ports.enforcement import Documents, Proposal, UsageFilter

LOG = logging.getLogger(__name__)
SERVICE = "The enforcement service"
DENIED = "External service enforcement filter denied the request."
TEXTS = ("message", "error", "detail")
"""Where services write why they refuse, the first one that is there counts."""
LONGEST_ANSWER = 64 * 1024
"""Bytes of an answer that are read."""
LONGEST_REASON = 500
"""Characters of a service's sentence that users are shown."""
NO_DECISION = frozenset({408, 429, 502, 503, 504})
"""Statuses by which the service, or a proxy in front of it, says that it cannot work now."""
PATHS: Mapping[str, str] = {
    "check_create": "check-create",
    "check_update": "check-update",
    "on_end": "on-end",
}
"""What the address of each call is, below the base."""
CALLS: Mapping[ReportType, str] = {
    ReportType.CREATED: "commit_create",
    ReportType.UPDATED: "commit_update",
    ReportType.ENDED: "on_end",
}


@dataclass(frozen=True, slots=True)
class ExternalServiceSettings:
    """Where the service is and how it is asked. ``endpoints`` are addresses by call; a call without one is
    not made."""

    endpoints: Mapping[str, str]
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Those that prove who asks: secrets."""
    sends_own_token: bool = False
    """Send the service's own Keystone token."""
    timeout: float = 5.0
    """Seconds."""
    fails_open: bool = False
    """Allow a lease where the service makes no decision."""
    cafile: str | None = None
    auth_url: str | None = None
    """What the service is told of Keystone's address; by default what the catalog has."""
    region_name: str | None = None
    calls_at_once: int = CALLS_AT_ONCE
    """Calls of requests that are under way at once."""

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> ExternalServiceSettings:
        """Raises ValueError where an option cannot be meant so."""
        own = conf.enforcement
        return cls(
            _endpoints(own),
            _headers(own),
            own.external_service_own_token,
            own.external_service_timeout,
            own.external_service_fail_open,
            own.external_service_cafile,
            own.external_service_auth_url,
            conf.cloud.region_name,
            conf.cloud.calls_at_once,
        )


class ExternalServiceFilter(UsageFilter):
    """Asks an HTTP service whether leases may be stored, and tells it what becomes of them."""

    def __init__(self, settings: ExternalServiceSettings) -> None:
        self._settings = settings
        self._http = pooled_http(settings.calls_at_once + 1)
        self._bulkhead = Bulkhead(SERVICE, settings.calls_at_once)
        self.fails_open = settings.fails_open
        self.reports = frozenset(what for what, call in CALLS.items() if call in settings.endpoints)

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> ExternalServiceFilter:
        return cls(ExternalServiceSettings.from_conf(conf))

    def check_create(self, proposal: Proposal) -> None:
        if "check_create" in self._settings.endpoints:
            self._ask("check_create", proposal, {"dry_run": True})

    def check_update(self, proposal: Proposal) -> None:
        if "check_update" in self._settings.endpoints:
            self._ask("check_update", proposal, {})

    def _ask(self, call: str, proposal: Proposal, more: Mapping[str, Any]) -> None:
        body = {**self._body(proposal.documents(), proposal.identity), **more}
        with self._bulkhead.entered(proposal.seconds_left()):
            status, text = self._post(call, body, proposal.identity, proposal.seconds_left())
        if status == 403:
            raise UsageRefused(text or DENIED)
        if status != 204:
            LOG.error("Enforcement %s is answered with %s: neither yes nor no", call, status)
            raise BadAnswer(DENIED)

    def tell(self, report: Report, documents: Documents, identity: Identity) -> None:
        call = CALLS[report.type]
        if call not in self._settings.endpoints:
            return
        seconds = self._settings.timeout
        status, _ = self._post(call, self._body(documents, identity), identity, seconds)
        if status in NO_DECISION:
            raise CloudUnavailable(service=SERVICE, reason=f"it answered {call} with {status}")
        if status == 403 and report.type is not ReportType.ENDED:
            # So is a report answered that is repeated, because the answer to the first one was lost.
            level = logging.INFO if report.attempts else logging.ERROR
            LOG.log(level, "The service refuses %s of lease %s, which it has allowed", call, report.lease_id)
        elif not 200 <= status < 300:
            raise CloudRefused(service=SERVICE, reason=f"it answered {call} with {status}")

    def _body(self, documents: Documents, identity: Identity) -> dict[str, Any]:
        settings, lease = self._settings, documents["lease"]
        context = {
            "user_id": lease["user_id"],
            "project_id": lease["project_id"],
            "auth_url": settings.auth_url or identity.endpoint(),
            "region_name": settings.region_name,
        }
        return {"context": context, **documents}

    def _post(
        self, call: str, body: Mapping[str, Any], identity: Identity, seconds_left: float
    ) -> tuple[int, str]:
        """Return the status, and the sentence of a refusal. Raises CloudUnavailable without an answer."""
        seconds = min(self._settings.timeout, seconds_left)
        if seconds <= 0:
            raise TooLate()
        began, outcome = time.perf_counter(), "failed"  # a duration, not a time of day
        try:
            with self._http.post(
                self._settings.endpoints[call],
                data=json.dumps(body),
                headers=self._all_headers(identity),
                timeout=seconds,
                allow_redirects=False,  # the token is for this address only
                stream=True,
                verify=self._settings.cafile or True,
            ) as answer:
                text = _sentence(_content(answer, began + seconds)) if answer.status_code == 403 else ""
                outcome = str(answer.status_code)
                return answer.status_code, text
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as failure:
            # The library's own sentence would repeat the address, which may hold a secret.
            reason = f"{call} has no answer ({type(failure).__name__})"
            raise CloudUnavailable(service=SERVICE, reason=reason) from None
        finally:
            duration = (time.perf_counter() - began) * 1000
            LOG.info("Enforcement %s: %s after %.1f ms", call, outcome, duration)

    def _all_headers(self, identity: Identity) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if request_id := log_context.request_id():
            headers["X-OpenStack-Request-ID"] = request_id
        if self._settings.sends_own_token:
            headers["X-Auth-Token"] = identity.own_token()
        return {**headers, **self._settings.headers}


def _content(answer: requests.Response, end: float) -> bytes:
    """Return the body as far as it is short and comes in time."""
    content = b""
    while len(content) <= LONGEST_ANSWER and time.perf_counter() < end:
        some: bytes = answer.raw.read1(LONGEST_ANSWER)
        if not some:
            return content
        content += some
    return b""


def _sentence(content: bytes) -> str:
    """Return why the service refuses, in one line; an empty text where it does not say."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    texts = [body.get(name) for name in TEXTS] if isinstance(body, dict) else []
    found = next((text for text in texts if isinstance(text, str) and text.strip()), "")
    line = "".join(each if each.isprintable() else " " for each in found.strip())
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"


def _endpoints(own: Any) -> dict[str, str]:
    """Return the address of each call that has one. Raises ValueError where one is not an address, or no call
    has one."""
    base = own.external_service_base_endpoint
    calls = (*PATHS, "commit_create", "commit_update")
    given = {call: own[f"external_service_{call}_endpoint"] for call in calls}
    joined = {call: urljoin(base, path) for call, path in PATHS.items()} if base else {}
    found = {**joined, **{call: url for call, url in given.items() if url}}
    if not found:
        raise ValueError("[enforcement] ExternalServiceFilter needs external_service_base_endpoint")
    for call, url in found.items():
        if not _is_address(url):
            raise ValueError(f"[enforcement] the address for {call} is no http:// or https:// address")
    return found


def _is_address(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _headers(own: Any) -> dict[str, str]:
    """Raises ValueError where a token cannot be sent. The token itself is not shown."""
    token, bearer = own.external_service_token, own.external_service_bearer_token
    if not (token + bearer).isascii() or not (token + bearer).isprintable():
        raise ValueError("[enforcement] a token of the external service has characters that cannot be sent")
    return {
        **({"X-Auth-Token": token} if token else {}),
        **({"Authorization": f"Bearer {bearer}"} if bearer else {}),
    }
