"""One log line for each request: method, path, status, duration and caller; no token."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from oslo_context.context import RequestContext

from blazar.api.caller import CALLER
from blazar.api.errors import internal_message, printable, shape_b
from blazar.api.routing import ROUTE
from blazar.service.context import Caller
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.tracing import NO_TRACING, Span, Tracing

LOG = logging.getLogger(__name__)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def request_log(
    app: WSGIApplication, metrics: Metrics = NO_METRICS, tracing: Tracing = NO_TRACING
) -> WSGIApplication:
    """Log, count and trace the requests to ``app``. A trace begins here whatever the client sends: else any
    client could have all its requests recorded. This is also the process edge: exceptions that no inner layer
    caught are answered here."""

    def traced(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request_id = str(environ.get("openstack.request_id") or "-")
        with tracing.entry("request", {"openstack.request_id": request_id}) as span:
            return logged(environ, start_response, span)

    def logged(environ: WSGIEnvironment, start_response: StartResponse, span: Span) -> Iterable[bytes]:
        began = time.perf_counter()  # a duration, not a time of day
        request_id = environ.get("openstack.request_id")
        RequestContext(request_id=request_id, overwrite=True)  # read by oslo.log only
        method = printable(environ.get("REQUEST_METHOD", "-"))
        path = printable(environ.get("PATH_INFO", ""))
        status = "-"

        def remember(
            line: str, headers: list[tuple[str, str]], exc_info: Any = None, /
        ) -> Callable[[bytes], object]:
            nonlocal status
            status = line.split(" ", 1)[0]
            return start_response(line, headers, exc_info) if exc_info else start_response(line, headers)

        try:
            return app(environ, remember)
        except (
            Exception
        ):  # the process edge: a defect in the middleware must not take the server's thread with it
            LOG.exception("%s %s failed", method, path)
            body = json.dumps(shape_b(500, internal_message(request_id))).encode()
            headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
            remember("500 Internal Server Error", headers)
            return [body]
        finally:
            seconds = time.perf_counter() - began
            milliseconds = seconds * 1000
            caller: Caller | None = environ.get(CALLER)
            LOG.info(
                "%s %s %s %.1f ms request %s user %s project %s",
                method,
                path,
                status,
                milliseconds,
                request_id or "-",
                caller.user_id if caller else "-",
                (caller.project_id if caller else None) or "-",
                extra={"action": "request", "status": status, "milliseconds": round(milliseconds, 1)},
            )
            # What a stranger sends must not make metrics of its own.
            known = method if method in METHODS else "other"
            number = int(status) if status.isdigit() else 0
            route = environ.get(ROUTE, "none")
            metrics.request_answered(known, route, number, seconds)
            span.tell({"http.route": route, "http.response.status_code": number}, f"{known} {route}")

    return traced
