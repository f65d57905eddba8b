"""What the resources of a pool are like: their properties, traits and inventory, as columns of arrays.

Every resource has a place, a small integer that the calendar gives out; all masks and arrays are indexed by
place. Answers are kept until a resource's facts change, which is rare beside changes of its allocations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from blazar.domain.comparison import FUNCTIONS, Operator, Term, holds, term_of
from blazar.domain.requirement import Mask, Requirement
from blazar.domain.resource import Claim, Pool, PropertyValue, Resource

Ints = npt.NDArray[np.int64]
Answer = TypeVar("Answer")

MOST = 2**40
"""Capacities are cut to this and amounts to twice this: no sum overflows, and nothing fits that did not."""
KEPT_ANSWERS = 128
_NOTHING = Resource(id="", pool=Pool.HOST, reservable=False)
_EXACT = 2**53
"""Integers below this are exact as floats."""


def amounts_of(claim: Claim) -> tuple[tuple[str, int], ...]:
    """The positive amounts of a claim by resource class, as a value that can be a key."""
    return tuple(sorted((name, min(n, 2 * MOST)) for name, n in (claim.amounts or {}).items() if n > 0))


class Facts:
    """Columns for ``size`` places, some of which may be empty; an empty place matches nothing."""

    def __init__(self) -> None:
        self.size = 0
        self._room = 0
        self._present: Mask = np.zeros(0, bool)
        self._reservable: Mask = np.zeros(0, bool)
        self._properties: dict[str, _Property] = {}
        self._traits: dict[str, int] = {}
        self._holders: Mask = np.zeros((0, 0), bool)
        self._capacity: dict[str, Ints] = {}
        self._max_unit: dict[str, Ints] = {}
        self._answers: dict[object, object] = {}

    # What is stored

    def write(self, place: int, resource: Resource) -> None:
        """Store the facts of the resource at ``place``; nothing but what differs is touched."""
        self.size = max(self.size, place + 1)
        self._reserve(self.size)
        changed = not self._present[place] or bool(self._reservable[place]) != resource.reservable
        self._present[place] = True
        self._reservable[place] = resource.reservable
        changed |= self._write_properties(place, resource.properties)
        changed |= self._write_traits(place, resource.traits)
        inventory = resource.inventory
        changed |= _write_amounts(self._capacity, place, self._room, {k: v.capacity for k, v in inventory.items()})
        changed |= _write_amounts(self._max_unit, place, self._room, {k: v.max_unit for k, v in inventory.items()})
        if changed:
            self._answers.clear()

    def erase(self, place: int) -> None:
        """Make the place empty."""
        self.write(place, _NOTHING)
        self._present[place] = False
        self._answers.clear()

    def _reserve(self, size: int) -> None:
        if size <= self._room:
            return
        room = max(64, size + size // 2)
        self._present = grown(self._present, room, False)
        self._reservable = grown(self._reservable, room, False)
        holders = np.zeros((len(self._holders), room), bool)
        holders[:, : self._room] = self._holders
        self._holders = holders
        for column in self._properties.values():
            column.codes = grown(column.codes, room, -1)
        for amounts in (self._capacity, self._max_unit):
            for name, array in amounts.items():
                amounts[name] = grown(array, room, 0)
        self._room = room

    def _write_properties(self, place: int, properties: Mapping[str, PropertyValue]) -> bool:
        changed = False
        for name, value in properties.items():
            column = self._properties.get(name)
            if column is None and value is not None:
                column = self._properties[name] = _Property(self._room)
            if column is not None:
                changed |= column.write(place, value)
        for name in [n for n, column in self._properties.items() if column.codes[place] >= 0]:
            if name not in properties:
                changed |= self._properties[name].write(place, None)
        if changed:
            self._properties = {n: column for n, column in self._properties.items() if column.holders}
        return changed

    def _write_traits(self, place: int, traits: frozenset[str]) -> bool:
        for trait in traits:
            if trait not in self._traits:
                self._traits[trait] = len(self._traits)
        if len(self._traits) > len(self._holders):
            holders = np.zeros((2 * len(self._traits), self._room), bool)
            holders[: len(self._holders)] = self._holders
            self._holders = holders
        fresh = np.zeros(len(self._traits), bool)
        fresh[[self._traits[trait] for trait in traits]] = True
        stored = self._holders[: len(fresh), place]
        if np.array_equal(stored, fresh):
            return False
        stored[:] = fresh
        return True

    # What is asked

    def matching(
        self, requirement: Requirement, required: frozenset[str], forbidden: frozenset[str], claim: Claim
    ) -> Mask:
        """Which resources satisfy the requirement and could hold one unit of the claim when empty.

        They have all required and no forbidden traits. Whether they are reservable is not asked. The mask must
        not be written to.
        """
        amounts = amounts_of(claim)
        return self._kept(
            ("matching", requirement, required, forbidden, amounts),
            lambda: self._matching(requirement, required, forbidden, amounts),
        )

    def capacity(self, resource_class: str) -> Ints:
        """How much of a resource class each resource has. The array must not be written to."""
        stored = self._capacity.get(resource_class)
        return np.zeros(self.size, np.int64) if stored is None else stored[: self.size]

    @property
    def reservable(self) -> Mask:
        """Which resources are reservable. The mask must not be written to."""
        return self._reservable[: self.size]

    def knows(self, name: str) -> bool:
        """Whether any resource has the property."""
        return name in self._properties

    def compare(self, name: str, how: Operator, literal: Term) -> Mask:
        """Which resources have the property such that the comparison holds."""
        column = self._properties.get(name)
        return np.zeros(self.size, bool) if column is None else column.compare(how, literal, self.size)

    def all(self) -> Mask:
        """Every resource."""
        return self._present[: self.size].copy()

    def _matching(
        self,
        requirement: Requirement,
        required: frozenset[str],
        forbidden: frozenset[str],
        amounts: tuple[tuple[str, int], ...],
    ) -> Mask:
        mask = self.all()
        mask &= requirement.mask(self)
        for trait in required:
            number = self._traits.get(trait)
            mask &= False if number is None else self._holders[number, : self.size]
        for trait in forbidden & self._traits.keys():
            mask &= ~self._holders[self._traits[trait], : self.size]
        for resource_class, n in amounts:
            limit = self._max_unit.get(resource_class)
            mask &= self.capacity(resource_class) >= n
            mask &= False if limit is None else limit[: self.size] >= n
        return mask

    def _kept(self, question: object, work_out: Callable[[], Answer]) -> Answer:
        answer = self._answers.pop(question, None)
        if answer is None:
            answer = work_out()
            if len(self._answers) >= KEPT_ANSWERS:
                del self._answers[next(iter(self._answers))]
        self._answers[question] = answer
        return answer  # type: ignore[return-value]  # a question's answer is always of the same type


class _Property:
    """One property: the vocabulary of its terms, and for each place the number of its term, or -1."""

    def __init__(self, room: int) -> None:
        self.codes: npt.NDArray[np.int32] = np.full(room, -1, np.int32)
        self.holders = 0
        self._code: dict[Term, int] = {}
        self._terms: list[Term] = []
        self._uses: list[int] = []
        self._numbers: npt.NDArray[np.float64] = np.zeros(0)
        self._unused: list[int] = []

    def write(self, place: int, value: PropertyValue) -> bool:
        old = int(self.codes[place])
        term = None if value is None else term_of(value)
        if term == (self._terms[old] if old >= 0 else None):
            return False
        if old >= 0:
            self._give_up(old)
        self.codes[place] = -1 if term is None else self._take(term)
        return True

    def compare(self, how: Operator, literal: Term, size: int) -> Mask:
        answers = np.zeros(len(self._terms) + 1, bool)
        if how is Operator.UNEQUAL:
            answers[:-1] = ~self._equal(literal)
        elif how is Operator.EQUAL:
            answers[:-1] = self._equal(literal)
        elif literal.number is None:
            answers[:-1] = [holds(how, term, literal) for term in self._terms]
        else:
            answers[:-1] = self._numeric(how, literal, literal.number)
        # The last answer is that of -1, the code of those that lack the property.
        return answers[self.codes[:size]]

    def _equal(self, literal: Term) -> Mask:
        if literal.number is None:
            equal = np.zeros(len(self._terms), bool)
        else:
            equal = self._numeric(Operator.EQUAL, literal, literal.number)
        # Texts decide where either side is not numeric: "true" equals both true and the text "True".
        for twin in (Term(literal.text, None), Term(literal.text, 1), Term(literal.text, 0)):
            code = self._code.get(twin)
            if code is not None:
                equal[code] = True
        return equal

    def _numeric(self, how: Operator, literal: Term, number: int | float) -> Mask:
        numbers = self._numbers[: len(self._terms)]
        answers: Mask = FUNCTIONS[how](numbers, _as_float(number))
        if abs(number) >= _EXACT:
            for code in np.flatnonzero(np.abs(numbers) >= _EXACT).tolist():
                answers[code] = holds(how, self._terms[code], literal)
        return answers

    def _take(self, term: Term) -> int:
        code = self._code.get(term)
        if code is None:
            code = self._unused.pop() if self._unused else self._append()
            self._terms[code] = term
            self._code[term] = code
            self._numbers[code] = np.nan if term.number is None else _as_float(term.number)
        self._uses[code] += 1
        self.holders += 1
        return code

    def _append(self) -> int:
        code = len(self._terms)
        self._terms.append(Term("", None))
        self._uses.append(0)
        if code >= len(self._numbers):
            self._numbers = grown(self._numbers, 2 * code + 4, np.nan)
        return code

    def _give_up(self, code: int) -> None:
        self.holders -= 1
        self._uses[code] -= 1
        if not self._uses[code]:
            del self._code[self._terms[code]]
            self._unused.append(code)


def _as_float(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _write_amounts(columns: dict[str, Ints], place: int, room: int, amounts: Mapping[str, int]) -> bool:
    changed = False
    for name in amounts.keys() - columns.keys():
        columns[name] = np.zeros(room, np.int64)
    for name, column in columns.items():
        amount = max(0, min(amounts.get(name, 0), MOST))
        if column[place] != amount:
            column[place] = amount
            changed = True
    return changed


Scalar = TypeVar("Scalar", bound=np.generic)


def grown(array: npt.NDArray[Scalar], room: int, filler: object) -> npt.NDArray[Scalar]:
    """The array with room for more, filled up with ``filler``."""
    larger = np.full(room, filler, array.dtype)
    larger[: len(array)] = array
    return larger
