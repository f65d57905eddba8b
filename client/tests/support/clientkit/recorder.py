"""A small HTTP server with a Keystone and canned answers, which records every request.

It does not implement leases: it verifies the wire format, and other tests verify the behaviour on the real
service.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

TOKEN = "recorded-token"
KEPT_HEADERS = (
    "accept",
    "content-type",
    "user-agent",
    "x-auth-token",
    "openstack-api-version",
    "idempotency-key",
    "if-match",
    "last-event-id",
)


@dataclass(frozen=True)
class RecordedRequest:
    """One request to the reservation service."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict, compare=False)

    def as_json(self) -> list[Any]:
        return [self.method, self.path, [list(pair) for pair in self.query], self.body]


class RecordingCloud:
    """Identity at /v3 and the reservation service at /reservation/v1.

    `answers` maps (method, path) to (status, body).
    """

    def __init__(self, port: int = 0) -> None:
        cloud = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                cloud._serve(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815 (http.server names them)

            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing: the requests are in `requests`."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        self.auth_url = f"{self.origin}/v3"
        self.endpoint = f"{self.origin}/reservation/v1"
        self.answers: dict[tuple[str, str], tuple[int, Any] | list[tuple[int, Any]]] = {}
        self.requests: list[RecordedRequest] = []
        self.version: str | None = None
        """The microversion that answers say they have; a service of old says none."""
        self.tag: str | None = None
        """The ETag of answers; a service of old has none."""
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> RecordingCloud:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, method: str, path: str, status: int, body: Any = None) -> None:
        """Set the answer to all further requests; `path` begins after the endpoint, with a slash."""
        self.answers[method, path] = (status, body)

    def answer_in_turn(self, method: str, path: str, *answers: tuple[int, Any]) -> None:
        """Set answers that are given one after the other; the last one repeats."""
        self.answers[method, path] = list(answers)

    def environment(self, project: str = "demo") -> dict[str, str]:
        """Return the environment variables of a command that uses this cloud."""
        return {
            "OS_AUTH_TYPE": "password",
            "OS_AUTH_URL": self.auth_url,
            "OS_USERNAME": project,
            "OS_PASSWORD": "not-a-secret",
            "OS_PROJECT_NAME": project,
            "OS_USER_DOMAIN_NAME": "Default",
            "OS_PROJECT_DOMAIN_NAME": "Default",
            "OS_IDENTITY_API_VERSION": "3",
        }

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length") or 0)
        raw = handler.rfile.read(length)
        url = urlsplit(handler.path)
        if url.path.startswith("/reservation"):
            status, body = self._reservation(handler, url.path, url.query, raw)
            headers = {"x-openstack-request-id": "req-11111111-2222-3333-4444-555555555555"}
            if self.version:
                headers["OpenStack-API-Version"] = f"reservation {self.version}"
            if self.tag:
                headers["ETag"] = self.tag
        else:
            status, body, headers = self._identity(handler.command, url.path)
        payload = (
            b"" if body is None else (body.encode() if isinstance(body, str) else json.dumps(body).encode())
        )
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(payload)))
        handler.end_headers()
        handler.wfile.write(payload)

    def _reservation(
        self, handler: BaseHTTPRequestHandler, path: str, query: str, raw: bytes
    ) -> tuple[int, Any]:
        path = path.removeprefix("/reservation").removeprefix("/v1")
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.requests.append(
            RecordedRequest(
                handler.command,
                path,
                tuple(parse_qsl(query, keep_blank_values=True)),
                json.loads(raw) if raw else None,
                {name: headers[name] for name in KEPT_HEADERS if name in headers},
            )
        )
        answer = self.answers.get((handler.command, path))
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if answer is None:
            return 404, {"error": 404, "error_message": "The requested URL was not found on the server."}
        return answer

    def _identity(self, method: str, path: str) -> tuple[int, Any, dict[str, str]]:
        if method == "POST" and path == "/v3/auth/tokens":
            return 201, {"token": self._token()}, {"X-Subject-Token": TOKEN}
        version = {
            "id": "v3.14",
            "status": "stable",
            "links": [{"rel": "self", "href": f"{self.origin}/v3/"}],
        }
        if path.rstrip("/") == "/v3":
            return 200, {"version": version}, {}
        return 300, {"versions": {"values": [version]}}, {}

    def _token(self) -> dict[str, Any]:
        domain = {"id": "default", "name": "Default"}
        endpoints = [
            {
                "id": name,
                "interface": name,
                "region": "RegionOne",
                "region_id": "RegionOne",
                "url": self.endpoint,
            }
            for name in ("public", "internal", "admin")
        ]
        return {
            "methods": ["password"],
            "user": {"id": "u1", "name": "demo", "domain": domain},
            "project": {"id": "p1", "name": "demo", "domain": domain},
            "roles": [{"id": "r1", "name": "member"}],
            "expires_at": "2099-01-01T00:00:00.000000Z",
            "issued_at": "2026-01-01T00:00:00.000000Z",
            "catalog": [
                {"id": "s1", "type": "reservation", "name": "blazar", "endpoints": endpoints},
                {
                    "id": "s2",
                    "type": "identity",
                    "name": "keystone",
                    "endpoints": [{**endpoint, "url": self.auth_url} for endpoint in endpoints],
                },
            ],
        }
