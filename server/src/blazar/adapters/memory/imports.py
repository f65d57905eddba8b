"""What the database in memory has taken from another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from blazar.adapters.memory.state import State
from blazar.domain.errors import Stale
from blazar.service.ports import ImportRecord


class MemoryImports:
    """The ImportRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def known(self, noun: str, source_ids: Sequence[str]) -> Mapping[str, str]:
        imports = self._state.imports
        return {id_: imports[noun, id_] for id_ in source_ids if (noun, id_) in imports}

    def add(self, record: ImportRecord, now: datetime) -> None:
        key = (record.noun, record.source_id)
        if key in self._state.imports:
            raise Stale()
        self._state.imports[key] = record.target_id
