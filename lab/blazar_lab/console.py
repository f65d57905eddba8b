"""How does the lab speak to the person who called it?"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class LabError(Exception):
    """Something an operator can act on, in one sentence."""


_began = time.monotonic()


def say(text: str) -> None:
    """One progress line: seconds since the command began, then a sentence."""
    print(f"{time.monotonic() - _began:7.1f}s  {text}", flush=True)


@contextmanager
def step(text: str) -> Iterator[None]:
    """Announce the end of a step together with what it took."""
    began = time.monotonic()
    yield
    say(f"{text} ({time.monotonic() - began:.1f} s)")
