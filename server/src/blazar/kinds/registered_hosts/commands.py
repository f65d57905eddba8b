"""The commands of operators about hosts, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RegisterHost:
    """Take a hypervisor into care: ``reference`` is its hypervisor_hostname, or Nova's numeric id of it."""

    reference: str
    capabilities: Mapping[str, str]
    region: str | None = None
    """The name of the region that it lies in; None is the first one."""
