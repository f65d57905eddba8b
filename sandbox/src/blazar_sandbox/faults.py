"""What goes wrong on purpose?

A fault says which calls it strikes and what happens to them. Faults are asked in the order in which they were added;
delays add up, and the first fault that answers in place of the cloud ends the search.
"""

import random
import re
import uuid
from dataclasses import dataclass, field, replace
from enum import StrEnum
from threading import Lock


class Effect(StrEnum):
    """What a fault does to a call."""

    ERROR = "error"
    """Answer with ``status`` and ``message`` in the form of the service."""
    GARBAGE = "garbage"
    """Answer with ``status`` and a body that is no JSON."""
    DROP = "drop"
    """Close the connection without an answer."""
    DELAY = "delay"
    """Answer rightly, but late."""


class When(StrEnum):
    """Whether the cloud does what the call asks for before the fault strikes."""

    BEFORE = "before"
    """The call has no effect."""
    AFTER = "after"
    """The call is done, but the caller does not get to know."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong. Empty criteria match every call."""

    effect: Effect = Effect.ERROR
    service: str = ""
    """identity, compute, placement, network or image."""
    method: str = ""
    path: str = ""
    """A regular expression, searched in ``path?query`` below the service's prefix."""
    rate: float = 1.0
    """The share of the matching calls that it strikes."""
    times: int | None = None
    """After so many strikes it is over; None means never."""
    skip: int = 0
    """So many matching calls pass unharmed first."""
    status: int = 500
    message: str = "A fault was injected here."
    retry_after: int | None = None
    """Seconds for a header ``Retry-After``."""
    seconds: float = 0.0
    """A delay before the answer, with any effect."""
    when: When = When.BEFORE
    id: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(frozen=True, slots=True)
class Strike:
    """What happens to one call."""

    seconds: float = 0.0
    fault: Fault | None = None
    """The fault that answers in place of the cloud."""


NO_STRIKE = Strike()


class Faults:
    """All faults that are set, and how often each has struck."""

    def __init__(self, seed: int = 0) -> None:
        self._lock = Lock()
        self._faults: dict[str, Fault] = {}
        self._patterns: dict[str, re.Pattern[str]] = {}
        self._struck: dict[str, int] = {}
        # Chance that can be repeated, and that protects nothing.
        self._random = random.Random(seed)  # noqa: S311

    def add(self, fault: Fault) -> Fault:
        """Set a fault."""
        pattern = re.compile(fault.path)
        with self._lock:
            self._faults[fault.id] = fault
            self._patterns[fault.id] = pattern
            self._struck[fault.id] = 0
        return fault

    def remove(self, fault_id: str) -> bool:
        """End a fault; tell whether it was there."""
        with self._lock:
            self._struck.pop(fault_id, None)
            self._patterns.pop(fault_id, None)
            return self._faults.pop(fault_id, None) is not None

    def clear(self) -> None:
        """End all faults."""
        with self._lock:
            self._faults.clear()
            self._patterns.clear()
            self._struck.clear()

    def listed(self) -> list[tuple[Fault, int]]:
        """Give every fault with the number of its strikes."""
        with self._lock:
            return [(fault, self._struck[fault.id]) for fault in self._faults.values()]

    def struck(self, fault_id: str) -> int:
        """Tell how often a fault has struck."""
        with self._lock:
            return self._struck.get(fault_id, 0)

    def strike(self, service: str, method: str, path: str) -> Strike:
        """Decide what happens to a call."""
        if not self._faults:
            return NO_STRIKE
        seconds = 0.0
        with self._lock:
            for fault in list(self._faults.values()):
                if not self._hits(fault, service, method, path):
                    continue
                seconds += fault.seconds
                if fault.effect is not Effect.DELAY:
                    return Strike(seconds, fault)
        return Strike(seconds)

    def _hits(self, fault: Fault, service: str, method: str, path: str) -> bool:
        if fault.service not in ("", service) or fault.method not in ("", method):
            return False
        if not self._patterns[fault.id].search(path):
            return False
        if fault.skip:
            self._faults[fault.id] = replace(fault, skip=fault.skip - 1)
            return False
        if fault.times is not None and self._struck[fault.id] >= fault.times:
            return False
        if fault.rate < 1.0 and self._random.random() >= fault.rate:
            return False
        self._struck[fault.id] += 1
        return True
