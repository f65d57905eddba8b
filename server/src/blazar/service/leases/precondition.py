"""The precondition of a change: the lease is still as its editor has read it."""

from __future__ import annotations

from blazar.domain.errors import LeaseChanged
from blazar.domain.lease.lease import Lease


class Precondition:
    """The revisions of a lease of which one must be the stored one; any revision will do with None.

    It is asked about the lease that a change is decided on. The commit compares the revision of that lease
    with the stored one once more, in its transaction, so nothing comes in between."""

    def __init__(self, revisions: tuple[int, ...] | None) -> None:
        self._accepted = None if revisions is None else set(revisions)

    def require(self, lease: Lease) -> None:
        """Raise LeaseChanged where the lease has another revision."""
        if self._accepted is not None and lease.revision not in self._accepted:
            raise LeaseChanged(revision=lease.revision)

    def accept(self, stored: Lease) -> None:
        """Accept the revision that the change itself has stored on its way."""
        if self._accepted is not None:
            self._accepted.add(stored.revision)
