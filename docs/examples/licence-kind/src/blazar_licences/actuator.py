"""How reserved tokens become usable: a grant file for each reservation, which a licence server reads.

Each verb makes the file what it should be, so that it may be repeated at any time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from blazar.domain.errors import CloudUnavailable
from blazar.service.ports.kind import Work


class GrantFiles:
    """The folder of grant files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def grant(self, work: Work) -> None:
        """Allow the lease's project the allocated tokens, and no others. Raises CloudUnavailable."""
        grant = {"project_id": work.lease.project_id, "tokens": _tokens(work)}
        path = self._path(work)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            new = path.with_suffix(".new")
            new.write_text(json.dumps(grant))
            new.replace(path)  # a reader sees the old file or the new one, never half of it
        except OSError as failure:
            raise CloudUnavailable(service="The folder of grants", reason=str(failure)) from failure

    def revoke(self, work: Work) -> None:
        """Remove the grant, if there is one. Raises CloudUnavailable."""
        try:
            self._path(work).unlink(missing_ok=True)
        except OSError as failure:
            raise CloudUnavailable(service="The folder of grants", reason=str(failure)) from failure

    def _path(self, work: Work) -> Path:
        return self._folder / f"{work.reservation.id}.json"


def _tokens(work: Work) -> Mapping[str, int]:
    """How many tokens of each licence are allocated. Those that a change has added wait in an allocation of
    their own."""
    tokens: Counter[str] = Counter()
    for allocation in work.reservation.allocations:
        if (licence := work.resources.get(allocation.resource_id)) is not None:
            tokens[licence.name] += allocation.slots
    return tokens
