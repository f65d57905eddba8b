"""Encoding of rows as JSON, and decoding.

Rows are frozen dataclasses of strings, numbers, booleans, times, enumerations, tuples, sets, mappings and
other such dataclasses. In a row of another version, missing fields get their defaults and unknown fields are
dropped.
"""

import json
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

Row = TypeVar("Row")
Reader = Callable[[Any], Any]


def encode(row: object) -> str:
    """Encode a row."""
    return json.dumps(plain(row), separators=(",", ":"))


def decode(row_type: type[Row], text: str) -> Row:
    """Decode a row; raise ``ValueError``, ``TypeError`` or ``KeyError`` for a text of another type."""
    hint: Any = row_type
    row: Row = _reader(hint)(json.loads(text))
    return row


def plain(value: Any) -> Any:
    """Convert a value to JSON types."""
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return value


@cache
def _reader(hint: Any) -> Reader:
    """Return the function that decodes values of a type."""
    origin, args = get_origin(hint), get_args(hint)
    if is_dataclass(hint) and isinstance(hint, type):
        return _dataclass_reader(hint)
    if hint is datetime:
        return datetime.fromisoformat
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    if origin in (Union, types.UnionType):
        inner = _reader(next(arg for arg in args if arg is not type(None)))
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        item = _reader(args[0])
        return lambda value: tuple(item(one) for one in value)
    if origin is frozenset:
        return frozenset
    if origin is not None and issubclass(origin, Mapping):
        item = _reader(args[1])
        return lambda value: {key: item(one) for key, one in value.items()}
    return lambda value: value


def _dataclass_reader(row_type: type[Any]) -> Reader:
    hints = get_type_hints(row_type)
    readers = {one.name: _reader(hints[one.name]) for one in fields(row_type)}
    required = {
        one.name for one in fields(row_type) if one.default is MISSING and one.default_factory is MISSING
    }

    def read(value: Any) -> Any:
        missing = required.difference(value)
        if missing:
            raise KeyError(f"a {row_type.__name__} lacks {', '.join(sorted(missing))}")
        return row_type(**{name: reader(value[name]) for name, reader in readers.items() if name in value})

    return read
