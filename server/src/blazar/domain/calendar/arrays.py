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


def sorted_order(keys: Ints) -> Ints:
    """Return the order that sorts keys, none of which is negative.

    It takes 16 bits after the other, the lowest first, for which numpy has a radix sort: that costs some
    passes over the keys, and half of what a comparison of the whole keys does."""
    order = np.argsort(keys.astype(np.uint16), kind="stable")
    bits = int(keys.max(initial=0)).bit_length()
    for shift in range(16, bits, 16):
        digits = (keys >> shift).astype(np.uint16)
        order = order[np.argsort(digits[order], kind="stable")]
    return order
