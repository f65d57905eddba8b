"""What a request's body says: JSON, read with every limit that keeps a careless or hostile body harmless."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import falcon

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 64
"""Levels of objects and lists inside each other."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_MEDIA_TYPE = "application/json"


def read_object(environ: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object in the body; an empty body is an empty object. Raises falcon.HTTPError."""
    _check_content_type(environ.get("CONTENT_TYPE") or "")
    raw = _read(environ)
    if not raw.strip():
        return {}
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
    if length:
        if not (length.isascii() and length.isdigit()):
            raise _refuse("The Content-Length header must be a number.")
        if len(length) > 12 or int(length) > MAX_BYTES:
            raise _too_large()
        raw: bytes = environ["wsgi.input"].read(int(length))
        if len(raw) < int(length):
            raise _refuse("The request body is shorter than its Content-Length.")
        return raw
    if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        # Without a length the server marks the end; one byte more than allowed is enough to know.
        raw = environ["wsgi.input"].read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise _too_large()
        return raw
    return b""


def _too_large() -> falcon.HTTPContentTooLarge:
    return falcon.HTTPContentTooLarge(description=f"The request body is larger than {MAX_BYTES} bytes.")


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
    """Two values for one key: which one was meant is anybody's guess, so neither is taken."""
    result = dict(pairs)
    if len(result) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {twice[:80]!a} is given more than once")
    return result


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _check_contents(body: Any) -> None:
    """Refuse what no database or answer could hold, wherever it stands; without recursion."""
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
