"""Fault injection.

A fault names the calls that it hits, and its effect on them. Faults apply in the order in which they were
added: delays add up, and the first fault that replaces the response is the last to apply.
"""

import random
import re
import uuid
from dataclasses import dataclass, field, replace
from enum import StrEnum
from threading import Condition, Lock


class Effect(StrEnum):
    """The effect of a fault on a call."""

    ERROR = "error"
    """Answer with ``status`` and ``message`` in the form of the service."""
    GARBAGE = "garbage"
    """Answer with ``status`` and a body that is not JSON."""
    DROP = "drop"
    """Close the connection without an answer."""
    DELAY = "delay"
    """Answer normally after ``seconds``."""
    HANG = "hang"
    """Take the call and do not answer before the fault is removed; then answer normally."""


class When(StrEnum):
    """Whether the cloud handles the call before the fault takes effect."""

    BEFORE = "before"
    """The call has no effect."""
    AFTER = "after"
    """The call takes effect, but the caller does not learn it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure that is injected into matching calls. Empty criteria match every call."""

    effect: Effect = Effect.ERROR
    service: str = ""
    """identity, compute, placement, network, image, volume or orchestration."""
    method: str = ""
    path: str = ""
    """A regular expression, searched in ``path?query`` below the service's prefix."""
    rate: float = 1.0
    """The share of the matching calls that fail."""
    times: int | None = None
    """Number of calls that fail; None means all."""
    skip: int = 0
    """Number of matching calls that pass first."""
    status: int = 500
    message: str = "A fault was injected here."
    retry_after: int | None = None
    """Value of the header ``Retry-After``, in seconds."""
    seconds: float = 0.0
    """Delay before the response, with any effect."""
    when: When = When.BEFORE
    id: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(frozen=True, slots=True)
class Injection:
    """The faults that apply to one call."""

    seconds: float = 0.0
    fault: Fault | None = None
    """The fault that replaces the response."""
    hangs: tuple[str, ...] = ()
    """The ids of the faults whose removal the call waits for."""


NO_INJECTION = Injection()


class Faults:
    """All faults, with the number of calls that each has hit."""

    def __init__(self, seed: int = 0) -> None:
        self._lock = Lock()
        self._removed = Condition(self._lock)
        self._faults: dict[str, Fault] = {}
        self._patterns: dict[str, re.Pattern[str]] = {}
        self._hits: dict[str, int] = {}
        # A repeatable sequence; it protects nothing.
        self._random = random.Random(seed)  # noqa: S311

    def add(self, fault: Fault) -> Fault:
        """Add a fault."""
        pattern = re.compile(fault.path)
        with self._lock:
            self._faults[fault.id] = fault
            self._patterns[fault.id] = pattern
            self._hits[fault.id] = 0
        return fault

    def remove(self, fault_id: str) -> bool:
        """Remove a fault; return whether it existed."""
        with self._lock:
            self._hits.pop(fault_id, None)
            self._patterns.pop(fault_id, None)
            self._removed.notify_all()
            return self._faults.pop(fault_id, None) is not None

    def clear(self) -> None:
        """Remove all faults."""
        with self._lock:
            self._faults.clear()
            self._patterns.clear()
            self._hits.clear()
            self._removed.notify_all()

    def listed(self) -> list[tuple[Fault, int]]:
        """Return every fault with the number of calls that it has hit."""
        with self._lock:
            return [(fault, self._hits[fault.id]) for fault in self._faults.values()]

    def hits(self, fault_id: str) -> int:
        """Return the number of calls that a fault has hit."""
        with self._lock:
            return self._hits.get(fault_id, 0)

    def inject(self, service: str, method: str, path: str) -> Injection:
        """Return the faults that apply to a call, and count them."""
        if not self._faults:
            return NO_INJECTION
        seconds, hangs = 0.0, list[str]()
        with self._lock:
            for fault in list(self._faults.values()):
                if not self._applies(fault, service, method, path):
                    continue
                seconds += fault.seconds
                if fault.effect is Effect.HANG:
                    hangs.append(fault.id)
                elif fault.effect is not Effect.DELAY:
                    return Injection(seconds, fault, tuple(hangs))
        return Injection(seconds, None, tuple(hangs))

    def wait_for_removal(self, fault_id: str) -> None:
        """Return when there is no such fault."""
        with self._removed:
            self._removed.wait_for(lambda: fault_id not in self._faults)

    def _applies(self, fault: Fault, service: str, method: str, path: str) -> bool:
        if fault.service not in ("", service) or fault.method not in ("", method):
            return False
        if not self._patterns[fault.id].search(path):
            return False
        if fault.skip:
            self._faults[fault.id] = replace(fault, skip=fault.skip - 1)
            return False
        if fault.times is not None and self._hits[fault.id] >= fault.times:
            return False
        if fault.rate < 1.0 and self._random.random() >= fault.rate:
            return False
        self._hits[fault.id] += 1
        return True
