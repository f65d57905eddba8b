"""The report of an import: a line for each thing that upstream has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What became of a thing."""

    TAKEN = "taken"
    """As it is."""
    MAPPED = "mapped"
    """With something changed that the line tells."""
    REFUSED = "refused"
    PRESENT = "there already"
    """An earlier run has taken it; it is left as it is."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the report. ``noun`` is the sort of the thing; ``notes`` have no full stop."""

    noun: str
    name: str
    verdict: Verdict
    notes: tuple[str, ...] = ()
    is_over: bool = False
    """Whether nothing that is ahead is lost with it."""

    @property
    def sentence(self) -> str:
        told = f": {'; '.join(self.notes)}" if self.notes else ""
        return f"{self.noun} {self.name}: {self.verdict}{told}"

    @property
    def is_lost(self) -> bool:
        """Return whether something was refused that is not over."""
        return self.verdict is Verdict.REFUSED and not self.is_over


def line(noun: str, name: str, notes: Sequence[str], *added: str) -> Line:
    """Return the line of a thing that was taken: as it is where there are no ``notes``. What is ``added``
    tells something that changes nothing."""
    verdict = Verdict.MAPPED if notes else Verdict.TAKEN
    return Line(noun, name, verdict, (*notes, *added))
