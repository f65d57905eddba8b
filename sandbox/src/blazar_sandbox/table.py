"""Tables of the cloud's objects, with indexes.

A ``Table`` maps keys to frozen rows. An ``Index`` observes a table and maps any property of its rows to their
keys. A table calls ``on_change`` after every change, so that changed rows are saved to disk.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

Row = TypeVar("Row")
Value = TypeVar("Value", bound=Hashable)
Observed = TypeVar("Observed", contravariant=True)
ChangeListener = Callable[[str, str], None]


def _ignore_change(table: str, key: str) -> None:
    """Do nothing, where changes are not saved."""


class Observer(Protocol[Observed]):
    """An object that is notified of every change of a table."""

    def row_changed(self, key: str, old: Observed | None, new: Observed | None) -> None:
        """Handle a changed row."""
        ...


class Table(Generic[Row]):
    """Rows of one type by key, in the order of their creation."""

    def __init__(self, name: str, row_type: type[Row]) -> None:
        self.name = name
        self.row_type = row_type
        self.on_change: ChangeListener = _ignore_change
        self._rows: dict[str, Row] = {}
        self._observers: list[Observer[Row]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def items(self) -> Iterable[tuple[str, Row]]:
        """Return all keys and rows."""
        return self._rows.items()

    def get(self, key: str) -> Row | None:
        """Return one row, or None."""
        return self._rows.get(key)

    def __getitem__(self, key: str) -> Row:
        return self._rows[key]

    def put(self, key: str, row: Row) -> None:
        """Create or replace a row."""
        old = self._rows.get(key)
        self._rows[key] = row
        for observer in self._observers:
            observer.row_changed(key, old, row)
        self.on_change(self.name, key)

    def drop(self, key: str) -> Row | None:
        """Delete a row and return it, or return None."""
        old = self._rows.pop(key, None)
        if old is not None:
            for observer in self._observers:
                observer.row_changed(key, old, None)
            self.on_change(self.name, key)
        return old

    def observe(self, observer: Observer[Row]) -> None:
        """Notify an observer of all existing rows, and of every change from now on."""
        self._observers.append(observer)
        for key, row in self._rows.items():
            observer.row_changed(key, None, row)


class Index(Generic[Row, Value]):
    """An index of a table by a property, of which a row has any number of values."""

    def __init__(self, table: Table[Row], values_of: Callable[[Row], Iterable[Value]]) -> None:
        self._table = table
        self._values_of = values_of
        # Dictionaries as ordered sets: rows are returned in the order in which they got the value.
        self._keys: dict[Value, dict[str, None]] = {}
        table.observe(self)

    def row_changed(self, key: str, old: Row | None, new: Row | None) -> None:
        """Handle a changed row."""
        before = () if old is None else tuple(self._values_of(old))
        after = () if new is None else tuple(self._values_of(new))
        if before == after:
            return
        for value in before:
            if value not in after:
                keys = self._keys[value]
                del keys[key]
                if not keys:
                    del self._keys[value]
        for value in after:
            self._keys.setdefault(value, {})[key] = None

    def keys(self, value: Value) -> list[str]:
        """Return the keys of the rows that have this value."""
        return list(self._keys.get(value, ()))

    def rows(self, value: Value) -> list[Row]:
        """Return the rows that have this value."""
        return [self._table[key] for key in self._keys.get(value, ())]

    def first(self, value: Value) -> Row | None:
        """Return the oldest row that has this value, or None."""
        for key in self._keys.get(value, ()):
            return self._table[key]
        return None

    def count(self, value: Value) -> int:
        """Return the number of rows that have this value."""
        return len(self._keys.get(value, ()))

    def values(self) -> list[Value]:
        """Return every value that a row has."""
        return list(self._keys)
