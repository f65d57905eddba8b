"""The journal of the calls that the cloud has answered."""

from collections import Counter, deque
from dataclasses import dataclass
from threading import Lock

_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Call:
    """One answered call; ``template`` is the path in the route table."""

    service: str
    method: str
    template: str
    path: str
    status: int
    user_id: str = ""
    project_id: str = ""

    @property
    def kind(self) -> str:
        """Service, method and template in one line, as ``compute POST /v2.1/servers``."""
        return f"{self.service} {self.method} {self.template}"


class Journal:
    """The number of calls by kind since the last ``clear``, and the latest calls."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[str] = Counter()
        self._calls: deque[Call] = deque(maxlen=_REMEMBERED)

    def record(self, call: Call) -> None:
        """Record a call."""
        with self._lock:
            self._counts[call.kind] += 1
            self._calls.append(call)

    def counts(self, prefix: str = "") -> dict[str, int]:
        """Return the number of calls by kind, for kinds that start with ``prefix``."""
        with self._lock:
            return {kind: count for kind, count in self._counts.items() if kind.startswith(prefix)}

    def total(self, prefix: str = "") -> int:
        """Return the number of calls of kinds that start with ``prefix``, for example ``identity``."""
        return sum(self.counts(prefix).values())

    def calls(self) -> list[Call]:
        """Return the latest calls, oldest first."""
        with self._lock:
            return list(self._calls)

    def clear(self) -> None:
        """Clear the counts and the calls."""
        with self._lock:
            self._counts.clear()
            self._calls.clear()
