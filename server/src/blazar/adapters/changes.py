"""The last changes of what is on a resource: for each generation that was left, the leases that left it.

They stand in a text beside the generation, the newest first, such as ``8=lease-3;7=lease-1,lease-2;``: what
raised generation 7 to 8 has changed what lease-1 and lease-2 have there, and lease-3 came after that. So a
manager whose calendar is of generation 7 reads three leases, and not all that is reserved on the resource.
The end of the text is cut where it gets too long. A change of which the leases are not told has no names, or
stands not there at all; who knows an older generation then reads everything."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST_CHANGES = 1000
"""Characters of the text: some 18 changes by one lease each."""


def leases_of(lease_ids: Iterable[str]) -> str:
    """Return the part of the text that names the leases of one change."""
    return ",".join(sorted(set(lease_ids)))


def noted(changes: str | None, left: int, leases: str) -> str:
    """Return the text with a change that raises the generation ``left``. The database does the same in its
    own language."""
    return f"{left}={leases};{changes or ''}"[:LONGEST_CHANGES]


def changed_since(changes: str | None, known: int | None, generation: int) -> frozenset[str] | None:
    """Return the leases that have changed something since the generation ``known``, where the text is that of
    ``generation``; None where the text does not tell."""
    entries = dict(entry.split("=") for entry in (changes or "").split(";")[:-1])
    if known is None or not 0 < generation - known <= len(entries):
        return None
    leases = [entries.get(str(left)) for left in range(known, generation)]
    return frozenset(",".join(filter(None, leases)).split(",")) if all(leases) else None
