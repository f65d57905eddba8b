"""The parser of ``key=value,key=value`` arguments, whose values may contain commas, quotes and JSON.

A comma separates two pairs only outside quotes and brackets, and only before ``word=``. A requirement like
``["==", "$a", "x,min=3"]`` therefore stays one value, and so does an unquoted ``a,b``. The parser removes one
pair of quotes around a whole value, because some shells keep it. An argument may also be one JSON object.
"""

from __future__ import annotations

import json
import re
from typing import Any

from blazarclient.parsing.errors import InvalidInput

_KEY = re.compile(r"\s*([A-Za-z_][\w.:-]*)=")
_CLOSES = {"[": "]", "{": "}"}


def parse_pairs(text: str) -> dict[str, Any]:
    """Return keys and values in the given order. Values are text; those of a JSON object keep their types.

    Raises InvalidInput.
    """
    if text.lstrip().startswith("{"):
        return _json_object(text)
    pairs: dict[str, Any] = {}
    for piece in _pieces(text):
        match = _KEY.match(piece)
        if match is None:
            raise InvalidInput(f"'{piece.strip()}' is not of the form key=value, in '{text}'")
        if match[1] in pairs:
            raise InvalidInput(f"'{match[1]}' is given twice in '{text}'")
        pairs[match[1]] = _unquoted(piece[match.end() :])
    return pairs


def _json_object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"this begins like a JSON object but is none: {error}, in '{text}'") from error
    if not isinstance(found, dict):
        raise InvalidInput(f"a JSON object is needed, not '{text}'")
    return found


def _pieces(text: str) -> list[str]:
    """Split the text at the commas between pairs."""
    pieces: list[str] = []
    expected: list[str] = []
    start, quote = 0, ""
    value_begins = False
    position = 0
    while position < len(text):
        sign = text[position]
        if quote:
            if sign == "\\":
                position += 1
            elif sign == quote:
                quote = ""
        elif sign == '"' or (sign == "'" and (value_begins or expected)):
            quote = sign
        elif sign in _CLOSES:
            expected.append(_CLOSES[sign])
        elif expected and sign == expected[-1]:
            expected.pop()
        elif sign == "," and not expected and _KEY.match(text, position + 1):
            pieces.append(text[start:position])
            start = position + 1
        value_begins = sign == "=" and not quote
        position += 1
    if quote or expected:
        missing = f"a closing {quote or expected[-1]}"
        raise InvalidInput(f"{missing} is missing in '{text}': quote the whole argument for the shell")
    return [*pieces, text[start:]]


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        inner = value[1:-1]
        if value[0] == "'":
            return inner
        return inner.replace('\\"', '"').replace("\\\\", "\\")
    return value
