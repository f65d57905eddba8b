"""Errors and progress messages of the command line."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class LabError(Exception):
    """An error that an operator can act on; the message is one sentence."""


_began = time.monotonic()


def say(text: str) -> None:
    """Print a progress line: the seconds since the command began, then a sentence."""
    print(f"{time.monotonic() - _began:7.1f}s  {text}", flush=True)


@contextmanager
def step(text: str) -> Iterator[None]:
    """Print the end of a step together with its duration."""
    began = time.monotonic()
    yield
    say(f"{text} ({time.monotonic() - began:.1f} s)")
