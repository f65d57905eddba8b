"""The response to a call to a service's API."""

from dataclasses import dataclass
from typing import Any

REASONS = {
    200: "OK",
    201: "Created",
    202: "Accepted",
    204: "No Content",
    300: "Multiple Choices",
    302: "Found",
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
    """A response: status, a JSON body (None for an empty one) and further headers."""

    status: int = 200
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()
    raw: bytes | None = None
    """Bytes to send instead of JSON, with a Content-Type of their own in ``headers``."""
