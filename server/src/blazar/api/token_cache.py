"""A cache of tokens that Keystone has confirmed, so that a client's next request needs no call to
Keystone."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

MAX_TOKENS = 10_000


class TokenCache:
    """Keeps entries of keystonemiddleware for as long as it asks. The size is bounded: the oldest entry makes
    room.

    keystonemiddleware names an entry by a hash of the token, and looks at the token's own expiry in the entry
    that it gets back. Safe to use from several threads.
    """

    def __init__(self, monotonic: Callable[[], float], max_tokens: int = MAX_TOKENS) -> None:
        self._monotonic = monotonic
        self._max_tokens = max_tokens
        self._lock = Lock()
        self._entries: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    def get(self, key: str) -> bytes | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            until, value = entry
            if until <= self._monotonic():
                del self._entries[key]
                return None
            return value

    def set(self, key: str, value: bytes, time: float) -> None:
        """Keep ``value`` for ``time`` seconds."""
        with self._lock:
            self._entries.pop(key, None)
            self._entries[key] = (self._monotonic() + time, value)
            while len(self._entries) > self._max_tokens:
                self._entries.popitem(last=False)

    @property
    def size(self) -> int:
        """Return the number of entries. Not ``__len__``: keystonemiddleware would take an empty cache for no
        cache."""
        return len(self._entries)
