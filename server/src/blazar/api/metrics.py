"""The metrics for Prometheus beside the API, and with the health on the manager's own port."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from blazar.api.health import Health, checked, health_reply

METRICS = "/metrics"
Exposition = Callable[[], tuple[str, bytes]]
"""The content type and the text that Prometheus reads."""


def with_metrics(app: WSGIApplication, exposition: Exposition) -> WSGIApplication:
    """``app``, with the metrics at /metrics."""

    def dispatch(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] == METRICS and environ["REQUEST_METHOD"] == "GET":
            return _answer(start_response, "200 OK", *exposition())
        return app(environ, start_response)

    return dispatch


def health_and_metrics_app(health: Callable[[], Health], exposition: Exposition) -> WSGIApplication:
    """/healthcheck and /metrics, and nothing else: what a manager serves."""

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] != "/healthcheck":
            return _answer(
                start_response, "404 Not Found", "text/plain", b"There are /healthcheck and /metrics.\n"
            )
        found = checked(health)
        status = "200 OK" if found.healthy else "503 Service Unavailable"
        return _answer(start_response, status, "application/json", json.dumps(health_reply(found)).encode())

    return with_metrics(app, exposition)


def _answer(start_response: StartResponse, status: str, content_type: str, body: bytes) -> Iterable[bytes]:
    start_response(status, [("Content-Type", content_type), ("Content-Length", str(len(body)))])
    return [body]
