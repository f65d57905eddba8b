"""Choose the leases that give way to a request which does not fit: as few as can be.

Of equally many leases, those are chosen of which the fewest have to wait; of these, the first in the order in
which leases give way. Sets are compared by their last members in that order: so nothing of a higher class,
or of an earlier start, gives way where others do.

First leases are taken from the front of the order until it fits, and those are left out again without which
it fits as well. That is a set of which none is superfluous. Then smaller ones are tried, the smallest
first. To try all of them takes long where there are many: after MOST_TRIED the best that was found is taken.

Example: A and B have a host each, C has two, and all three may give way, A first. For one host A does. For
two hosts it is first A and B; but C is one lease only, so C gives way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from blazar.domain.planning.budget import CutShort

MOST_TRIED = 64
"""Sets that are tried to find a smaller one."""


class Outcome(Protocol):
    """What becomes of the leases that give way."""

    @property
    def waiting(self) -> int:
        """Return how many of them have to wait."""
        ...


T = TypeVar("T")
O = TypeVar("O", bound=Outcome)  # noqa: E741 - of an outcome


def least(
    candidates: Sequence[T],
    fits: Callable[[Sequence[T]], bool],
    outcome_of: Callable[[Sequence[T]], O | None],
    most: int = MOST_TRIED,
) -> O | None:
    """Return the outcome of the best choice among the candidates, which are in the order in which they give
    way; None where the request does not fit even without all of them.

    ``fits`` tells whether the request does without these, and ``outcome_of`` what becomes of them then; None
    where it does not fit, or that cannot be. Whatever fits without some fits without more. Raises CutShort
    where the budget is spent before anything is found."""
    if not candidates or not fits(candidates):
        return None
    known = _irreducible(candidates, fits)
    best = outcome_of(known)
    if best is not None and len(known) == 1 and not best.waiting and known[0] is candidates[0]:
        return best
    found: O | None = None
    tried = 0
    try:
        for size in range(1, len(known) + 1):
            for chosen in _subsets(candidates, size):
                if tried == most:
                    return _better(found, best, size < len(known))
                tried += 1
                outcome = outcome_of(chosen)
                if outcome is not None and (found is None or outcome.waiting < found.waiting):
                    found = outcome
                    if not found.waiting:
                        return found
            if found is not None:
                return found
    except CutShort:
        if found is None and best is None:
            raise
        return _better(found, best, size < len(known))
    return best


def _better(found: O | None, known: O | None, is_smaller: bool) -> O | None:
    """Return the better one of what was found by trying and what was known before that."""
    if found is None or known is None or is_smaller:
        return found or known
    return min(found, known, key=lambda each: each.waiting)


def _irreducible(candidates: Sequence[T], fits: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return some of the candidates, from the front, of which none is superfluous."""
    fewest, most = 1, len(candidates)
    while fewest < most:
        middle = (fewest + most) // 2
        fewest, most = (fewest, middle) if fits(candidates[:middle]) else (middle + 1, most)
    kept = list(candidates[:most])
    for each in reversed(kept[:-1]):
        fewer = [other for other in kept if other is not each]
        if fits(fewer):
            kept = fewer
    return kept


def _subsets(candidates: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield all choices of so many, such that the later members of the order come into them last."""
    for last in range(size - 1, len(candidates)):
        for others in _subsets(candidates[:last], size - 1) if size > 1 else [()]:
            yield (*others, candidates[last])
