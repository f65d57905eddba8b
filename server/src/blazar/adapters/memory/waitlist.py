"""The line of waiting leases in memory."""

from __future__ import annotations

from collections.abc import Sequence

from blazar.adapters.memory.state import State
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.lease.waiting import in_line
from blazar.service.ports import PlaceInLine

EVERY_PROJECT = ""
"""No project has this id. Its turns are those of the line."""


class MemoryWaitlist:
    """The WaitlistRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def queue_up(self) -> None:
        turns = self._state.quota_turns
        turns[EVERY_PROJECT] = turns.get(EVERY_PROJECT, 0) + 1

    def line(self) -> Sequence[PlaceInLine]:
        places = {
            lease.id: PlaceInLine(lease.id, lease.project_id, lease.revision, lease.waiting)
            for lease in self._state.leases.values()
            if lease.status is LeaseStatus.WAITING and lease.waiting is not None
        }
        return [places[id_] for id_ in in_line((id_, each.waiting) for id_, each in places.items())]
