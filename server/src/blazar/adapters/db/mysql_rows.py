"""Rows as PyMySQL returns them, read with less work: whole lists have some hundred thousand cells.

The driver asks a packet for each cell, by four calls in Python, and takes a moment apart with a pattern. Here
a row is read in one loop over its bytes, whose lengths are encoded as in the client protocol of MySQL: one
byte up to 250, 251 for NULL, or 252, 253 and 254 before two, three and eight bytes.

The driver also reads each packet by two reads of the connection. Here those that have come whole are taken
out of the buffer of the connection at once, and the driver reads only the one that follows: so it is the
driver that waits for the database, and that finds errors and the end. A test compares all that is read with
what the driver reads."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from pymysql.connections import Connection, MySQLResult
from pymysql.constants import FIELD_TYPE
from pymysql.converters import conversions, convert_datetime
from pymysql.err import OperationalError

NULL = 251
LENGTHS = {252: 2, 253: 3, 254: 8}
"""Bytes of the length, by the byte before them."""
HEADER = 4
"""Bytes before those of a packet: three for their number, and one for its own number in the answer."""
LONGEST = 0xFFFFFF
"""The number of bytes of a packet that another one goes on with."""
NO_ROW = (0xFE, 0xFF)
"""What a packet begins with that is the end of the rows, or an error. A row may begin with the former, where
its first cell has 16 MB or more."""
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
    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self._ahead: deque[tuple[Any, ...]] = deque()
        """Rows of a stream that are read and not asked for yet."""

    def _read_rowdata_packet(self) -> None:
        rows: list[tuple[Any, ...]] = []
        rows.extend(self._buffered_rows())
        while (row := self._next_row()) is not None:
            rows.append(row)
            rows.extend(self._buffered_rows())
        self.affected_rows = len(rows)
        self.rows = tuple(rows)

    def _read_rowdata_packet_unbuffered(self) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = None
        if self.unbuffered_active:
            if not self._ahead:
                self._ahead.extend(self._buffered_rows())
            row = self._ahead.popleft() if self._ahead else self._next_row()
            self.unbuffered_active = row is not None
        if row is None:
            self.rows = None
        else:
            self.affected_rows, self.rows = 1, (row,)
        return row

    def _next_row(self) -> tuple[Any, ...] | None:
        """Return the next row of the connection; None where there are no more."""
        connection: Any = self.connection
        try:
            packet = connection._read_packet()
        except OperationalError:
            self.unbuffered_active = False  # nothing follows: the driver would wait for it
            raise
        if not self._check_packet_is_eof(packet):  # type: ignore[attr-defined]  # the stubs leave it out
            return self._row(packet.get_all_data())
        self.connection = None  # as the driver does
        return None

    def _buffered_rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows whose packets are in the buffer of the connection, and take them out of it."""
        connection: Any = self.connection
        try:
            data = connection._rfile.peek()
        except OSError:
            return  # the driver tells when it reads
        taken, number = 0, connection._next_seq_id
        while taken + HEADER < len(data):
            begin = taken + HEADER
            size = int.from_bytes(data[taken : begin - 1], "little")
            end = begin + size
            if end > len(data) or size == LONGEST or data[begin - 1] != number or data[begin] in NO_ROW:
                break
            yield self._row(data[begin:end])
            taken, number = end, (number + 1) % 256
        connection._rfile.read(taken)
        connection._next_seq_id = number

    def _row(self, data: bytes) -> tuple[Any, ...]:
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
