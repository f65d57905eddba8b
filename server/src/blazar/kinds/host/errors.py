"""The errors about a reservation of hosts."""

from __future__ import annotations

from blazar.domain.errors import InvalidInput


class InvalidRange(InvalidInput):
    code = "invalid_range"
    template = "Invalid values for min/max of hosts. Max must be equal to or larger than min."
