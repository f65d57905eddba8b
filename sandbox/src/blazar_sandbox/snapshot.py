"""What is in the cloud, and what has a story left behind in it?"""

from dataclasses import dataclass
from typing import Any

from blazar_sandbox import codec
from blazar_sandbox.cloud import Cloud

Objects = dict[str, dict[str, Any]]

# Tokens come and go with every call that anybody makes, and a counter only counts; nobody has to clean them up.
_PASSING = frozenset({"tokens", "aggregate_counter"})
# Fields that tell only that something was touched, not what it is now.
_TOUCHED = frozenset({"generation", "created_at", "updated_at", "created", "updated", "revision", "due"})


@dataclass(frozen=True)
class Difference:
    """What one snapshot has and another has not, as ``kind/key``."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def snapshot(cloud: Cloud) -> Objects:
    """Give every object of the cloud by kind and key, as plain values without times and generations."""
    with cloud.lock:
        cloud.advance()
        return {
            table.name: {key: _essential(row) for key, row in table.items()}
            for table in cloud.tables
            if table.name not in _PASSING
        }


def difference(before: Objects, after: Objects) -> Difference:
    """Compare two snapshots."""
    old = {f"{kind}/{key}": row for kind, rows in before.items() for key, row in rows.items()}
    new = {f"{kind}/{key}": row for kind, rows in after.items() for key, row in rows.items()}
    return Difference(
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        changed=tuple(sorted(key for key in old.keys() & new.keys() if old[key] != new[key])),
    )


def _essential(row: object) -> Any:
    plain = codec.plain(row)
    return {key: value for key, value in plain.items() if key not in _TOUCHED and key != "password"}
