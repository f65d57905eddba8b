"""Read the JSON body of a request, with limits that keep a careless or hostile body harmless."""

from __future__ import annotations

import json
import logging
import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import falcon

from blazar.api.errors import printable

LOG = logging.getLogger(__name__)
MAX_BYTES = 1024 * 1024
MAX_NODES = 20_000
"""The most values in a body: a megabyte of small ones would keep the parser busy for half a second."""
MAX_DEPTH = 64
"""Levels of objects and lists inside each other."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_MEDIA_TYPE = "application/json"


def read_object(environ: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON object in the body; an empty body is an empty object. Raises falcon.HTTPError."""
    _check_content_type(environ.get("CONTENT_TYPE") or "")
    raw = _read(environ)
    if not raw.strip():
        return {}
    _check_nodes(raw)
    body = _decode(raw)
    if not isinstance(body, dict):
        raise _refuse("The request body must be a JSON object.")
    _check_contents(body)
    return body


def _refuse(sentence: str) -> falcon.HTTPBadRequest:
    return falcon.HTTPBadRequest(description=sentence)


def _check_content_type(content_type: str) -> None:
    media_type = content_type.partition(";")[0].strip()
    if media_type and media_type.lower() != _MEDIA_TYPE:
        raise _refuse(f"Content type '{media_type[:100]}' isn't supported")


def _read(environ: Mapping[str, Any]) -> bytes:
    length = environ.get("CONTENT_LENGTH") or ""
    is_chunked = "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower()
    if length and is_chunked:
        raise _refuse("Content-Length and Transfer-Encoding exclude each other.")
    if length:
        if not (length.isascii() and length.isdigit()):
            raise _refuse("The Content-Length header must be a number.")
        if len(length) > 12 or int(length) > MAX_BYTES:
            raise _too_large()
        raw = _received(environ, int(length))
        if len(raw) < int(length):
            raise _refuse("The request body is shorter than its Content-Length.")
        return raw
    if is_chunked:
        # Without a length the server marks the end; one byte more than allowed is enough to know.
        raw = _received(environ, MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise _too_large()
        return raw
    return b""


def _received(environ: Mapping[str, Any], size: int) -> bytes:
    """Read the body. Raises falcon.HTTPError where the client is gone or its chunks are broken."""
    try:
        raw: bytes = environ["wsgi.input"].read(size)
    except (OSError, ValueError) as failure:
        LOG.info("A request body cannot be read: %s", printable(str(failure)))
        raise _refuse("The request body is broken off, or its chunks are malformed.") from None
    return raw


def _too_large() -> falcon.HTTPContentTooLarge:
    return falcon.HTTPContentTooLarge(description=f"The request body is larger than {MAX_BYTES} bytes.")


def _check_nodes(raw: bytes) -> None:
    """Refuse a body of very many values before it is parsed.

    A value stands behind a bracket, a brace or a comma, so there are no more of them than of these. Those
    within texts are counted as well: the limit leaves room for them."""
    if sum(raw.count(mark) for mark in (b"[", b"{", b",")) > MAX_NODES:
        raise _refuse(f"The JSON in the request body has more than {MAX_NODES} values.")


def _decode(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode(), object_pairs_hook=_unique, parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise _refuse("The request body is not valid UTF-8.") from None
    except RecursionError:
        raise _refuse(f"The JSON in the request body is nested deeper than {MAX_DEPTH} levels.") from None
    except ValueError as error:
        raise _refuse(f"The request body is not valid JSON: {str(error)[:200]}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse two values for one key, for either may be the one that was meant."""
    result = dict(pairs)
    if len(result) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {twice[:80]!a} is given more than once")
    return result


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _check_contents(body: Any) -> None:
    """Refuse values that no database or answer can hold, at any depth; without recursion."""
    level: list[Any] = [body]
    for _ in range(MAX_DEPTH):
        deeper: list[Any] = []
        for node in level:
            if isinstance(node, dict):
                deeper.extend(node)
                deeper.extend(node.values())
            elif isinstance(node, list):
                deeper.extend(node)
            elif isinstance(node, str):
                if _UNSTORABLE.search(node):
                    raise _refuse("The request body contains a NUL character or half of a surrogate pair.")
            elif isinstance(node, float) and not math.isfinite(node):
                raise _refuse("The request body contains a number that is too large.")
        if not deeper:
            return
        level = deeper
    raise _refuse(f"The JSON in the request body is nested deeper than {MAX_DEPTH} levels.")
