"""What is asked, and what is answered?"""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from blazar_sandbox.errors import bad_request

if TYPE_CHECKING:
    from blazar_sandbox.cloud import Cloud
    from blazar_sandbox.identity.access import Access

Environ = dict[str, Any]
Json = dict[str, Any]
Version = tuple[int, int]

REASONS = {
    200: "OK",
    201: "Created",
    202: "Accepted",
    204: "No Content",
    300: "Multiple Choices",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    409: "Conflict",
    413: "Request Entity Too Large",
    429: "Too Many Requests",
    500: "Internal Server Error",
    501: "Not Implemented",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}


@dataclass(frozen=True, slots=True)
class Response:
    """An answer: status, a JSON body (or None for an empty one) and further headers."""

    status: int = 200
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()
    raw: bytes | None = None
    """Bytes to send instead of JSON, with a Content-Type of their own in ``headers``."""


@dataclass
class Request:
    """One call of a service's API."""

    cloud: "Cloud"
    service: str
    method: str
    path: str
    """Path below the service's prefix."""
    environ: Environ
    args: Mapping[str, str] = field(default_factory=dict)
    """Values of the ``{names}`` in the route's template."""
    version: Version = (1, 0)
    """The microversion asked for, where the service has some."""
    access: "Access | None" = None
    request_id: str = field(default_factory=lambda: f"req-{uuid.uuid4()}")

    @property
    def caller(self) -> "Access":
        """Who asks; only routes that need a token may look."""
        if self.access is None:
            raise LookupError("a route that needs no token looked at its caller")
        return self.access

    def header(self, name: str) -> str | None:
        """Give a request header, or None."""
        value = self.environ.get("HTTP_" + name.upper().replace("-", "_"))
        return None if value is None else str(value)

    @property
    def origin(self) -> str:
        """Scheme and authority under which the caller reached us, or the cloud's public address."""
        if self.cloud.public_url:
            return self.cloud.public_url
        scheme = self.environ.get("wsgi.url_scheme", "http")
        host = self.environ.get("HTTP_HOST") or f"{self.environ['SERVER_NAME']}:{self.environ['SERVER_PORT']}"
        return f"{scheme}://{host}"

    @cached_property
    def query(self) -> dict[str, list[str]]:
        """Every query parameter with all its values."""
        found: dict[str, list[str]] = {}
        for key, value in parse_qsl(self.environ.get("QUERY_STRING", ""), keep_blank_values=True):
            found.setdefault(key, []).append(value)
        return found

    def param(self, name: str) -> str | None:
        """Give the last value of a query parameter, or None."""
        values = self.query.get(name)
        return values[-1] if values else None

    @cached_property
    def raw_body(self) -> bytes:
        """The body as it came."""
        length = self.environ.get("CONTENT_LENGTH") or "0"
        if length.isdigit() and int(length):
            body: bytes = self.environ["wsgi.input"].read(int(length))
            return body
        if self.environ.get("HTTP_TRANSFER_ENCODING", "").lower() == "chunked":
            chunked: bytes = self.environ["wsgi.input"].read()
            return chunked
        return b""

    @cached_property
    def json(self) -> Json:
        """The body as a JSON object."""
        try:
            body = json.loads(self.raw_body)
        except ValueError:
            raise bad_request("Malformed request body: it is not JSON.") from None
        if not isinstance(body, dict):
            raise bad_request("Malformed request body: it is not an object.")
        return body
