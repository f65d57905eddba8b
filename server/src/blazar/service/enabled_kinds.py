"""The check that every kind is enabled that leases still need."""

from __future__ import annotations

from blazar.domain.errors import CloudUnavailable
from blazar.service.ports import Database
from blazar.service.ports.kind import Kinds

EXAMPLES = 5


class KindDisabled(CloudUnavailable):
    """A manager without the kind could neither start, change nor end the lease, nor clean up after it."""

    code = "kind_disabled"
    template = (
        "[manager] plugins lacks the kind of reservations in leases that are not over ({count}: {examples}). "
        "Enable it again, or end these leases first."
    )


def require_kinds(database: Database, kinds: Kinds) -> None:
    """Raise KindDisabled where a lease that is not over has a reservation of a kind that is not enabled."""
    with database.read() as uow:
        ids = uow.leases.ids_of_other_kinds(sorted(kinds))
    if ids:
        more = ", ..." if len(ids) > EXAMPLES else ""
        raise KindDisabled(count=len(ids), examples=", ".join(ids[:EXAMPLES]) + more)
