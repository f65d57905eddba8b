"""The calendar page at /dashboard/: its files, and what it has to know of this cloud.

The files are those of this package, read once, found by their names. They are the same for everybody, so they
are answered without a token; whatever the page shows it asks the API for, with the token of its user."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from urllib.parse import urlsplit
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from blazar.api.routing import ROUTE

PATH = "/dashboard"
CONFIGURATION = "configuration.json"
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class SandboxUsers:
    """The users of a sandbox cloud, as whom everybody may sign in with one click."""

    names: tuple[str, ...]
    password: str


@dataclass(frozen=True, slots=True)
class Dashboard:
    """What the page has to know."""

    keystone_url: str
    """The address of Keystone as browsers reach it, with /v3; empty where it is not known."""
    sandbox: SandboxUsers | None = None

    @property
    def keystone_origin(self) -> str:
        """Return the scheme and the host of Keystone's address; empty where it is not one of http."""
        found = urlsplit(self.keystone_url)
        return f"{found.scheme}://{found.netloc}" if found.scheme in ("http", "https") else ""


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    type: str
    etag: str


def with_dashboard(app: WSGIApplication, dashboard: Dashboard) -> WSGIApplication:
    """``app``, with the page at /dashboard/."""
    known = dict(_files(dashboard))
    headers = _headers(dashboard)

    def dispatch(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path != PATH and not path.startswith(f"{PATH}/"):
            return app(environ, start_response)
        environ[ROUTE] = PATH
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return _refuse(start_response, "405 Method Not Allowed", ("Allow", "GET, HEAD"))
        if path == PATH:
            # Relative, so that it holds below the prefix of any proxy.
            return _refuse(start_response, "308 Permanent Redirect", ("Location", "dashboard/"))
        found = known.get(path.removeprefix(f"{PATH}/") or "index.html")
        if found is None:
            return _refuse(start_response, "404 Not Found")
        return _answer(environ, start_response, found, headers)

    return dispatch


def _answer(
    environ: WSGIEnvironment, start_response: StartResponse, file: _File, headers: list[tuple[str, str]]
) -> Iterable[bytes]:
    headers = [*headers, ("ETag", file.etag)]
    if file.etag in environ.get("HTTP_IF_NONE_MATCH", ""):
        start_response("304 Not Modified", headers)
        return []
    length = str(len(file.content))
    start_response("200 OK", [*headers, ("Content-Type", file.type), ("Content-Length", length)])
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [file.content]


def _refuse(start_response: StartResponse, status: str, *headers: tuple[str, str]) -> Iterable[bytes]:
    start_response(status, [*headers, ("Content-Type", "text/plain"), ("Content-Length", "0")])
    return []


def _headers(dashboard: Dashboard) -> list[tuple[str, str]]:
    """Return the headers of each file. Scripts and styles are those of the page only, it calls nothing but
    the API and Keystone, and no other page can show it in a frame."""
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self'",
        "connect-src": " ".join(filter(None, ("'self'", dashboard.keystone_origin))),
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    return [
        ("Content-Security-Policy", "; ".join(f"{name} {value}" for name, value in policy.items())),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        # Kept, and asked about each time: the next version of the service has another page.
        ("Cache-Control", "no-cache"),
    ]


def _files(dashboard: Dashboard) -> Iterator[tuple[str, _File]]:
    for name, content in _contents(files(__package__) / "static"):
        yield name, _file(name, content)
    configuration = json.dumps(_configuration(dashboard)).encode()
    yield CONFIGURATION, _file(CONFIGURATION, configuration)


def _configuration(dashboard: Dashboard) -> Mapping[str, object]:
    return {
        "keystone_url": dashboard.keystone_url if dashboard.keystone_origin else "",
        "sandbox": None if dashboard.sandbox is None else asdict(dashboard.sandbox),
    }


def _contents(folder: Traversable, before: str = "") -> Iterator[tuple[str, bytes]]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _contents(each, f"{before}{each.name}/")
        elif each.name.rpartition(".")[2] in TYPES:
            yield f"{before}{each.name}", each.read_bytes()


def _file(name: str, content: bytes) -> _File:
    tag = hashlib.sha256(content).hexdigest()[:32]
    return _File(content, TYPES[name.rpartition(".")[2]], f'"{tag}"')
