"""The request of a call to a service's API."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from blazar_sandbox.cloud import Cloud
from blazar_sandbox.errors import bad_request
from blazar_sandbox.fields import Json
from blazar_sandbox.identity.access import Access

Environ = dict[str, Any]
Version = tuple[int, int]


@dataclass
class Request:
    """A call to a service's API."""

    cloud: Cloud
    service: str
    method: str
    path: str
    """Path below the service's prefix."""
    environ: Environ
    args: Mapping[str, str] = field(default_factory=dict)
    """Values of the ``{names}`` in the route's template."""
    version: Version = (1, 0)
    """The requested microversion, if the service has microversions."""
    access: Access | None = None
    request_id: str = field(default_factory=lambda: f"req-{uuid.uuid4()}")
    _body: bytes | None = None

    @property
    def caller(self) -> Access:
        """The caller's access; only for routes that need a token."""
        if self.access is None:
            raise LookupError("a route that needs no token looked at its caller")
        return self.access

    def header(self, name: str) -> str | None:
        """Return a request header, or None."""
        value = self.environ.get("HTTP_" + name.upper().replace("-", "_"))
        return None if value is None else str(value)

    @property
    def origin(self) -> str:
        """Scheme and authority of the request, or the cloud's public URL."""
        if self.cloud.public_url:
            return self.cloud.public_url
        scheme = self.environ.get("wsgi.url_scheme", "http")
        host = self.environ.get("HTTP_HOST") or f"{self.environ['SERVER_NAME']}:{self.environ['SERVER_PORT']}"
        return f"{scheme}://{host}"

    @property
    def query(self) -> dict[str, list[str]]:
        """Every query parameter with all its values."""
        found: dict[str, list[str]] = {}
        for key, value in parse_qsl(self.environ.get("QUERY_STRING", ""), keep_blank_values=True):
            found.setdefault(key, []).append(value)
        return found

    def param(self, name: str) -> str | None:
        """Return the last value of a query parameter, or None."""
        values = self.query.get(name)
        return values[-1] if values else None

    @property
    def raw_body(self) -> bytes:
        """The body as bytes, which is read from the connection once."""
        if self._body is None:
            self._body = self._read_body()
        return self._body

    def _read_body(self) -> bytes:
        length = self.environ.get("CONTENT_LENGTH") or "0"
        if length.isdigit() and int(length):
            body: bytes = self.environ["wsgi.input"].read(int(length))
            return body
        if self.environ.get("HTTP_TRANSFER_ENCODING", "").lower() == "chunked":
            chunked: bytes = self.environ["wsgi.input"].read()
            return chunked
        return b""

    @property
    def json(self) -> Json:
        """The body as a JSON object."""
        try:
            body = json.loads(self.raw_body)
        except ValueError:
            raise bad_request("Malformed request body: it is not JSON.") from None
        if not isinstance(body, dict):
            raise bad_request("Malformed request body: it is not an object.")
        return body
