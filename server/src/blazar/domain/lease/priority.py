"""The priority of a lease: which leases give way when there is not enough for all."""

from __future__ import annotations

from enum import StrEnum


class Priority(StrEnum):
    """The class of a lease. One of a higher class may displace those of lower classes before they start."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"

    @property
    def rank(self) -> int:
        """Return the position among the classes: a higher class has a higher one."""
        return RANKS[self]

    @classmethod
    def _missing_(cls, value: object) -> Priority:
        # A class that only a newer version knows. This version displaces none of them.
        return cls.HIGH


RANKS = {priority: rank for rank, priority in enumerate(Priority)}
