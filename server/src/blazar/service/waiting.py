"""How long does a request wait for something? Until a moment, but not for ever where the clock is set back meanwhile."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime

from blazar.service.ports import Clock


def until(deadline: datetime, clock: Clock, pause: float) -> Iterator[None]:
    """Again and again with pauses of so many seconds in between, up to ``deadline``: as often as there is time for now."""
    for _ in range(math.ceil((deadline - clock.now()).total_seconds() / pause)):
        if clock.now() >= deadline:
            return
        yield
        clock.pause(pause)
