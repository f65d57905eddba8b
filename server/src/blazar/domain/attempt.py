"""Whether the demands of a request fit into one window, and where: one after another, else by exact search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blazar.domain.calendar import Calendar
from blazar.domain.choice import Preference, choose, keep
from blazar.domain.demand import Request
from blazar.domain.matching import match_wholes
from blazar.domain.room import Choice, Prospect, Room
from blazar.domain.search import EFFORT, search
from blazar.domain.window import Window


class Attempt:
    """One try to serve all demands of a request in one window; ``effort`` bounds the search, if one is needed."""

    def __init__(
        self,
        calendar: Calendar,
        request: Request,
        prospects: Sequence[Prospect],
        window: Window,
        effort: int = EFFORT,
    ) -> None:
        self.prospects = prospects
        self._effort = effort
        self.room = Room(calendar.facts, window, prospects)
        self._cautious = Room(calendar.facts, window, prospects, cautious=True)
        self._preference = Preference(request.order, calendar.rank, request.seed)
        self._needed = [prospect.needed for prospect in prospects]

    def choices(self) -> list[Choice] | None:
        """For each demand the places that serve it, with their slots; None where no such choice was found."""
        if any(prospect.unknown or prospect.least > prospect.most for prospect in self.prospects):
            return None
        if (choices := self._plentiful()) is not None:
            return choices
        if len(self.prospects) == 1:
            choice = self._alone(0)
            return None if choice is None else [choice]
        if all(prospect.is_whole for prospect in self.prospects):
            return self._wholes()
        return self._mixed()

    def could_be_alone(self, number: int) -> bool:
        """Whether one demand fits if it is the only one."""
        prospect = self.prospects[number]
        if prospect.unknown or prospect.least > prospect.most:
            return False
        return self._alone(number) is not None

    def _plentiful(self) -> list[Choice] | None:
        """All that is asked for at most, where there is so much of it that nobody has to look which of the others will be
        there at the same time: usually, and so planning is fast usually."""
        if any(prospect.held for prospect in self.prospects) or all(prospect.is_whole for prospect in self.prospects):
            return None
        exact, self.room = self.room, self._cautious
        choices = self._in_turn(range(len(self.prospects)), self._needed, to_maximum=True)
        self.room = exact
        if choices is None or any(sum(c.values()) < p.most for c, p in zip(choices, self.prospects, strict=True)):
            return None
        return choices

    def _alone(self, number: int) -> Choice | None:
        prospect = self.prospects[number]
        self.room.clear()
        units, used = self.room.alone(number), self.room.used()
        least, most = prospect.least, prospect.most
        return choose(prospect, units, used, self._preference, least, most, prospect.needed)

    def _wholes(self) -> list[Choice] | None:
        kept = self._kept()
        choices = self._in_turn(range(len(kept)), kept, to_maximum=True)
        if choices and all(len(c) == p.most for c, p in zip(choices, self.prospects, strict=True)):
            return choices
        for floors in (kept, self._needed):
            choices = match_wholes(self.prospects, self.room, self._preference, floors)
            if choices is not None:
                break
        return choices

    def _mixed(self) -> list[Choice] | None:
        kept = self._kept()
        choices = self._in_turn(range(len(kept)), kept, to_maximum=True)
        if choices is not None:
            return choices
        if not all(map(self.could_be_alone, range(len(kept)))):
            return None
        for floors in (kept, self._needed):
            for order in self._orders():
                choices = self._in_turn(order, floors, to_maximum=False)
                if choices is not None:
                    return self._extended(choices)
        self.room.clear()
        choices = search(self.prospects, self.room, self._effort)
        return None if choices is None else self._extended(choices)

    def _kept(self) -> list[Choice]:
        """What the demands can keep of what they have, beside one another."""
        if not any(prospect.held for prospect in self.prospects):
            return self._needed
        self.room.clear()
        floors = []
        for number, prospect in enumerate(self.prospects):
            floors.append(keep(prospect, self.room.units(number)))
            self.room.take(number, floors[-1])
        return floors

    def _orders(self) -> Iterator[tuple[int, ...]]:
        """Promising orders: as given, shared claims first, whole ones first, those with the fewest resources first."""
        given = tuple(range(len(self.prospects)))
        scarcity = [int((self.room.alone(number) > 0).sum()) for number in given]
        orders = (
            given,
            tuple(sorted(given, key=lambda n: self.prospects[n].is_whole)),
            tuple(sorted(given, key=lambda n: not self.prospects[n].is_whole)),
            tuple(sorted(given, key=lambda n: scarcity[n])),
        )
        return iter(dict.fromkeys(orders))

    def _in_turn(self, order: Sequence[int], floors: Sequence[Choice], *, to_maximum: bool) -> list[Choice] | None:
        """Serve one demand after another, each beside the floors of those that come later."""
        self.room.clear()
        for number, floor in enumerate(floors):
            self.room.take(number, floor)
        choices = list(floors)
        for number in order:
            prospect = self.prospects[number]
            most = prospect.most if to_maximum else max(prospect.least, sum(floors[number].values()))
            choice = self._again(number, prospect.least, most, floors[number])
            if choice is None:
                return None
            choices[number] = choice
        return choices

    def _extended(self, choices: list[Choice]) -> list[Choice]:
        """The choices with as much more as there is, for one demand after another."""
        self.room.clear()
        for number, choice in enumerate(choices):
            self.room.take(number, choice)
        more = (
            self._again(number, 0, prospect.most, choices[number]) for number, prospect in enumerate(self.prospects)
        )
        return [choice or choices[number] for number, choice in enumerate(more)]

    def _again(self, number: int, least: int, most: int, floor: Choice) -> Choice | None:
        self.room.give_back(number)
        units, used = self.room.units(number), self.room.used()
        choice = choose(self.prospects[number], units, used, self._preference, least, most, floor)
        self.room.take(number, floor if choice is None else choice)
        return choice
