"""Column types of moments and structured values, the same in every database."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, Dialect, Text
from sqlalchemy.dialects import mysql
from sqlalchemy.types import TypeDecorator, TypeEngine


class UtcDateTime(TypeDecorator[datetime]):
    """An aware datetime, stored in UTC without a zone, to the microsecond.

    Naive datetimes are refused: it would not be known later what they meant.
    """

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        # MySQL's plain DATETIME cuts the microseconds off.
        return mysql.DATETIME(fsp=6) if dialect.name in ("mysql", "mariadb") else DateTime()

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"naive datetime {value.isoformat()}")
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


class JsonText(str):
    """JSON that is a text already."""


class Json(TypeDecorator[Any]):
    """JSON in a text column; None is NULL.

    The databases' own JSON types differ in what they keep (key order, numbers), and no statement searches
    them."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        # MySQL's TEXT ends at 64 KB.
        return mysql.MEDIUMTEXT() if dialect.name in ("mysql", "mariadb") else Text()

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return value if value is None or isinstance(value, JsonText) else dump(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


def dump(value: Any) -> str:
    """Return compact JSON, pure ASCII: PostgreSQL refuses some characters that JSON may escape."""
    return json.dumps(value, separators=(",", ":"))
