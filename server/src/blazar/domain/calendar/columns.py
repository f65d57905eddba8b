"""The facts of a pool's resources: properties, traits and inventory, as columns of arrays.

All masks and arrays are indexed by the index of the resource. Answers are kept until the facts change, which
is rare beside changes of allocations."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from blazar.domain.calendar.arrays import MOST, Ints, grown
from blazar.domain.requirement.comparison import FUNCTIONS, Operator, Term, holds, term_of
from blazar.domain.requirement.language import Mask, Requirement
from blazar.domain.resource import Pool, PropertyValue, Resource, Usage

Answer = TypeVar("Answer")

KEPT_ANSWERS = 128
KEPT_TRAITS = 1000
"""Sets of traits whose numbers are known: more than there are models of hosts."""
_NOTHING = Resource(id="", pool=Pool("none"), reservable=False)
_EXACT = 2**53
"""Integers below this are exact as floats."""


def amounts_of(usage: Usage) -> tuple[tuple[str, int], ...]:
    """Return the positive amounts of a usage by resource class, as a value that can be a key."""
    return tuple(sorted((name, min(n, 2 * MOST)) for name, n in (usage.amounts or {}).items() if n > 0))


class ResourceColumns:
    """Columns for ``size`` indexes, some of which may be empty; an empty index matches no requirement.

    A writer that shares the columns with a reader takes a ``copy`` before it writes. Threads may ask at the
    same time."""

    def __init__(self) -> None:
        self.size = 0
        self._length = 0
        self._present: Mask = np.zeros(0, bool)
        self._reservable: Mask = np.zeros(0, bool)
        self._properties: dict[str, _Property] = {}
        self._traits: dict[str, int] = {}
        self._trait_numbers: dict[frozenset[str], Ints] = {}
        self._holders: Mask = np.zeros((0, 0), bool)
        self._capacity: dict[str, Ints] = {}
        self._max_unit: dict[str, Ints] = {}
        self._answers: dict[object, object] = {}
        self._answers_lock = threading.Lock()

    def copy(self) -> ResourceColumns:
        twin = ResourceColumns()
        twin.size, twin._length = self.size, self._length
        twin._present, twin._reservable = self._present.copy(), self._reservable.copy()
        twin._properties = {name: column.copy() for name, column in self._properties.items()}
        twin._traits, twin._holders = self._traits.copy(), self._holders.copy()
        twin._capacity = {name: column.copy() for name, column in self._capacity.items()}
        twin._max_unit = {name: column.copy() for name, column in self._max_unit.items()}
        return twin

    # Writing

    def holds(self, index: int, resource: Resource) -> bool:
        """Return whether the facts of the resource are stored at ``index`` already."""
        return (
            index < self.size
            and bool(self._present[index])
            and bool(self._reservable[index]) == resource.reservable
            and self._holds_properties(index, resource.properties)
            and {name for name, number in self._traits.items() if self._holders[number, index]}
            == resource.traits
            and _holds_amounts(self._capacity, index, _capacities(resource))
            and _holds_amounts(self._max_unit, index, _max_units(resource))
        )

    def write(self, index: int, resource: Resource) -> None:
        """Store the facts of the resource at ``index``."""
        self.size = max(self.size, index + 1)
        self._reserve(self.size)
        self._present[index] = True
        self._reservable[index] = resource.reservable
        self._write_properties(index, resource.properties)
        self._write_traits(index, resource.traits)
        _write_amounts(self._capacity, index, self._length, _capacities(resource))
        _write_amounts(self._max_unit, index, self._length, _max_units(resource))
        self._answers.clear()

    def erase(self, index: int) -> None:
        """Make the index empty."""
        self.write(index, _NOTHING)
        self._present[index] = False

    def _reserve(self, size: int) -> None:
        if size <= self._length:
            return
        length = max(64, size + size // 2)
        self._present = grown(self._present, length, False)
        self._reservable = grown(self._reservable, length, False)
        holders = np.zeros((len(self._holders), length), bool)
        holders[:, : self._length] = self._holders
        self._holders = holders
        for column in self._properties.values():
            column.codes = grown(column.codes, length, -1)
        for amounts in (self._capacity, self._max_unit):
            for name, array in amounts.items():
                amounts[name] = grown(array, length, 0)
        self._length = length

    def _holds_properties(self, index: int, properties: Mapping[str, PropertyValue]) -> bool:
        known = all(column.holds(index, properties.get(name)) for name, column in self._properties.items())
        return known and all(
            name in self._properties for name, value in properties.items() if value is not None
        )

    def _write_properties(self, index: int, properties: Mapping[str, PropertyValue]) -> None:
        for name, value in properties.items():
            if name not in self._properties and value is not None:
                self._properties[name] = _Property(self._length)
        for name, column in self._properties.items():
            column.write(index, properties.get(name))
        self._properties = {name: column for name, column in self._properties.items() if column.holders}

    def _write_traits(self, index: int, traits: frozenset[str]) -> None:
        numbers = self._trait_numbers.get(traits)
        if numbers is None:
            numbers = self._number(traits)
        self._holders[:, index] = False
        self._holders[numbers, index] = True

    def _number(self, traits: frozenset[str]) -> Ints:
        """Return the numbers of the traits, which they keep. Those of the sets that many resources share are
        known."""
        for trait in traits:
            if trait not in self._traits:
                self._traits[trait] = len(self._traits)
        if len(self._traits) > len(self._holders):
            holders = np.zeros((2 * len(self._traits), self._length), bool)
            holders[: len(self._holders)] = self._holders
            self._holders = holders
        if len(self._trait_numbers) >= KEPT_TRAITS:
            self._trait_numbers.clear()
        numbers: Ints = np.array([self._traits[trait] for trait in traits], np.int64)
        self._trait_numbers[traits] = numbers
        return numbers

    # Reading

    def matching(
        self, requirement: Requirement, required: frozenset[str], forbidden: frozenset[str], usage: Usage
    ) -> Mask:
        """Return where the requirement is satisfied, and one unit of the usage fits when the resource is
        empty.

        These resources have all required traits and no forbidden one; they need not be reservable. The mask
        must not be written to."""
        amounts = amounts_of(usage)
        return self._kept(
            ("matching", requirement, required, forbidden, amounts),
            lambda: self._matching(requirement, required, forbidden, amounts),
        )

    def capacity(self, resource_class: str) -> Ints:
        """Return how much of a resource class each resource has. The array must not be written to."""
        stored = self._capacity.get(resource_class)
        return np.zeros(self.size, np.int64) if stored is None else stored[: self.size]

    @property
    def resource_classes(self) -> tuple[str, ...]:
        """Return the resource classes of which any resource has some, sorted."""
        return self._kept(
            "classes", lambda: tuple(sorted(name for name, column in self._capacity.items() if column.any()))
        )

    @property
    def reservable(self) -> Mask:
        """Return where a resource is reservable. The mask must not be written to."""
        return self._reservable[: self.size]

    def knows(self, name: str) -> bool:
        """Return whether any resource has the property."""
        return name in self._properties

    def texts(self, name: str, indexes: Sequence[int]) -> list[str]:
        """Return the values of a property at these indexes, as text, without those that are missing."""
        column = self._properties.get(name)
        found = [] if column is None else [column.text(index) for index in indexes]
        return [text for text in found if text is not None]

    def containing(self, text: str, hidden: frozenset[str]) -> Mask:
        """Return where a property has this text in its value, in any case; those that are ``hidden`` do not
        count."""
        found = np.zeros(self.size, bool)
        for name, column in self._properties.items():
            if name not in hidden:
                found |= column.containing(text.casefold(), self.size)
        return found

    def grouped(self, name: str) -> tuple[list[str], Ints]:
        """Return the values of a property in order, numbers by number and first, and by index the place of
        its value among them; what lacks the property comes last, with an empty value."""
        column = self._properties.get(name)
        return ([""], np.zeros(self.size, np.int64)) if column is None else column.grouped(self.size)

    def compare(self, name: str, how: Operator, literals: tuple[Term, ...]) -> Mask:
        """Return where a resource has the property and the comparison holds with any of the literals."""
        column = self._properties.get(name)
        return np.zeros(self.size, bool) if column is None else column.compare(how, literals, self.size)

    def all(self) -> Mask:
        """Return where a resource is."""
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
        """Return the answer that is kept, or work it out; the answers used last are kept."""
        with self._answers_lock:
            answer = self._answers.pop(question, None)
            if answer is not None:
                self._answers[question] = answer
        if answer is None:
            answer = work_out()
            with self._answers_lock:
                if len(self._answers) >= KEPT_ANSWERS:
                    del self._answers[next(iter(self._answers))]
                self._answers[question] = answer
        return answer  # type: ignore[return-value]  # a question's answer is always of the same type


class _Property:
    """One property: its vocabulary, which is a list of terms, and by index the number of the term, or -1.

    A comparison is made once for each term of the vocabulary, and then looked up for each index."""

    def __init__(self, length: int) -> None:
        self.codes: npt.NDArray[np.int32] = np.full(length, -1, np.int32)
        self.holders = 0
        self._code: dict[Term, int] = {}
        self._terms: list[Term] = []
        self._uses: list[int] = []
        self._numbers: npt.NDArray[np.float64] = np.zeros(0)
        self._unused: list[int] = []
        self._sorted: tuple[list[str], npt.NDArray[np.int64]] | None = None

    def copy(self) -> _Property:
        twin = _Property(0)
        twin.codes, twin.holders = self.codes.copy(), self.holders
        twin._code, twin._terms, twin._uses = self._code.copy(), self._terms.copy(), self._uses.copy()
        twin._numbers, twin._unused = self._numbers.copy(), self._unused.copy()
        twin._sorted = self._sorted  # replaced, never written to
        return twin

    def holds(self, index: int, value: PropertyValue) -> bool:
        """Return whether ``value`` is stored at ``index``; None is stored where the property is missing."""
        code = int(self.codes[index])
        return (None if value is None else term_of(value)) == (self._terms[code] if code >= 0 else None)

    def text(self, index: int) -> str | None:
        """Return the value at ``index`` as text; None where the property is missing."""
        code = int(self.codes[index])
        return self._terms[code].text if code >= 0 else None

    def write(self, index: int, value: PropertyValue) -> None:
        if self.holds(index, value):
            return
        old = int(self.codes[index])
        if old >= 0:
            self._give_up(old)
        self.codes[index] = -1 if value is None else self._take(term_of(value))

    def compare(self, how: Operator, literals: tuple[Term, ...], size: int) -> Mask:
        answers = np.zeros(len(self._terms) + 1, bool)
        for literal in literals:
            self._add_answers(answers[:-1], how, literal)
        # The last answer is that of -1, the code of those that lack the property.
        return answers[self.codes[:size]]

    def containing(self, text: str, size: int) -> Mask:
        """Return where the value has this text in it, in any case; the text is case-folded."""
        answers = np.array([*(text in term.text.casefold() for term in self._terms), False], bool)
        return answers[self.codes[:size]]

    def grouped(self, size: int) -> tuple[list[str], Ints]:
        """Return the values in order, and by index the place of its value among them."""
        used = [code for code, uses in enumerate(self._uses) if uses]
        used.sort(key=lambda code: _order(self._terms[code]))
        places = np.full(len(self._terms) + 1, len(used))
        places[used] = np.arange(len(used))
        return [*(self._terms[code].text for code in used), ""], places[self.codes[:size]]

    def _add_answers(self, answers: Mask, how: Operator, literal: Term) -> None:
        """Mark the terms for which the comparison holds."""
        if how is Operator.UNEQUAL:
            equal = np.zeros(len(answers), bool)
            self._add_answers(equal, Operator.EQUAL, literal)
            answers |= ~equal
        elif literal.number is not None:
            answers |= self._numeric(how, literal, literal.number)
        elif how is not Operator.EQUAL:
            answers[self._texts_that(how, literal.text)] = True
        if how is Operator.EQUAL:
            # Texts decide where either side is not numeric: "true" equals both true and the text "True".
            for twin in (Term(literal.text, None), Term(literal.text, 1), Term(literal.text, 0)):
                code = self._code.get(twin)
                if code is not None:
                    answers[code] = True

    def _texts_that(self, how: Operator, literal: str) -> npt.NDArray[np.int64]:
        """Return the codes of the texts in this order relation to a text; a number has no order beside a
        text.

        The texts are sorted once, so each comparison is a search by halves however large the vocabulary
        is."""
        if self._sorted is None:
            used = sorted((term.text, code) for term, code in self._code.items() if term.number is None)
            self._sorted = [text for text, _ in used], np.array([code for _, code in used], np.int64)
        texts, codes = self._sorted
        match how:
            case Operator.LESS:
                return codes[: bisect_left(texts, literal)]
            case Operator.AT_MOST:
                return codes[: bisect_right(texts, literal)]
            case Operator.GREATER:
                return codes[bisect_right(texts, literal) :]
            case _:
                return codes[bisect_left(texts, literal) :]

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
            self._sorted = None
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
            self._sorted = None
            self._unused.append(code)


def _order(term: Term) -> tuple[bool, float, str]:
    return term.number is None, 0 if term.number is None else _as_float(term.number), term.text


def _as_float(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _capacities(resource: Resource) -> dict[str, int]:
    return {name: inventory.capacity for name, inventory in resource.inventory.items()}


def _max_units(resource: Resource) -> dict[str, int]:
    return {name: inventory.max_unit for name, inventory in resource.inventory.items()}


def _cut(amount: int) -> int:
    return max(0, min(amount, MOST))


def _holds_amounts(columns: dict[str, Ints], index: int, amounts: Mapping[str, int]) -> bool:
    return amounts.keys() <= columns.keys() and all(
        column[index] == _cut(amounts.get(name, 0)) for name, column in columns.items()
    )


def _write_amounts(columns: dict[str, Ints], index: int, length: int, amounts: Mapping[str, int]) -> None:
    for name in amounts.keys() - columns.keys():
        columns[name] = np.zeros(length, np.int64)
    for name, column in columns.items():
        column[index] = _cut(amounts.get(name, 0))
