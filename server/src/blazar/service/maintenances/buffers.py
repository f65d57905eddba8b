"""The use cases of the buffer: hosts that are kept for leases which lose others, and that no request gets.

The buffer is one row of leases with an allocation on each of its hosts, which only the planning in place of
what was lost ignores. See decision 45."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from blazar.domain.errors import Conflict, Stale
from blazar.domain.lease.maintenance import buffer_row
from blazar.domain.resource import BUFFER_ID, database_order
from blazar.domain.time import floor_minute
from blazar.service.admission import Admission
from blazar.service.context import Caller
from blazar.service.ids import new_id
from blazar.service.maintenances.assessor import Assessor
from blazar.service.ports import Clock, Database, UnitOfWork

LOG = logging.getLogger(__name__)


class Buffers:
    """The use cases of the buffer in this process, as BuffersInterface names them."""

    def __init__(self, database: Database, admission: Admission, clock: Clock, assessor: Assessor) -> None:
        self._database = database
        self._admission = admission
        self._clock = clock
        self._assessor = assessor

    def list(self) -> Sequence[str]:
        with self._database.read() as uow:
            return sorted(_kept(uow), key=database_order)

    def set(self, resource: str, is_buffer: bool, caller: Caller) -> None:
        self._admission.until_committed(
            lambda: self._database.transact(lambda uow: self._write(uow, resource, is_buffer, caller)),
            caller.deadline,
        )

    def _write(self, uow: UnitOfWork, resource: str, is_buffer: bool, caller: Caller) -> None:
        """Store the buffer with the resource or without it. All that it keeps is compared, so that of two
        changes at once none is lost."""
        (found,) = self._assessor.resources(uow, [resource])
        before, now = _kept(uow), self._clock.now()
        after = before | {found.id} if is_buffer else before - {found.id}
        if after == before:
            return
        if is_buffer and not found.reservable:
            raise Conflict(f"Host {found.name} is being deregistered.")
        known = uow.resources.list(found.pool, sorted(before | after))
        if _kept(uow) != before:
            raise Stale()  # changed before the generations were read, which the commit would not notice
        uow.resources.bump({each.id: each.generation for each in known}, now, [BUFFER_ID])
        if before:
            uow.maintenances.remove(BUFFER_ID)
        row = buffer_row(sorted(after, key=database_order), caller.user_id, floor_minute(now), new_id)
        if row is not None:
            uow.maintenances.add(row, now)
        caller.require_time(self._clock.now())
        what = "is kept as a buffer" if is_buffer else "is no buffer any more"
        LOG.info("Host %s %s", found.name, what, extra={"action": "buffer"})


def _kept(uow: UnitOfWork) -> frozenset[str]:
    row = uow.maintenances.get(BUFFER_ID)
    return frozenset(row.resource_ids if row else ())
