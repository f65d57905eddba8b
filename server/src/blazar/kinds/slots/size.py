"""The size of one server of a reservation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SlotSize:
    """The numbers and extra specs of the reservation's flavor; ``ram`` and ``swap`` in MiB, ``disk`` and
    ``ephemeral`` in GiB."""

    vcpus: int
    ram: int
    disk: int
    ephemeral: int = 0
    swap: int = 0
    extra_specs: Mapping[str, str] = field(default_factory=dict)
