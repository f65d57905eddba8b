"""A step of a verb for each of many hosts or servers: where it fails for one, the others are done all the
same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Generic, TypeVar

from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.domain.lease.outcome import GiveUp, NotYet
from blazar.service.ports.steps import RunSteps

T = TypeVar("T")
R = TypeVar("R")
Failure = CloudUnavailable | CloudRefused
MOST_UNAVAILABLE = 8
"""So many steps may find the cloud away before no other is begun: where a service hangs, each one waits for
it until the time limit."""
CHECK_SERVERS_AFTER = timedelta(seconds=1)
MOST_TOLD = 5
"""Failures that a reason names."""


@dataclass(frozen=True, slots=True)
class Results(Generic[T, R]):
    """What came of each step: ``done`` has the result of those that the cloud did. Of those that are
    ``missing``, some were not begun; ``failures`` are its answers to the others."""

    done: Mapping[T, R]
    missing: Collection[T]
    failures: Sequence[Failure]

    def require(self) -> Mapping[T, R]:
        """Return the results. Raises CloudUnavailable, or else CloudRefused, where a step has failed."""
        if self.failures:
            raise min(self.failures, key=lambda failure: isinstance(failure, CloudRefused))
        return self.done


def for_each(items: Iterable[T], step: Callable[[T], R], run_steps: RunSteps) -> Results[T, R]:
    """Do the step for each of the items, no two of which are the same. Raises what is not the cloud's: a
    claim that is lost, and defects."""
    wanted = list(items)
    done: dict[T, R] = {}
    failures: dict[T, Failure] = {}
    unavailable: list[T] = []

    def attempt(item: T) -> None:
        if len(unavailable) >= MOST_UNAVAILABLE:
            return
        try:
            done[item] = step(item)
        except CloudUnavailable as failure:
            failures[item] = failure
            unavailable.append(item)
        except CloudRefused as failure:
            failures[item] = failure

    run_steps([partial(attempt, item) for item in wanted])
    return Results(
        {item: done[item] for item in wanted if item in done},
        frozenset(wanted) - done.keys(),
        [failures[item] for item in wanted if item in failures],
    )


def unfinished(failures: Sequence[Failure], waiting: Sequence[str], **known: Any) -> NotYet | GiveUp:
    """Return the outcome of a verb with steps that failed, or ``waiting`` for servers to be gone. ``known``
    is what ``NotYet`` tells besides.

    It is given up only where no other attempt would do anything: the cloud has refused, and all else is
    done."""
    failed = list(dict.fromkeys(failure.message for failure in failures))
    more = ["..."] if len(failed) > MOST_TOLD else []
    reason = "; ".join([*failed[:MOST_TOLD], *more, *waiting])
    if any(isinstance(failure, CloudUnavailable) for failure in failures):
        return NotYet(reason, None, **known)
    return NotYet(reason, CHECK_SERVERS_AFTER, **known) if waiting else GiveUp(reason)
