"""Pages of some origins may call the cloud from a browser; without any, none may."""

from collections.abc import Collection
from typing import Any

from blazar_sandbox.wsgi.request import Environ

METHODS = "GET, POST, PUT, PATCH, DELETE"
HEADERS = "Content-Type, X-Auth-Token, X-Subject-Token, OpenStack-API-Version"
EXPOSED = "X-Subject-Token, X-OpenStack-Request-ID"


def with_cors(app: Any, origins: Collection[str]) -> Any:
    """Return the WSGI application, callable from pages of these origins."""

    def answer(environ: Environ, start_response: Any) -> Any:
        origin = environ.get("HTTP_ORIGIN", "")
        if origin not in origins:
            return app(environ, start_response)
        allowed = [("Access-Control-Allow-Origin", origin), ("Vary", "Origin")]
        if environ["REQUEST_METHOD"] == "OPTIONS":
            asked = [("Access-Control-Allow-Methods", METHODS), ("Access-Control-Allow-Headers", HEADERS)]
            start_response("200 OK", [*allowed, *asked, ("Content-Length", "0")])
            return []

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            return start_response(
                status, [*headers, *allowed, ("Access-Control-Expose-Headers", EXPOSED)], *more
            )

        return app(environ, start)

    return answer
