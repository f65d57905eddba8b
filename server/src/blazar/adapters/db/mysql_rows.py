"""Rows as PyMySQL returns them, read with less work: whole lists have some hundred thousand cells.

The driver asks a packet for each cell, by four calls in Python, and takes a moment apart with a pattern. Here
a row is read in one loop over its bytes, whose lengths are encoded as in the client protocol of MySQL: one
byte up to 250, 251 for NULL, or 252, 253 and 254 before two, three and eight bytes. A test compares all that
is read with what the driver reads."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pymysql.connections import Connection, MySQLResult
from pymysql.constants import FIELD_TYPE
from pymysql.converters import conversions, convert_datetime

NULL = 251
LENGTHS = {252: 2, 253: 3, 254: 8}
"""Bytes of the length, by the byte before them."""
MOMENTS = (19, 26)
"""Characters of a moment to the second and to the microsecond; the driver reads any others."""


def moment(text: str) -> Any:
    """Return what the driver does: a datetime, or the text itself where there is no such moment."""
    if len(text) in MOMENTS:
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            pass
    return convert_datetime(text)


CONVERSIONS = {**conversions, FIELD_TYPE.DATETIME: moment, FIELD_TYPE.TIMESTAMP: moment}


class _Result(MySQLResult):
    def _read_row_from_packet(self, packet: Any) -> tuple[Any, ...]:
        data: bytes = packet.get_all_data()
        row: list[Any] = []
        begin, size = 0, len(data)
        for encoding, converter in self.converters:  # type: ignore[attr-defined]  # the stubs leave it out
            if begin == size:
                break  # as the driver does where a row has fewer cells
            length = data[begin]
            begin += 1
            if length == NULL:
                row.append(None)
                continue
            if length > NULL:
                behind = begin + LENGTHS[length]
                length, begin = int.from_bytes(data[begin:behind], "little"), behind
            cell: Any = data[begin : begin + length]
            begin += length
            if encoding is not None:
                cell = cell.decode(encoding)
            row.append(cell if converter is None else converter(cell))
        return tuple(row)


class RowsConnection(Connection):
    """A connection of the driver, with such rows."""

    def __init__(self, *words: Any, **options: Any) -> None:
        super().__init__(*words, **{"conv": CONVERSIONS, **options})

    def _read_query_result(self, unbuffered: bool = False) -> Any:
        self._result = None
        result: Any = _Result(self)
        if unbuffered:
            result.init_unbuffered_query()
        else:
            result.read()
        self._result = result
        if result.server_status is not None:
            self.server_status = result.server_status
        return result.affected_rows
