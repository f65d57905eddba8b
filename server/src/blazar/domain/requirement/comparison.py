"""Compare two values: as numbers where both are numeric, else as text.

Resource properties that operators set are stored as text, so a text that reads as a number counts as one.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

_WHOLE_NUMBER = re.compile(r"[+-]?\d{1,64}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d{1,64}(?:\.\d{0,64})?|\.\d{1,64})(?:[eE][+-]?\d{1,4})?", re.ASCII)
_TRUTH = {"true": "True", "false": "False"}


class Operator(StrEnum):
    EQUAL = "=="
    UNEQUAL = "!="
    LESS = "<"
    GREATER = ">"
    AT_MOST = "<="
    AT_LEAST = ">="


FUNCTIONS: dict[Operator, Callable[[Any, Any], Any]] = {
    Operator.EQUAL: operator.eq,
    Operator.UNEQUAL: operator.ne,
    Operator.LESS: operator.lt,
    Operator.GREATER: operator.gt,
    Operator.AT_MOST: operator.le,
    Operator.AT_LEAST: operator.ge,
}
"""Each works on two scalars as well as on an array and a scalar."""


@dataclass(frozen=True, slots=True)
class Term:
    """A value that is ready to be compared: its text, and its number where it is numeric.

    ``true`` and ``false`` have one spelling whatever their case. Beside a number, a boolean counts as 1 or 0.
    """

    text: str
    number: int | float | None


@lru_cache(maxsize=8192, typed=True)
def term_of(value: str | int | float | bool) -> Term:
    """Return the term of the value of a property or a literal."""
    if isinstance(value, str):
        return Term(_TRUTH.get(value.lower(), value), _number_in(value))
    if isinstance(value, float) and not math.isfinite(value):
        return Term(str(value), None)
    return Term(str(value), int(value) if isinstance(value, bool) else value)


def _number_in(text: str) -> int | float | None:
    if _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def holds(how: Operator, left: Term, right: Term) -> bool:
    """Return whether ``left how right``. A number and a text that is no number are unequal, and neither is
    the less."""
    if left.number is not None and right.number is not None:
        return bool(FUNCTIONS[how](left.number, right.number))
    if how in (Operator.EQUAL, Operator.UNEQUAL) or (left.number is None and right.number is None):
        return bool(FUNCTIONS[how](left.text, right.text))
    return False
