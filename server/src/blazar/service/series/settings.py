"""The operator's settings for series."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class SeriesSettings:
    """The operator's settings for series."""

    most: int = 100
    """Occurrences of a series; 0 for no series at all."""
    horizon: timedelta = timedelta(days=366)
    """How long after its first occurrence the last one may be."""
    kept: timedelta | None = None
    """How long a series is kept after its last occurrence; None for ever."""
