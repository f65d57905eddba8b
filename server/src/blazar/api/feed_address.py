"""The address of a calendar feed, whose secret is taken out of the path before anything else reads it."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable, MutableMapping
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

HIDDEN = "{feed_secret}.ics"
PATH = f"/v1/feeds/{HIDDEN}"
SECRET_BYTES = 32
_SECRET_HASH = "blazar.feed_secret_hash"  # noqa: S105 - the name of a key
_BELOW_FEEDS = re.compile(r"/feeds/+([^/].*)", re.IGNORECASE | re.DOTALL)
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.json)?/?", re.ASCII)


def new_secret() -> str:
    """Return a new secret, which stands in an address as it is."""
    return secrets.token_urlsafe(SECRET_BYTES)


def hash_of(secret: str) -> str:
    """Return what is kept of a secret. It is too long to be guessed, so its hash needs no salt."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def secret_hash(environ: MutableMapping[str, Any]) -> str:
    """Return the hash of the secret that stood in the path of the request."""
    return str(environ[_SECRET_HASH])


def without_secrets(app: WSGIApplication) -> WSGIApplication:
    """``app``, which reads the address of a feed as the path of its route, and finds the hash of its secret
    beside it. So no log, trace or metric has a secret, whatever the method, and also where the address is not
    quite right: all that stands below ``feeds`` and is not the id of a feed may be one."""

    def hidden(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        found = _BELOW_FEEDS.search(path)
        if found and not _ID.fullmatch(found[1]):
            environ[_SECRET_HASH] = hash_of(found[1].removesuffix(".json").removesuffix(".ics"))
            environ["PATH_INFO"] = path[: found.start(1)] + HIDDEN
        return app(environ, start_response)

    return hidden
