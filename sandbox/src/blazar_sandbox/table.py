"""Where do the cloud's objects live, and how are they found without looking at all of them?

A ``Table`` maps keys to frozen rows. An ``Index`` follows a table and maps any property of its rows to their keys.
Every change is told to the table's ``on_change``, which is how changed rows reach the disk.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

Row = TypeVar("Row")
Value = TypeVar("Value", bound=Hashable)
Followed = TypeVar("Followed", contravariant=True)
Listener = Callable[[str, str], None]


def _nobody_listens(table: str, key: str) -> None:
    """Stand in where changes need not be kept."""


class Follower(Protocol[Followed]):
    """Something that is told of every change of a table."""

    def follow(self, key: str, old: Followed | None, new: Followed | None) -> None:
        """Take notice of a changed row."""
        ...


class Table(Generic[Row]):
    """Rows of one type by key, in the order they were first put."""

    def __init__(self, name: str, row_type: type[Row]) -> None:
        self.name = name
        self.row_type = row_type
        self.on_change: Listener = _nobody_listens
        self._rows: dict[str, Row] = {}
        self._followers: list[Follower[Row]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def items(self) -> Iterable[tuple[str, Row]]:
        """Give all keys with their rows."""
        return self._rows.items()

    def get(self, key: str) -> Row | None:
        """Give one row, or None."""
        return self._rows.get(key)

    def __getitem__(self, key: str) -> Row:
        return self._rows[key]

    def put(self, key: str, row: Row) -> None:
        """Store a row, replacing the one that was there."""
        old = self._rows.get(key)
        self._rows[key] = row
        for follower in self._followers:
            follower.follow(key, old, row)
        self.on_change(self.name, key)

    def drop(self, key: str) -> Row | None:
        """Remove a row, if it is there, and give it back."""
        old = self._rows.pop(key, None)
        if old is not None:
            for follower in self._followers:
                follower.follow(key, old, None)
            self.on_change(self.name, key)
        return old

    def attach(self, follower: Follower[Row]) -> None:
        """Let somebody follow this table; the rows that are there already are shown to them."""
        self._followers.append(follower)
        for key, row in self._rows.items():
            follower.follow(key, None, row)


class Index(Generic[Row, Value]):
    """The keys of a table's rows by some property of the rows; a row may have none or many values of it."""

    def __init__(self, table: Table[Row], values_of: Callable[[Row], Iterable[Value]]) -> None:
        self._table = table
        self._values_of = values_of
        # Dictionaries as ordered sets: rows come out in the order in which they got the value.
        self._keys: dict[Value, dict[str, None]] = {}
        table.attach(self)

    def follow(self, key: str, old: Row | None, new: Row | None) -> None:
        """Take notice of a changed row."""
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
        """Give the keys of the rows that have this value."""
        return list(self._keys.get(value, ()))

    def rows(self, value: Value) -> list[Row]:
        """Give the rows that have this value."""
        return [self._table[key] for key in self._keys.get(value, ())]

    def first(self, value: Value) -> Row | None:
        """Give the oldest row that has this value, or None."""
        for key in self._keys.get(value, ()):
            return self._table[key]
        return None

    def count(self, value: Value) -> int:
        """Tell how many rows have this value."""
        return len(self._keys.get(value, ()))

    def values(self) -> list[Value]:
        """Give every value that some row has."""
        return list(self._keys)
