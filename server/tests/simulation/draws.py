"""How the modules of single use cases put theirs among the actions of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .people import Action


def is_of_user(action: Action) -> bool:
    return action.who != "operator"


def is_of_operator(action: Action) -> bool:
    return action.who == "operator"


def some_replaced(
    random: Random,
    actions: Sequence[Action],
    verb: str,
    numbers: Sequence[int],
    is_place: Callable[[Action], bool] = is_of_user,
) -> list[Action]:
    """Return the actions, in half of the seeds with some of them replaced by this verb: as many as is drawn
    from the numbers, of those that ``is_place`` tells."""
    found = list(actions)
    places = [n for n, action in enumerate(found) if is_place(action)]
    if not places or random.random() < 0.5:
        return found
    for place in random.sample(places, min(len(places), random.choice(numbers))):
        found[place] = replace(found[place], verb=verb, seed=random.getrandbits(32))
    return found
