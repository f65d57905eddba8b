"""Snapshots of the cloud's objects, and what differs between two of them."""

from dataclasses import dataclass
from typing import Any

from blazar_sandbox import codec
from blazar_sandbox.cloud import Cloud

Objects = dict[str, dict[str, Any]]

# Tokens and counters change with ordinary calls and need no cleaning up.
_IGNORED_TABLES = frozenset({"tokens", "aggregate_counter"})
# Fields that record a change, not its result.
_IGNORED_FIELDS = frozenset(
    {"generation", "created_at", "updated_at", "created", "updated", "revision", "due"}
)

_SECRETS = frozenset({"password", "secret"})


@dataclass(frozen=True)
class Difference:
    """The difference between two snapshots, as ``kind/key``."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def snapshot(cloud: Cloud) -> Objects:
    """Return every object of the cloud by kind and key, as JSON types without times and generations."""
    with cloud.lock:
        cloud.advance()
        return {
            table.name: {key: _essential(row) for key, row in table.items()}
            for table in cloud.tables
            if table.name not in _IGNORED_TABLES
        }


def difference(before: Objects, after: Objects) -> Difference:
    """Return the difference between two snapshots."""
    old = {f"{kind}/{key}": row for kind, rows in before.items() for key, row in rows.items()}
    new = {f"{kind}/{key}": row for kind, rows in after.items() for key, row in rows.items()}
    return Difference(
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        changed=tuple(sorted(key for key in old.keys() & new.keys() if old[key] != new[key])),
    )


def _essential(row: object) -> Any:
    plain = codec.plain(row)
    return {key: value for key, value in plain.items() if key not in _IGNORED_FIELDS and key not in _SECRETS}
