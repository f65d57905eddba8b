"""Try to fit the demands of a request into one window: one demand after another, else by an exact method.

The cheap ways come first, and most requests need no other:

1. Plenty: allocations of the window count as if they were there at the same time. Where all demands get
   their maximum even so, nothing else needs to be known.
2. In turn: each demand takes what it wants, beside what the others must have.
3. Demands for whole resources only: a maximum flow, which is exact (``matching``).
4. Mixed demands: several promising orders, then the exact search (``search``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.calendar.window import Window
from blazar.domain.planning.budget import Budget, of_array
from blazar.domain.planning.candidate import Candidate, Choice
from blazar.domain.planning.capacity import Capacity
from blazar.domain.planning.choice import Preference, choose, is_enough, keep
from blazar.domain.planning.demand import PlanRequest
from blazar.domain.planning.matching import match_whole_resources
from blazar.domain.planning.search import EFFORT, search

_PASSES = 4
"""Passes over the pool to choose resources for one demand."""
_ENTRIES = 24
"""Entries of a choice that are made in one step."""


class Attempt:
    """One try to serve all demands of a request in one window; ``effort`` bounds its exact search."""

    def __init__(
        self,
        calendar: CalendarSnapshot,
        request: PlanRequest,
        candidates: Sequence[Candidate],
        window: Window,
        budget: Budget,
        effort: int = EFFORT,
    ) -> None:
        self.candidates = candidates
        self._budget = budget
        self._effort = effort
        budget.spend(of_array(window.size + window.rows))
        self.capacity = Capacity(calendar.columns, window, candidates)
        self._cautious: Capacity | None = None
        """None where it says what the other one does."""
        if window.has_parts and not all(candidate.is_whole for candidate in candidates):
            self._cautious = Capacity(calendar.columns, window, candidates, cautious=True)
        indexes = map(calendar.index_of, request.contended)
        contended = [index for index in indexes if index is not None]
        self._preference = Preference(request.order, calendar.rank, request.seed, contended)
        self._needed = [candidate.needed for candidate in candidates]

    def choices(self) -> list[Choice] | None:
        """Return for each demand the indexes that serve it, with their slots; None where there is no such
        choice.

        Raises CutShort where the budget or the effort is spent before all ways are tried."""
        if any(candidate.unknown or candidate.least > candidate.most for candidate in self.candidates):
            return None
        if len(self.candidates) == 1 and not self.is_possible():
            return None
        if (choices := self._plentiful()) is not None:
            return choices
        if len(self.candidates) == 1:
            choice = self._alone(0, self._budget)
            return None if choice is None else [choice]
        if all(candidate.is_whole for candidate in self.candidates):
            return self._wholes()
        return self._mixed()

    def is_possible(self) -> bool:
        """Return whether there is such a choice. For one demand alone that is a sum of what fits on each
        resource. Raises CutShort."""
        if len(self.candidates) > 1:
            return self.choices() is not None
        [candidate] = self.candidates
        if candidate.unknown or candidate.least > candidate.most:
            return False
        capacities = [each for each in (self._cautious, self.capacity) if each is not None]
        self._budget.spend(of_array(self.capacity.size, len(capacities)))
        return any(is_enough(candidate, each.alone(0)) for each in capacities)

    def could_be_alone(self, number: int, budget: Budget) -> bool:
        """Return whether one demand fits if it is the only one. The cost is some passes over the pool."""
        candidate = self.candidates[number]
        if candidate.unknown or candidate.least > candidate.most:
            return False
        return self._alone(number, budget) is not None

    def _plentiful(self) -> list[Choice] | None:
        """Return the maximum of every demand where there is plenty: as if all allocations of the window were
        there at the same time. That is the usual case, so planning usually is fast."""
        if self._cautious is None or any(candidate.held for candidate in self.candidates):
            return None
        exact, self.capacity = self.capacity, self._cautious
        choices = self._in_turn(range(len(self.candidates)), self._needed, to_maximum=True)
        self.capacity = exact
        if choices is None or any(
            sum(c.values()) < p.most for c, p in zip(choices, self.candidates, strict=True)
        ):
            return None
        return choices

    def _alone(self, number: int, budget: Budget) -> Choice | None:
        candidate = self.candidates[number]
        budget.spend(of_array(self.capacity.size, _PASSES))
        self.capacity.clear()
        units, used = self.capacity.alone(number), self.capacity.used()
        least, most = candidate.least, candidate.most
        choice = choose(candidate, units, used, self._preference, least, most, candidate.needed)
        budget.spend(len(choice or ()) // _ENTRIES)
        return choice

    def _wholes(self) -> list[Choice] | None:
        kept = self._kept()
        choices = self._in_turn(range(len(kept)), kept, to_maximum=True)
        if choices and all(len(c) == p.most for c, p in zip(choices, self.candidates, strict=True)):
            return choices
        for floors in (kept, self._needed):
            choices = match_whole_resources(
                self.candidates, self.capacity, self._preference, floors, self._budget
            )
            if choices is not None:
                break
        return choices

    def _mixed(self) -> list[Choice] | None:
        kept = self._kept()
        choices = self._in_turn(range(len(kept)), kept, to_maximum=True)
        if choices is not None:
            return choices
        if not all(self.could_be_alone(number, self._budget) for number in range(len(kept))):
            return None
        for floors in (kept, self._needed):
            for order in self._orders():
                choices = self._in_turn(order, floors, to_maximum=False)
                if choices is not None:
                    return self._extended(choices)
        self.capacity.clear()
        choices = search(self.candidates, self.capacity, self._budget.part(self._effort))
        return None if choices is None else self._extended(choices)

    def _kept(self) -> list[Choice]:
        """Return what the demands can keep of what they have, beside one another."""
        if not any(candidate.held for candidate in self.candidates):
            return self._needed
        self.capacity.clear()
        floors = []
        for number, candidate in enumerate(self.candidates):
            self._budget.spend(of_array(self.capacity.size, _PASSES))
            floors.append(keep(candidate, self.capacity.units(number)))
            self.capacity.take(number, floors[-1])
        return floors

    def _orders(self) -> Iterator[tuple[int, ...]]:
        """Promising orders: as given, shared usages first, whole ones first, and the demand with the fewest
        suitable resources first."""
        given = tuple(range(len(self.candidates)))
        scarcity = [int((self.capacity.alone(number) > 0).sum()) for number in given]
        orders = (
            given,
            tuple(sorted(given, key=lambda n: self.candidates[n].is_whole)),
            tuple(sorted(given, key=lambda n: not self.candidates[n].is_whole)),
            tuple(sorted(given, key=lambda n: scarcity[n])),
        )
        return iter(dict.fromkeys(orders))

    def _in_turn(
        self, order: Sequence[int], floors: Sequence[Choice], *, to_maximum: bool
    ) -> list[Choice] | None:
        """Serve one demand after another, each beside the floors of those that come later."""
        self.capacity.clear()
        for number, floor in enumerate(floors):
            self.capacity.take(number, floor)
        choices = list(floors)
        for number in order:
            candidate = self.candidates[number]
            most = candidate.most if to_maximum else max(candidate.least, sum(floors[number].values()))
            choice = self._again(number, candidate.least, most, floors[number])
            if choice is None:
                return None
            choices[number] = choice
        return choices

    def _extended(self, choices: list[Choice]) -> list[Choice]:
        """Return the choices with as much more as there is, for one demand after another."""
        self.capacity.clear()
        for number, choice in enumerate(choices):
            self.capacity.take(number, choice)
        more = (
            self._again(number, 0, candidate.most, choices[number])
            for number, candidate in enumerate(self.candidates)
        )
        return [choice or choices[number] for number, choice in enumerate(more)]

    def _again(self, number: int, least: int, most: int, floor: Choice) -> Choice | None:
        self._budget.spend(of_array(self.capacity.size, _PASSES))
        self.capacity.give_back(number)
        units, used = self.capacity.units(number), self.capacity.used()
        choice = choose(self.candidates[number], units, used, self._preference, least, most, floor)
        self._budget.spend(len(choice or floor) // _ENTRIES)
        self.capacity.take(number, floor if choice is None else choice)
        return choice
