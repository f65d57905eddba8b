"""The rule for servers with a known end on hosts that are promised to later leases.

A host takes a server from ``start`` to ``end`` if at each moment of this time the server fits beside what is
promised there. It is a function of values. Times are seconds since 1970-01-01 UTC."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

Amounts = tuple[int, ...]
"""How much of each resource class, in the order in which the document names the classes."""


@dataclass(frozen=True, slots=True)
class Step:
    """What is promised of a host from ``start`` to ``end``; None is all of it."""

    start: int
    end: int
    amounts: Amounts | None


@dataclass(frozen=True, slots=True)
class PromisedHost:
    """A host: its capacity, and the steps in which some of it is promised, in order and none beside
    another."""

    capacity: Amounts
    steps: Sequence[Step] = ()


@dataclass(frozen=True, slots=True)
class Promises:
    """What is promised on all hosts up to ``until``. A server ends ``margin`` seconds before the next promise
    that leaves it no room, and begins ``cleaning`` seconds after the last one."""

    classes: tuple[str, ...]
    until: int
    margin: int
    cleaning: int
    hosts: Mapping[str, PromisedHost] = field(default_factory=dict)
    """By the name of the compute service."""
    leases: Mapping[str, str] = field(default_factory=dict)
    """The host by the id of the lease, of leases whose ids follow from their servers'."""


def takes(host: PromisedHost, amounts: Amounts, start: int, end: int) -> bool:
    """Return whether the host takes the amounts at each moment from ``start`` to ``end``."""
    if not _fits(amounts, (0,) * len(amounts), host.capacity):
        return False
    steps = host.steps
    for place in range(bisect_right(steps, start, key=_end), len(steps)):
        step = steps[place]
        if step.start >= end:
            return True
        if step.amounts is None or not _fits(amounts, step.amounts, host.capacity):
            return False
    return True


def _end(step: Step) -> int:
    return step.end


def _fits(amounts: Amounts, taken: Amounts, capacity: Amounts) -> bool:
    for amount, already, there in zip(amounts, taken, capacity, strict=True):
        if amount + already > there:
            return False
    return True


def promises_of(document: Any) -> Promises:
    """Read the document of ``GET /v1/promises``. Raises ValueError where it is another one."""
    try:
        told = document["promises"]
        classes = tuple(map(str, told["classes"]))
        hosts = {str(name): _host(each, len(classes)) for name, each in told["hosts"].items()}
        leases = {str(lease): str(name) for lease, name in told["leases"].items()}
        return Promises(
            classes, int(told["until"]), int(told["margin"]), int(told["cleaning"]), hosts, leases
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"this is no document of promises: {error!r}") from error


def _host(told: Any, size: int) -> PromisedHost:
    steps = tuple(_step(each, size) for each in told["steps"])
    if any(before.end > after.start for before, after in pairwise(steps)):
        raise ValueError("steps are not in order")
    return PromisedHost(_amounts(told["capacity"], size), steps)


def _step(told: Any, size: int) -> Step:
    start, end, amounts = told
    return Step(int(start), int(end), None if amounts is None else _amounts(amounts, size))


def _amounts(told: Any, size: int) -> Amounts:
    amounts = tuple(map(int, told))
    if len(amounts) != size:
        raise ValueError("amounts of other classes")
    return amounts
