"""Other requirements and other sizes for a reservation that is short: what else a lease could ask for.

One part of a requirement is left out at a time. Where the part asks for one value of a property, the values
that the other resources have are tried in its place: another rack, another zone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from blazar.domain.errors import MalformedRequirements
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.planning.planner import LONGEST_PART
from blazar.domain.requirement.comparison import Operator, term_of
from blazar.domain.requirement.language import ANYTHING, Comparison, Requirement, every, parse
from blazar.service.ports.kind import Kind, OtherSize

MOST_PARTS = 8
"""How many parts are left out, one after the other."""
MOST_VALUES = 3
"""How many values are tried in place of one."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """A part of what a reservation asks for, and what is asked for instead; None where that is nothing."""

    reservation: int
    """The number of the reservation, from 0 on."""
    parameter: str
    part: str
    instead: str | None = None

    @property
    def words(self) -> str:
        return f"without {self.part}" if self.instead is None else f"{self.instead} instead of {self.part}"


@dataclass(frozen=True, slots=True)
class Alternative:
    """A reservation that asks for something else. ``sent`` is what to send in place of some parameters."""

    reservation: Reservation
    sent: Mapping[str, Any]
    replaced: Replaced
    is_size: bool = False

    def of(self, lease: Lease) -> Lease:
        """Return the lease with this reservation."""
        reservations = (
            self.reservation if each.id == self.reservation.id else each for each in lease.reservations
        )
        return replace(lease, reservations=tuple(reservations))


def without_a_part(
    number: int, reservation: Reservation, kind: Kind[Any]
) -> Iterator[tuple[Alternative, RequirementPart]]:
    """Return the reservation without one part of its requirements, for each part in turn."""
    parts = [
        RequirementPart(number, reservation, parameter, at)
        for parameter in kind.requirement_parameters
        for at in range(len(parse(reservation.parameters[parameter]).parts))
    ]
    for part in parts[:MOST_PARTS]:
        if (without := part.replaced_by(None)) is not None:
            yield without, part


@dataclass(frozen=True, slots=True)
class RequirementPart:
    """The part number ``at`` of a requirement of a reservation."""

    number: int
    reservation: Reservation
    parameter: str
    at: int

    @property
    def _parts(self) -> Sequence[Requirement]:
        return parse(self.reservation.parameters[self.parameter]).parts

    @property
    def equal(self) -> tuple[str, str] | None:
        """Return the property and its value, where the part asks for one value."""
        match self._parts[self.at].root:
            case Comparison(name, Operator.EQUAL, (literal,)):
                return name, literal.text
        return None

    def with_value(self, name: str, text: str) -> Alternative | None:
        return self.replaced_by(Requirement(Comparison(name, Operator.EQUAL, (term_of(text),))))

    def replaced_by(self, other: Requirement | None) -> Alternative | None:
        """Return the reservation with another part, or without it; None where that is longer, as it is
        written here, than a requirement may be."""
        parts = list(self._parts)
        old = parts[self.at]
        parts[self.at : self.at + 1] = [] if other is None else [other]
        asked = every(parts)
        text = "" if asked == ANYTHING else asked.text
        try:
            parse(text)
        except MalformedRequirements:
            return None
        sent = {self.parameter: text}
        changed = replace(self.reservation, parameters={**self.reservation.parameters, **sent})
        instead = None if other is None else other.text[:LONGEST_PART]
        replaced = Replaced(self.number, self.parameter, old.text[:LONGEST_PART], instead)
        return Alternative(changed, sent, replaced)


def of_size(number: int, reservation: Reservation, kind: Kind[Any], size: OtherSize[Any]) -> Alternative:
    """Return the reservation with units of another size."""
    changed = replace(reservation, parameters=kind.encode(size.asked))
    return Alternative(changed, size.sent, Replaced(number, size.parameter, size.old, size.new), is_size=True)
