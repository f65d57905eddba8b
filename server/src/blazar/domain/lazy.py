"""An attribute that is computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801 - used as a decorator, as property is
    """The decorated method computes the attribute once. The object must not be shared between threads.

    Before Python 3.12, functools.cached_property holds one lock for all objects of a class while it computes:
    one thread that takes long would stop all others."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, owner: Any, _type: type | None = None) -> T:
        value = self._compute(owner)
        owner.__dict__[self._name] = value  # which is looked at first from now on
        return value
