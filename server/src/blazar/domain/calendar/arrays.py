"""The arrays of the calendar: integers by index, and how an array grows."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
MOST = 2**40
"""Capacities are cut to this and amounts to twice this: sums cannot overflow, and what did not fit still does
not."""

Scalar = TypeVar("Scalar", bound=np.generic)


def grown(array: npt.NDArray[Scalar], length: int, filler: object) -> npt.NDArray[Scalar]:
    """Return a longer copy of the array; ``filler`` stands in the new part."""
    larger = np.full(length, filler, array.dtype)
    larger[: len(array)] = array
    return larger
