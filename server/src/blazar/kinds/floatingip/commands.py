"""The commands of operators about floating IPs, as values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RegisterFloatingIP:
    """Take an address of an external network into care."""

    network_id: str
    address: str
